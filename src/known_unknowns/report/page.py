"""Build the report: read the tables of a run, and compute everything that the pages show of each benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns import tables
from known_unknowns.benchmark import caveats, registry
from known_unknowns.comparison import MetricIndex, load, read_comparison
from known_unknowns.comparison.pairs import read_model_comparison
from known_unknowns.edition_files import EditionFiles
from known_unknowns.inference import unusable_replies
from known_unknowns.report import (
    audit_tables,
    error_tables,
    figures,
    overview_figure,
    pair_tables,
    parser_agreement,
    provenance,
    verdict_tables,
)
from known_unknowns.report import checks as checking
from known_unknowns.report import tables as metric_tables
from known_unknowns.report.formatting import Table, mark_baselines
from known_unknowns.report.overview import Overview
from known_unknowns.report.pages import write_pages
from known_unknowns.report.section import section
from known_unknowns.report.tables import Run, is_baseline

if TYPE_CHECKING:
    from known_unknowns.config import Params
    from known_unknowns.report.figures import Figure


@dataclass(frozen=True, slots=True)
class ExtraContent:
    """Content of the report that only one benchmark has (`Benchmark.section_content`).

    Attributes
    ----------
    figures : sequence of Figure
        The figures that the section names, but does not declare.
    links : mapping of str to str
        Labels in the table of contents, by the anchors of the template.
    values : mapping of str to Any
        Variables of the template.
    """

    figures: Sequence[Figure] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


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
    pairs: Path | None = None,
    missing: Sequence[str] = (),
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
        The first page. The other pages are written beside it, the figures to ``figures/``.
    root : Path, optional
        The project's folder, whose commit is shown; the working folder by default.
    checks : Path, optional
        Folder of the files <benchmark>.json that `known-unknowns check --json` wrote.
    pairs : Path, optional
        Table of the comparison of models in pairs. Without it there are no ranks.
    missing : sequence of str
        Models without results, which a partial report names.

    Raises
    ------
    DataError
        If a table that belongs to a metric is absent or invalid.
    """
    numbers = MetricIndex(metric for path in metrics for metric in tables.read_metrics(path))
    compared = read_comparison(comparison)
    compared_models = [] if pairs is None else read_model_comparison(pairs)
    description = provenance.describe_run(params, results=results, data=data, root=root or Path.cwd())
    parts = []
    for benchmark in params.benchmarks:
        run = run_of(params, numbers, benchmark)
        rows = [row for row in compared if row.benchmark == benchmark]
        overview = Overview(run, rows, [row for row in compared_models if row.benchmark == benchmark])
        parts.append(_part(overview, results=results, data=data, checks=checks))
    write_pages(params, parts, compared, description, out, missing=missing)


def run_of(params: Params, numbers: MetricIndex, benchmark: str) -> Run:
    """Return what was measured of one benchmark, in the order of params.yaml, scripted baselines after models."""
    measured = [metric for metric in numbers if metric.benchmark == benchmark]
    models, variants = {m.model for m in measured}, {m.variant for m in measured}
    return Run(
        benchmark=benchmark,
        section=replace(section(benchmark), title=caveats.title(params, benchmark)),
        numbers=numbers,
        models=tuple(sorted((m for m in params.models if m in models), key=lambda m: is_baseline(params, m))),
        variants=tuple(variant for variant in params.variants(benchmark) if variant in variants),
        parsers=tuple(params.parsers),
        seeds={variant: tuple(params.seeds_of(benchmark, variant)) for variant in params.variants(benchmark)},
        params=params,
    )


def figures_of(run: Run, extra: ExtraContent) -> list[Figure]:
    """Return all figures of a benchmark. Their names are `Section.figure_names`."""
    declared = [spec for spec in (*run.section.scatters, *run.section.figures) if not isinstance(spec, str)]
    published = load(run.benchmark) if declared else []
    drawn = {figure.name: figure for figure in (*extra.figures, *(figures.draw(s, run, published) for s in declared))}
    return [
        *(drawn[spec.name] for spec in run.section.scatters),
        figures.answers(run),
        *(drawn[name] for name in run.section.own_figure_names),
        overview_figure.draw(Overview(run, (), ()), run.section.overview_figure),
    ]


def _part(overview: Overview, *, results: Path, data: Path, checks: Path | None) -> dict[str, Any]:
    """Return everything that the pages show of one benchmark."""
    run, rows = overview.run, overview.compared
    extra = ExtraContent()
    if run.section.template:
        extra = registry.get(run.benchmark).section_content(run, rows, results=results, data=data)
    counted = {} if run.is_rendered else checking.counted(checks, run.benchmark)
    content: dict[str, Any] = {
        "run": run,
        "overview": overview,
        "unusable": _unusable(overview, EditionFiles(data, results)),
        "figures": figures_of(run, extra),
        "extra": extra,
        "headline": metric_tables.headline(run),
        "by_category": metric_tables.by_category(run),
        "has_refusals": metric_tables.has_refusals(run),
        "all_variants": metric_tables.all_variants(run),
        "dual": pair_tables.dual_accuracy(run),
        "dual_by_category": pair_tables.dual_by_category(run),
        "compares_seeds": pair_tables.compares_seeds(run),
        "consistency": pair_tables.consistency(run),
        "parsers": parser_agreement.disagreement(run, results),
        "errors": error_tables.shares(run, results),
        "verdicts": verdict_tables.comparison(rows, run.parsers),
        "audit": audit_tables.tables(run.benchmark, run.section.title, counted),
        "checked": next(iter(checking.read(checks, [run.benchmark])), None),
        "sources": list(dict.fromkeys(row.source for row in rows)),
    }
    shown = {name: value for name, value in content.items() if isinstance(value, Table)}
    return content | {name: mark_baselines(table, overview.baselines) for name, table in shown.items()}


def _unusable(overview: Overview, files: EditionFiles) -> list[str]:
    """Return, for each model with too many unusable replies, how many there are, and the most frequent one."""
    run, sentences = overview.run, []
    for model in overview.models:
        found = overview.unusable(model)
        if found is not None and found.excludes:
            cells = [cell for cell in run.params.cells(run.benchmark, model) if cell[0] == found.variant]
            outcomes = unusable_replies.outcomes(files, model, run.benchmark, cells, run.main_parser)
            sentences.append(f"{model} on {overview.title}: no rank and no test. {unusable_replies.unusable(outcomes)}")
    return sentences
