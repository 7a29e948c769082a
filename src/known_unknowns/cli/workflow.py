"""Commands that the workflow runs, one for each step from published files to the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from known_unknowns.command_options import (
    PARAMS,
    Edition,
    Out,
    ParamsFile,
    QuestionFolder,
    RepliesTable,
    VariantFolder,
)
from known_unknowns.errors import DataError

if TYPE_CHECKING:
    from known_unknowns.config import Params

MetricTables = Annotated[list[Path], typer.Argument(help="Tables of metrics.")]
Results = Annotated[Path, typer.Option(help="The edition's results folder.")]
Data = Annotated[Path, typer.Option(help="The edition's data folder.")]


def questions(
    benchmark: str,
    raw: Annotated[Path, typer.Option(help="Folder of the published files.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write: questions.parquet and images/.")],
    workers: Annotated[int, typer.Option(min=1, help="Number of processes that decode and write images.")] = 1,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Convert published files to a table of questions and a folder of images.

    \b
    Example:
      known-unknowns questions BENCHMARK --raw data/pocket/raw/BENCHMARK \\
        --out questions
    """
    from known_unknowns.data.questions import normalise
    from known_unknowns.workflow import selection

    settings = selection.load(params, "questions", edition=edition, benchmark=benchmark).data(benchmark)
    normalise(benchmark, raw, out, settings=settings, workers=workers)


