"""Steps of the workflow that compare and show the results of an edition, and those of released replies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from known_unknowns import comparison as comparing
from known_unknowns import tracking
from known_unknowns.cli.options import (
    PARAMS,
    Data,
    Digests,
    Edition,
    MetricTables,
    Out,
    ParamsFile,
    RawFolder,
    Results,
    ScoresOfEdition,
    VariantFolder,
)
from known_unknowns.comparison.reply_tables import write_tables
from known_unknowns.config import Params
from known_unknowns.edition_files import benchmark_of, model_of
from known_unknowns.errors import DataError
from known_unknowns.exchange import released as releasing
from known_unknowns.report import browser, page
from known_unknowns.report.section import section
from known_unknowns.workflow import end_products, selection


def compare(
    metrics: MetricTables,
    out: Out,
    replies: Annotated[
        Path | None, typer.Option(help="The edition's folder of replies, for the measured numerical flips.")
    ] = None,
    released: Annotated[
        list[Path] | None, typer.Option(help="Numbers that were released with replies (released-numbers).")
    ] = None,
    digests: Digests = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Compare every published number with that of this run, give a verdict, and print a summary."""
    settings = selection.load(params, "compare", edition=edition)
    comparing.compare(settings, metrics, out, replies=replies, released=released or ())
    if digests:
        end_products.write_digests(digests, [out])
    print(comparing.summarise(comparing.read_comparison(out), settings).text())


def track(
    metrics: MetricTables,
    results: Results,
    data: Data,
    out: Annotated[Path, typer.Option("--out", help="A JSON file that lists the runs by their key.")],
    figures: Annotated[Path | None, typer.Option(help="The report's folder of figures.")] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Log the results as MLflow runs: one per model, benchmark, variant and seed. A rerun updates them."""
    chosen = selection.load(params, "track", edition=edition)
    _check_metrics(chosen, metrics)
    files: dict[str, list[Path]] = {}
    if figures is not None:
        for name in chosen.benchmarks:
            files[name] = [figures / f"{figure}.svg" for figure in section(name).figure_names]
    tracking.track(chosen, metrics, results=results, data=data, out=out, figures=files)


def _check_metrics(params: Params, metrics: list[Path]) -> None:
    """Raise DataError if a table does not exist, or if none is of a model and a benchmark of the edition."""
    for path in metrics:
        if not path.is_file():
            raise DataError("no such file", file=path)
    if not any(model_of(path) in params.models and benchmark_of(path) in params.benchmarks for path in metrics):
        message = f"not <model>/<benchmark>/metrics.parquet of a model and a benchmark of the edition {params.edition}"
        raise DataError(message, file=metrics[0])


def question_browser(
    results: Results,
    data: Data,
    out: Annotated[Path, typer.Option("--out", help="The HTML file. Its data are written to questions/ beside it.")],
    digests: Digests = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write the page on which every question and reply can be searched and filtered."""
    chosen = selection.load(params, "question_browser", edition=edition)
    browser.build(chosen, results=results, data=data, out=out)
    if digests:
        end_products.write_digests(digests, end_products.browser_files(out.parent))


def report(
    metrics: MetricTables,
    results: Results,
    data: Data,
    comparison: Annotated[Path, typer.Option(help="The table of published and reproduced numbers.")],
    out: Annotated[
        Path, typer.Option("--out", help="The first HTML page. The other pages and the figures are written beside it.")
    ],
    checks: Annotated[Path | None, typer.Option(help="Folder of <benchmark>.json, written by check --json.")] = None,
    pairs: Annotated[Path | None, typer.Option(help="The table of compare-models; without it, no ranks.")] = None,
    missing: Annotated[
        list[str] | None, typer.Option(help="A model whose jobs failed, which the pages of a partial report name.")
    ] = None,
    digests: Digests = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write the report as HTML pages that open offline."""
    page.build(
        selection.load(params, "report", edition=edition),
        metrics,
        results=results,
        data=data,
        comparison=comparison,
        out=out,
        checks=checks,
        pairs=pairs,
        missing=missing or (),
    )
    if digests:
        end_products.write_digests(digests, end_products.pages(out.parent))


def import_released(
    model: str,
    benchmark: str,
    raw: RawFolder,
    variants: VariantFolder,
    out: Annotated[Path, typer.Option("--out", help="Folder to write: replies.parquet and engine.json.")],
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write the released replies of a model as the workflow writes replies."""
    chosen = selection.load(params, "import_released", edition=edition, model=model, benchmark=benchmark)
    releasing.import_released(chosen, model, benchmark, raw=raw, variants=variants, out=out)


def released_numbers(
    benchmark: str,
    raw: RawFolder,
    variants: VariantFolder,
    out: Out,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write the numbers released with replies, and whether these reproduce them, as JSON."""
    chosen = selection.load(params, "released_numbers", edition=edition, benchmark=benchmark)
    releasing.write_published(chosen, benchmark, raw=raw, variants=variants, out=out)


def reply_tables(
    benchmark: str,
    variants: VariantFolder,
    scores: ScoresOfEdition,
    out: Annotated[Path, typer.Option("--out", help="Folder to write: CSV files.")],
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Compare parsers, variants and models question by question, and write the tables as CSV."""
    chosen = selection.load(params, "reply_tables", edition=edition, benchmark=benchmark)
    write_tables(chosen, benchmark, variants=variants, scores=scores, out=out)
