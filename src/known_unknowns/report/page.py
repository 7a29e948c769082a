"""Build the report's HTML page, its figures and its headline table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from known_unknowns import tables
from known_unknowns.comparison import MetricIndex, load, read_comparison
from known_unknowns.report import shell
from known_unknowns.report.section import section

if TYPE_CHECKING:
    from known_unknowns.comparison import ComparisonRow
    from known_unknowns.config import Params
    from known_unknowns.report.figures import Figure
    from known_unknowns.report.provenance import RunDescription
    from known_unknowns.report.tables import Run

_SALT = 0
"""Seed of the choice of sample questions."""
_MOST_OPEN = 40
"""With more sample questions than this, the page shows their groups collapsed."""


@dataclass(frozen=True, slots=True)
class ExtraContent:
    """Content of the report that only one benchmark has.

    Attributes
    ----------
    figures : sequence of Figure
        The figures that the section declares, in the same order.
    links : mapping of str to str
        Labels in the table of contents, by the anchors of the template.
    values : mapping of str to Any
        Variables of the template.
    """

    figures: Sequence[Figure] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


class BuildExtra(Protocol):
    """Build the content that only one benchmark has, from its measured run and its rows of the comparison."""

    def __call__(self, run: Run, compared: Sequence[ComparisonRow], *, results: Path, data: Path) -> ExtraContent: ...


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
    """Write the report. The same inputs at the same commit give the same bytes.

    Parameters
    ----------
    params : Params
        The configuration of the run.
    metrics : sequence of Path
        Tables of metrics.
    results, data : Path
        The edition's folders.
    comparison : Path
        Table of the comparison with published numbers.
    out : Path
        The page. Its figures and its headline table are written to ``figures/`` beside it.
    root : Path, optional
        The project's folder, whose commit is shown; the working folder by default.
    checks : Path, optional
        Folder of the files <benchmark>.json that `known-unknowns check --json` wrote.

    Raises
    ------
    DataError
        If a table that belongs to a metric is absent or invalid.
    """
    from known_unknowns.report import checks as checking
    from known_unknowns.report import provenance, verdict_tables

    numbers = MetricIndex(metric for path in metrics for metric in tables.read_metrics(path))
    compared = read_comparison(comparison)
    description = provenance.describe_run(params, results=results, data=data, root=root or Path.cwd())
    parts = [
        _part(run_of(params, numbers, benchmark), description, compared, results=results, data=data, checks=checks)
        for benchmark in params.benchmarks
    ]
    page_values = {
        "description": description,
        "most_open": _MOST_OPEN,
        "checks": checking.read(checks, params.benchmarks),
        "verdicts": verdict_tables.summary(compared, params),
    }
    _write(params, parts, page_values, out)


def _write(params: Params, parts: Sequence[Mapping[str, Any]], page_values: Mapping[str, Any], out: Path) -> None:
    """Write the page, the figures and the headline table. All text is rendered before the first file is written."""
    environment = shell.environment()
    page = shell.render(environment, "page.html.j2", params, file=out.name, parts=parts, **page_values)
    headline = environment.get_template("table.html.j2").render(parts=parts)
    folder = out.parent / "figures"
    for part in parts:
        for figure in part["figures"]:
            tables.write_text(folder / f"{figure.name}.svg", figure.svg)
    tables.write_text(folder / "table.html", headline)
    tables.write_text(out, page)


def run_of(params: Params, numbers: MetricIndex, benchmark: str) -> Run:
    """Return what was measured of one benchmark, in the order of params.yaml."""
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


def figures_of(run: Run, extra: ExtraContent) -> list[Figure]:
    """Return all figures of a benchmark. Their names are `Section.figure_names`."""
    from known_unknowns.report import figures

    published = load(run.benchmark) if run.section.scatters else []
    return [
        *(figures.scatter(spec, run, published) for spec in run.section.scatters),
        figures.answers(run),
        *extra.figures,
    ]


def _part(
    run: Run,
    description: RunDescription,
    compared: Sequence[ComparisonRow],
    *,
    results: Path,
    data: Path,
    checks: Path | None,
) -> dict[str, Any]:
    """Return everything that the page shows of one benchmark."""
    from known_unknowns.report import audit_tables, pair_tables, scorer_agreement, tables, verdict_tables
    from known_unknowns.report import checks as checking

    rows = [row for row in compared if row.benchmark == run.benchmark]
    extra = ExtraContent()
    if run.section.extra is not None:
        extra = run.section.extra.build.get()(run, rows, results=results, data=data)
    return {
        "run": run,
        "figures": figures_of(run, extra),
        "extra": extra,
        "headline": tables.headline(run),
        "by_category": tables.by_category(run),
        "has_refusals": tables.has_refusals(run),
        "all_variants": tables.all_variants(run),
        "dual": pair_tables.dual_accuracy(run),
        "dual_by_category": pair_tables.dual_by_category(run),
        "compares_seeds": pair_tables.compares_seeds(run),
        "consistency": pair_tables.consistency(run),
        "parsers": scorer_agreement.disagreement(run, results),
        "samples": _samples(run, description, results=results, data=data),
        "verdicts": verdict_tables.comparison(rows, run.scorers),
        "audit": audit_tables.tables(
            run.benchmark, run.section.title, {} if run.is_rendered else checking.counted(checks, run.benchmark)
        ),
        "sources": list(dict.fromkeys(row.source for row in rows)),
    }


def _samples(run: Run, description: RunDescription, *, results: Path, data: Path) -> dict[str, Any]:
    """Return sample questions by model, without scripted respondents."""
    from known_unknowns.report.samples import samples

    scripted = {model.name for model in description.models if model.scripted}
    return {
        model: samples(run, model, results=results, data=data, salt=_SALT)
        for model in run.models
        if model not in scripted
    }