def vary(
    benchmark: str,
    variant: str,
    questions: Annotated[Path, typer.Option(help="The table of original questions.")],
    out: Out,
    seed: Annotated[
        list[int] | None, typer.Option(help="A seed. Repeatable. [default: those of the benchmark and variant]")
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Apply a variant of params.yaml (nota_only, noise, shuffled_options, ...) to a table of questions, with all seeds.

    \b
    Example:
      known-unknowns vary BENCHMARK noise --out variants/noise.parquet \\
        --questions data/pocket/questions/BENCHMARK/questions.parquet
    """
    from known_unknowns.data.questions import vary as run
    from known_unknowns.workflow import selection

    chosen = selection.load(params, "vary", edition=edition, benchmark=benchmark, variant=variant)
    seeds = seed or chosen.seeds_of(benchmark, variant)
    run(chosen.variant(variant), questions, out, seeds=seeds, limit=chosen.limit)


def infer(
    model: str,
    benchmark: str,
    questions: QuestionFolder,
    variants: VariantFolder,
    out: Annotated[
        Path,
        typer.Option("--out", help="Folder to write: replies.parquet and engine.json; the record of a shard."),
    ],
    journal: Annotated[Path, typer.Option(help="Journal of replies. Only turns that it lacks are sent to the model.")],
    shard: Annotated[
        str | None,
        typer.Option(help="Ask one part of the questions only: 2/4 is the second of four. Writes no table."),
    ] = None,
    shards: Annotated[Path | None, typer.Option(help="Folder of the records of the model's shards.")] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Ask a model every question of a benchmark, in all its variants and seeds.

    The model is loaded once. A run that was killed continues from its journal. Shards may run at the same time; the
    command without --shard then writes the table, and asks what is missing.

    \b
    Examples:
      known-unknowns infer MODEL BENCHMARK --out replies \\
        --questions data/pocket/questions/BENCHMARK \\
        --variants results/pocket/variants/BENCHMARK --journal journal.jsonl
      known-unknowns infer MODEL BENCHMARK --out shards \\
        --questions data/pocket/questions/BENCHMARK \\
        --variants results/pocket/variants/BENCHMARK --journal journal.jsonl \\
        --shard 1/4
    """
    from known_unknowns.engines import stopping
    from known_unknowns.inference import model_run
    from known_unknowns.inference.shards import Shard
    from known_unknowns.workflow import configuration, selection

    part = None if shard is None else Shard.parse(shard)
    names = {"model": model, "benchmark": benchmark}
    whole = configuration.load(params, edition=edition)
    chosen = selection.select(whole, "infer", **names)
    stopping.install()
    if part is None:
        model_run.infer(
            chosen,
            model,
            benchmark,
            settings=selection.compared(whole, "infer", **names),
            questions=questions,
            variants=variants,
            out=out,
            journal=journal,
            records=shards,
        )
    else:
        model_run.infer_shard(
            chosen, model, benchmark, part, questions=questions, variants=variants, records=out, journal=journal
        )


def parse(
    model: str,
    benchmark: str,
    variants: VariantFolder,
    replies: RepliesTable,
    out: Out,
    verdicts: Annotated[
        Path | None, typer.Option(help="The judge's verdicts; without it, the judge is left out.")
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Parse every reply of a model to a benchmark with every parser, and write the scores.

    \b
    Example:
      known-unknowns parse MODEL BENCHMARK --out scores.parquet \\
        --variants results/pocket/variants/BENCHMARK \\
        --replies results/pocket/replies/MODEL/BENCHMARK/replies.parquet
    """
    from known_unknowns.scoring.judge import JUDGE
    from known_unknowns.scoring.table import parse as run
    from known_unknowns.workflow import selection

    chosen = selection.load(params, "parse", edition=edition, model=model, benchmark=benchmark)
    parsers = [name for name in chosen.parsers if name != JUDGE or verdicts is not None]
    run(variants, replies, out, cells=chosen.cells(benchmark, model), parsers=parsers, verdicts=verdicts)


def judge(
    variants: Annotated[Path, typer.Option(help="The edition's folder of variants.")],
    replies: Annotated[Path, typer.Option(help="The edition's folder of replies.")],
    out: Annotated[Path, typer.Option("--out", help="The JSON file of verdicts to write.")],
    journal: Annotated[Path, typer.Option(help="The journal of the judge's replies.")],
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Ask the judge of params.yaml which options the replies of all models give.

    It first states the number of requests and what they cost. Replies in the journal are not asked about again.

    \b
    Example:
      known-unknowns judge --variants results/pocket/variants \\
        --replies results/pocket/replies --out verdicts.json --journal judge.jsonl
    """
    from known_unknowns.engines import stopping
    from known_unknowns.inference.judging import judge as run
    from known_unknowns.workflow import selection

    chosen = selection.load(params, "judge", edition=edition)
    stopping.install()
    run(chosen, variants=variants, replies=replies, out=out, journal=journal)


def measure(
    model: str,
    benchmark: str,
    variants: VariantFolder,
    scores: Annotated[Path, typer.Option(help="The table of the model's scores on the benchmark.")],
    replies: RepliesTable,
    out: Out,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Compute every metric with its confidence interval.

    \b
    Example:
      known-unknowns measure MODEL BENCHMARK --out metrics.parquet \\
        --variants results/pocket/variants/BENCHMARK --scores scores.parquet \\
        --replies results/pocket/replies/MODEL/BENCHMARK/replies.parquet
    """
    from known_unknowns.metrics import measure as run
    from known_unknowns.workflow import selection

    chosen = selection.load(params, "measure", edition=edition, model=model, benchmark=benchmark)
    run(chosen, model, benchmark, variants=variants, scores=scores, replies=replies, out=out)


def compare(
    metrics: MetricTables,
    out: Out,
    replies: Annotated[
        Path | None, typer.Option(help="The edition's folder of replies, for the measured numerical flips.")
    ] = None,
    released: Annotated[
        list[Path] | None, typer.Option(help="Numbers that were released with replies (released-numbers).")
    ] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Compare every published number with that of this run, give a verdict, and print a summary.

    \b
    Example:
      known-unknowns compare results/full/metrics/*/*/metrics.parquet \\
        --replies results/full/replies --out comparison.parquet
    """
    from known_unknowns.comparison import compare as run
    from known_unknowns.comparison import read_comparison, summarise
    from known_unknowns.workflow import selection

    settings = selection.load(params, "compare", edition=edition)
    run(settings, metrics, out, replies=replies, released=released or ())
    print(summarise(read_comparison(out), settings).text())


def summarise(
    metrics: MetricTables,
    out: Annotated[Path, typer.Option("--out", help="The JSON file with a short record per model.")],
    plot: Annotated[Path, typer.Option(help="The CSV file of the benchmarks and their stress tests.")],
    headline: Annotated[
        Path | None, typer.Option(help="The CSV file of headline metrics. [default: headline.csv beside --out]")
    ] = None,
    leaderboard: Annotated[
        Path | None,
        typer.Option(help="The CSV file with a row per model and benchmark. [default: leaderboard.csv beside --out]"),
    ] = None,
    models: Annotated[
        Path | None,
        typer.Option(help="The folder of each model's record (dvc metrics show). [default: models beside --out]"),
    ] = None,
    table: Annotated[Path | None, typer.Option(help="Also write all metrics to this CSV file, which is large.")] = None,
) -> None:
    """Write the headline metrics and the leaderboard as CSV, and a short record per model as JSON.

    \b
    Example:
      known-unknowns summarise metrics/*/*/metrics.parquet --out metrics.json \\
        --plot plot.csv
    """
    from known_unknowns.metrics import summary_files

    summary_files.summarise(
        metrics,
        out=out,
        plot=plot,
        headline_table=headline or out.with_name("headline.csv"),
        leaderboard_table=leaderboard or out.with_name("leaderboard.csv"),
        models=models or out.with_name("models"),
    )
    if table:
        summary_files.write_all_metrics(metrics, table, chosen={})


def track(
    metrics: MetricTables,
    results: Results,
    data: Data,
    out: Annotated[Path, typer.Option("--out", help="A JSON file that lists the runs by their key.")],
    figures: Annotated[Path | None, typer.Option(help="The report's folder of figures.")] = None,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Log the results as MLflow runs: one per model, benchmark, and variant and seed. A rerun updates its runs.

    \b
    Example:
      known-unknowns track results/pocket/metrics/*/*/metrics.parquet \\
        --results results/pocket --data data/pocket --out tracking.json
    """
    from known_unknowns.report.section import section
    from known_unknowns.tracking import track as run
    from known_unknowns.workflow import selection

    chosen = selection.load(params, "track", edition=edition)
    _check_metrics(chosen, metrics)
    files: dict[str, list[Path]] = {}
    if figures is not None:
        for name in chosen.benchmarks:
            files[name] = [figures / f"{figure}.svg" for figure in section(name).figure_names]
    run(chosen, metrics, results=results, data=data, out=out, figures=files)


def _check_metrics(params: Params, metrics: list[Path]) -> None:
    """Raise DataError if a table does not exist, or if none is of a model and a benchmark of the edition."""
    from known_unknowns.edition_files import benchmark_of, model_of

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
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write the page on which every question and reply can be searched and filtered.

    \b
    Example:
      known-unknowns question-browser --results results/pocket \\
        --data data/pocket --out results/pocket/report/questions.html
    """
    from known_unknowns.report.browser import build
    from known_unknowns.workflow import selection

    chosen = selection.load(params, "question_browser", edition=edition)
    build(chosen, results=results, data=data, out=out, with_images=images)


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
    from known_unknowns.report.page import build
    from known_unknowns.workflow import selection

    build(
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
