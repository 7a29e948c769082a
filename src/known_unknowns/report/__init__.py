"""The report: one HTML file that opens offline, without a script and without asking the network for anything."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns import benchmarks, tables
from known_unknowns.comparison import Numbers, load, read_comparison

if TYPE_CHECKING:
    from known_unknowns.comparison import Compared
    from known_unknowns.config import Params
    from known_unknowns.report.figures import Figure
    from known_unknowns.report.provenance import WasRun
    from known_unknowns.report.tables import Run

_SALT = 0
"""Seed of the choice of sample questions."""
_OPEN = 40
"""With more sample questions than this, their groups start folded."""


def build(
    params: Params,
    metrics: Sequence[Path],
    *,
    results: Path,
    data: Path,
    comparison: Path,
    out: Path,
    root: Path | None = None,
    checks: Path | None = None,
) -> None:
    """Write the report to ``out``, and its figures and its headline table into ``figures/`` beside it.

    ``results`` and ``data`` are the edition's folders; ``root`` is the project's folder, whose commit is named (by
    default the working folder); ``checks`` is the folder of <benchmark>.json that `known-unknowns check --json` wrote.
    The same inputs at the same commit give the same bytes.
    Raises DataError when a table that a metric speaks of is not there or is broken.
    """
    from known_unknowns.report import checks as checking
    from known_unknowns.report import provenance

    numbers = Numbers(metric for path in metrics for metric in tables.read_metrics(path))
    compared = read_comparison(comparison)
    was_run = provenance.gather(params, results=results, data=data, root=root or Path.cwd())
    parts = [
        _part(_run(params, numbers, benchmark), was_run, compared, results=results, data=data)
        for benchmark in params.benchmarks
    ]
    environment = _environment()
    page = environment.get_template("page.html.j2").render(
        edition=params.edition,
        was_run=was_run,
        parts=parts,
        open_at_most=_OPEN,
        checks=checking.read(checks, params.benchmarks),
    )
    folder = out.parent / "figures"
    for part in parts:
        for figure in part["figures"]:
            tables.write_text(folder / f"{figure.name}.svg", figure.svg)
    headline = environment.get_template("table.html.j2").render(parts=parts)
    tables.write_text(folder / "table.html", headline)
    tables.write_text(out, page)


def _run(params: Params, numbers: Numbers, benchmark: str) -> Run:
    """What was measured of the benchmark, in the order of params.yaml."""
    from known_unknowns.report.section import section
    from known_unknowns.report.tables import Run

    measured = [metric for metric in numbers if metric.benchmark == benchmark]
    models, variants = {m.model for m in measured}, {m.variant for m in measured}
    return Run(
        benchmark=benchmark,
        section=section(benchmark),
        numbers=numbers,
        models=tuple(model for model in params.models if model in models),
        variants=tuple(variant for variant in params.variants(benchmark) if variant in variants),
        scorers=tuple(params.scorers),
        seeds={variant: tuple(params.seeds_of(benchmark, variant)) for variant in params.variants(benchmark)},
        params=params,
    )


def _part(run: Run, was_run: WasRun, compared: Sequence[Compared], *, results: Path, data: Path) -> dict[str, Any]:
    """All that the page shows of one benchmark."""
    from known_unknowns.report import scorer_agreement, tables

    rows = [row for row in compared if row.benchmark == run.benchmark]
    own = _own(run, rows, results=results, data=data)
    return {
        "run": run,
        "figures": [*_figures(run), *own["figures"]],
        "own": own,
        "headline": tables.headline(run),
        "by_category": tables.by_category(run),
        "all_variants": tables.all_variants(run),
        "readers": scorer_agreement.disagreement(run, results),
        "samples": _samples(run, was_run, results=results, data=data),
        "verdicts": tables.comparison(rows, run.scorers),
        "sources": list(dict.fromkeys(row.source for row in rows)),
    }


def _own(run: Run, rows: Sequence[Compared], *, results: Path, data: Path) -> dict[str, Any]:
    """What only this benchmark shows, with its "figures", and "links" to its parts."""
    if run.section.own is None:
        return {"links": {}, "figures": []}
    module, _ = run.section.own
    return import_module(module).build(run, rows, results=results, data=data)


def _figures(run: Run) -> list[Figure]:
    from known_unknowns.report import figures

    published = load(run.benchmark)
    return [
        *(figures.scatter(spec, run, published) for spec in run.section.scatters),
        figures.letters(run),
    ]


def _samples(run: Run, was_run: WasRun, *, results: Path, data: Path) -> dict[str, Any]:
    """Sample questions of each model that is not a scripted respondent, by model."""
    from known_unknowns.report.samples import samples

    scripted = {model.name for model in was_run.models if model.scripted}
    return {
        model: samples(run, model, results=results, data=data, salt=_SALT)
        for model in run.models
        if model not in scripted
    }


def _environment() -> Any:
    """Everything is escaped unless it is our own SVG or style sheet, which the templates mark as safe."""
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, PrefixLoader, StrictUndefined

    own = {name: FileSystemLoader(benchmarks.get(name).folder / "templates") for name in benchmarks.names()}
    return Environment(
        loader=ChoiceLoader([PackageLoader("known_unknowns.report"), PrefixLoader(own)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
