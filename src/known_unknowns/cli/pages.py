"""Commands that track the results of an edition and write its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.command_options import (
    PARAMS,
    Data,
    Digests,
    Edition,
    MetricTables,
    ParamsFile,
    Results,
)
from known_unknowns.config import Params
from known_unknowns.edition_files import benchmark_of, model_of
from known_unknowns.errors import DataError
from known_unknowns.report import browser, page
from known_unknowns.report.section import section
from known_unknowns.tracking import track as run
from known_unknowns.workflow import end_products, selection


def track(
    metrics: MetricTables,
    results: Results,
    data: Data,
    out: Annotated[Path, typer.Option("--out", help="A JSON file that lists the runs by their key.")],
    figures: Annotated[Path | None, typer.Option(help="The report's folder of figures.")] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Log the results as MLflow runs: one per model, benchmark, variant and seed. A rerun updates them.

    \b
    Example:
      known-unknowns track results/pocket/metrics/*/*/metrics.parquet \\
        --results results/pocket --data data/pocket --out tracking.json
    """
    chosen = selection.load(params, "track", edition=edition)
    _check_metrics(chosen, metrics)
    files: dict[str, list[Path]] = {}
    if figures is not None:
        for name in chosen.benchmarks:
            files[name] = [figures / f"{figure}.svg" for figure in section(name).figure_names]
    run(chosen, metrics, results=results, data=data, out=out, figures=files)


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
    images: Annotated[bool, typer.Option(help="Copy the images, scaled down.")] = True,
    digests: Digests = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write the page on which every question and reply can be searched and filtered.

    \b
    Example:
      known-unknowns question-browser --results results/pocket \\
        --data data/pocket --out results/pocket/report/questions.html
    """
    chosen = selection.load(params, "question_browser", edition=edition)
    browser.build(chosen, results=results, data=data, out=out, with_images=images)
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
    """Write the report as HTML pages that open offline.

    \b
    Example:
      known-unknowns report results/pocket/metrics/*/*/metrics.parquet \\
        --results results/pocket --data data/pocket \\
        --comparison results/pocket/comparison.parquet --out report/index.html
    """
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
