"""Commands for reviews: review itself, its summary, and what becomes of its decisions."""

from __future__ import annotations

import getpass
import json
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from known_unknowns.cli.options import PARAMS, AsJson, Edition, ParamsFile, Reviewers
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.records import Cell
from known_unknowns.tables import Part
from known_unknowns.workflow import configuration
from known_unknowns_construction.review import error_analysis, items, results
from known_unknowns_construction.review.decisions import DecisionLog, counts_of, read_decisions
from known_unknowns_construction.review.items import Source
from known_unknowns_construction.review.server import serve
from known_unknowns_construction.review.session import Review

Candidates = Annotated[
    Path | None, typer.Argument(metavar="[PATH]", help="A file of candidates (JSONL).", show_default=False)
]
OfBenchmark = Annotated[
    str | None, typer.Option("--benchmark", metavar="NAME", help="Review the questions of this benchmark instead.")
]
Listed = Annotated[
    Path | None,
    typer.Option("--questions", metavar="CSV", help="Only the questions in the column id of this file, in its order."),
]
Errors = Annotated[
    tuple[str, str] | None,
    typer.Option("--errors", metavar="MODEL BENCHMARK", help="Tag the wrong answers of a model instead."),
]
Variant = Annotated[str, typer.Option(help="With --errors: the variant of the questions.")]
VariantSeed = Annotated[int, typer.Option("--seed", help="With --errors: the seed of the variant.")]
Parser = Annotated[str, typer.Option(help="With --errors: the parser that decides what is wrong.")]
DecisionFile = Annotated[
    Path | None,
    typer.Option(
        "--decisions",
        help="The file that decisions are appended to. "
        "[default: beside PATH; reviews/<edition>/... with --benchmark and --errors]",
        show_default=False,
    ),
]
Also = Annotated[
    list[Path] | None,
    typer.Option("--also", metavar="FILE", help="Read further decisions, for example of another reviewer. Repeat it."),
]


def start(
    path: Candidates = None,
    benchmark: OfBenchmark = None,
    questions: Listed = None,
    errors: Errors = None,
    reviewer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Who reviews. Repeat it for several reviewers: they share the questions. [default: your login name]",
            show_default=False,
        ),
    ] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="All reviewers get all questions, and do not see the others' decisions.")
    ] = False,
    adjudicate: Annotated[
        bool, typer.Option("--adjudicate", help="Decide the questions on which the reviewers differ.")
    ] = False,
    decisions: DecisionFile = None,
    also: Also = None,
    variant: Variant = "original",
    seed: VariantSeed = 0,
    parser: Parser = "robust",
    sample: Annotated[
        int | None, typer.Option(min=1, help="With --errors: the number of wrong answers to draw. [default: all]")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to bind to. Others than 127.0.0.1 are open to the network.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Port; 0 for any free one. [default: one that follows from the decision file's path]",
            show_default=False,
        ),
    ] = None,
    token: Annotated[
        str,
        typer.Option(
            envvar="KNOWN_UNKNOWNS_REVIEW_TOKEN",
            help="What a browser must present; the printed address has it. [default: one of the decision file]",
            show_default=False,
        ),
    ] = "",
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Review questions in the browser: keep, modify or delete each, or tag wrong answers.

    The page works by keyboard alone; ? lists the keys. Each decision is a line of the decision file, on the disk before
    the page says that it is saved. Stop the server with Ctrl-C and continue with the same command. The guide is
    docs/construction.md#review.

    \b
    Examples:
      known-unknowns review start candidates.jsonl
      known-unknowns review start candidates.jsonl --blind --reviewer ann --reviewer bo
      known-unknowns review start candidates.jsonl --adjudicate --reviewer cem
      known-unknowns review start --benchmark NAME --questions all_wrong.csv
      known-unknowns review start --errors MODEL BENCHMARK --sample 100
    """
    _needs_server()
    source, file = _source(
        path, benchmark, questions, errors, variant=variant, seed=seed, parser=parser, sample=sample, params=params,
        edition=edition,
    )  # fmt: skip
    with DecisionLog(decisions or file) as log:
        running = Review(
            source,
            log,
            reviewers=reviewer or [getpass.getuser()],
            blind=blind,
            adjudicate=adjudicate,
            others=read_decisions(also or ()),
        )
        print(f"{len(source.items)} questions of {source.title}; {len(log.decisions)} lines in {log.path}", flush=True)
        serve(running, host=host, port=port, token=token, say=lambda text: print(text, flush=True))


def _needs_server() -> None:
    """ConfigError unless the packages of the web application are installed."""
    missing = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"the review needs {' and '.join(missing)}; install them with  pip install 'known-unknowns[review]'"
        )


def _source(
    path: Path | None,
    benchmark: str | None,
    questions: Path | None = None,
    errors: tuple[str, str] | None = None,
    *,
    params: Path,
    edition: str | None,
    variant: str = "original",
    seed: int = 0,
    parser: str = "robust",
    sample: int | None = None,
) -> tuple[Source, Path]:
    """Return what is reviewed, and the default file of its decisions."""
    if sum(given is not None for given in (path, benchmark, errors)) != 1:
        raise ConfigError("give one of PATH, --benchmark NAME and --errors MODEL BENCHMARK")
    if path is not None:
        return items.candidate_source(path), path.with_name(f"{path.stem}.decisions.jsonl")

    chosen = configuration.load(params, edition=edition)
    files = EditionFiles.of(chosen)
    if benchmark is not None:
        _check_name(benchmark, chosen.benchmarks, "--benchmark")
        table = files.question_table(benchmark)
        title = f"{benchmark}, edition {chosen.edition}"
        source = items.benchmark_source(title, table, listed=questions)
        return source, Path("reviews", chosen.data_name, f"{benchmark}.jsonl")
    model, name = errors or ("", "")
    _check_name(model, chosen.models, "--errors MODEL")
    _check_name(name, chosen.benchmarks, "--errors BENCHMARK")
    _check_name(variant, chosen.variants(name), "--variant")
    source = items.error_source(
        f"wrong answers of {model} to {name}, {variant}",
        files.asked(name, variant, seed),
        Part(files.answers(model, name), Cell(variant, seed)),
        Part(files.replies(model, name), Cell(variant, seed)),
        images=files.questions(name),
        parser=parser,
        sample=sample,
    )
    return source, _error_file(chosen.edition, model, name, variant, seed)


def _check_name(name: str, known: list[str], path: str) -> None:
    if name not in known:
        raise ConfigError(unknown_name(name, known), path=path)


def _error_file(edition: str, model: str, benchmark: str, variant: str, seed: int) -> Path:
    """Return the default file of the tags of a model's wrong answers."""
    return Path("reviews", edition, "errors", model, benchmark, f"{variant}-seed{seed}.jsonl")


def summary(
    path: Candidates = None,
    benchmark: OfBenchmark = None,
    questions: Listed = None,
    errors: Errors = None,
    decisions: DecisionFile = None,
    also: Also = None,
    required: Reviewers = 1,
    variant: Variant = "original",
    seed: VariantSeed = 0,
    parser: Parser = "robust",
    out: Annotated[
        Path | None, typer.Option("--out", help="With --errors: a CSV file of the shares, with intervals and examples.")
    ] = None,
    as_json: AsJson = False,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Show a review's counts, agreement and disputes; for errors, the share of each kind.

    Agreement is Cohen's kappa of each pair and Krippendorff's alpha of all, with bootstrap intervals over images.

    \b
    Examples:
      known-unknowns review summary candidates.jsonl --required 2
      known-unknowns review summary --errors MODEL BENCHMARK --out errors.csv
    """
    source, file = _source(
        path, benchmark, questions, errors, variant=variant, seed=seed, parser=parser, params=params, edition=edition
    )
    found = read_decisions([decisions or file, *(also or ())])
    shown = results.summary(source, found, required=required)
    table = []
    if errors is not None:
        source = error_analysis.reviewed_part(source, found)
        table = error_analysis.error_table(source, found, required=required)
        shown["errors"] = [asdict(row) for row in table]
        if out is not None:
            error_analysis.write_table(table, out)
    elif out is not None:
        raise ConfigError("is for --errors only", path="--out")
    print(json.dumps(shown, indent=2, ensure_ascii=False) if as_json else results.as_text(shown, table))


def apply(
    path: Candidates = None,
    benchmark: OfBenchmark = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="A folder for candidates; with --benchmark, the file of corrections (JSON)."),
    ] = None,
    decisions: DecisionFile = None,
    also: Also = None,
    required: Reviewers = 1,
    params: ParamsFile = PARAMS,
    edition: Edition = None,
) -> None:
    """Write what the decisions make of questions: final candidates, or corrections of a benchmark.

    Of candidates, the folder gets final.jsonl (kept and modified) and review.json (counts, reasons). Of a benchmark,
    the corrections are a file for the variant "corrected" in params.yaml; the command prints the entry. Pending and
    disputed questions are left out of both.

    \b
    Examples:
      known-unknowns review apply candidates.jsonl --out reviewed
      known-unknowns review apply --benchmark NAME --out corrections/NAME.json
    """
    source, file = _source(path, benchmark, params=params, edition=edition)
    if out is None:
        raise ConfigError("name what is written", path="--out")
    found = read_decisions([decisions or file, *(also or ())])
    if path is not None:
        counts = results.write_applied(path, found, out, required=required).counts
    else:
        after = results.write_corrections(benchmark or "", source, found, out, required=required)
        counts = counts_of(after.values())
    print(results.counts_as_text(counts))
    print(results.next_step(out, benchmark, counts))
