"""Build the report: read the tables of a run, compute everything that the pages show, and write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.comparison import read_comparison
from known_unknowns.comparison.paired_rows import read_model_comparison
from known_unknowns.comparison.published import published
from known_unknowns.edition_files import EditionFiles
from known_unknowns.entry_points import AUDIT_SECTIONS, of_group
from known_unknowns.files import write_text
from known_unknowns.metrics import unusable_replies
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.metrics.run import Run
from known_unknowns.report import checks as checking
from known_unknowns.report import (
    confidence,
    data_figures,
    figures,
    overview,
    paper_tables,
    provenance,
    released,
    shell,
    side_by_side,
    verdict_tables,
)
from known_unknowns.report import tables as metric_tables
from known_unknowns.report.audit_notes import findings, noted, with_notes
from known_unknowns.report.formatting import Table, mark_baselines
from known_unknowns.report.overview import Overview
from known_unknowns.report.private_texts import PrivateTexts
from known_unknowns.report.section import section
from known_unknowns.report.sentences import sentences
from known_unknowns.tables.confidence_sources import SOURCES

if TYPE_CHECKING:
    from jinja2 import Environment

    from known_unknowns.benchmark.section_data import FigureData
    from known_unknowns.comparison import ComparisonRow
    from known_unknowns.config import Params
    from known_unknowns.report.drawing import Figure
    from known_unknowns.report.provenance import RunDescription

Part = dict[str, Any]
"""What the pages show of one benchmark."""


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
    """Write the report without what is private. The same inputs at the same commit give the same bytes.

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
    private = PrivateTexts.of(params, root or Path.cwd())
    numbers = MetricIndex(metric for path in metrics for metric in tables.read_metrics(path))
    compared = read_comparison(comparison)
    compared_models = [] if pairs is None else read_model_comparison(pairs)
    description = provenance.describe_run(params, results=results, data=data, root=root or Path.cwd())
    overviews, environment = [], shell.environment(private)
    for benchmark in params.benchmarks:
        run = run_of(params, numbers, benchmark)
        rows = with_notes((row for row in compared if row.benchmark == benchmark), findings(benchmark))
        shown = Overview(run, rows, [row for row in compared_models if row.benchmark == benchmark])
        overviews.append(shown)
    corrected = confidence.corrected_tests([shown.run for shown in overviews])
    parts = []
    for shown in overviews:
        part = _part(shown, private, environment, corrected, results=results, data=data, checks=checks)
        parts.append(part)
    pages = {}  # all text is rendered before the first file is written
    for file, template, values, scripts in _pages(params, parts, compared, description):
        paths = [shell.STATIC / name for name in ("tables.js", "export.js", "page.js", *scripts)]
        pages[file] = shell.render(environment, template, params, file=file, scripts=paths, missing=missing, **values)
    for part in parts:
        for figure in part["figures"]:
            write_text(out.parent / "figures" / f"{figure.name}.svg", figure.svg)
    for file, text in reversed(pages.items()):  # the first page last: it exists only if the others do
        write_text(out if file == shell.INDEX else out.parent / file, text)


def run_of(params: Params, numbers: MetricIndex, benchmark: str) -> Run:
    """Return what was measured of one benchmark, for its section of the report."""
    return Run.of(params, numbers, benchmark, section(benchmark))


def figures_of(run: Run, computed: Sequence[FigureData]) -> list[Figure]:
    """Return all figures of a benchmark. Their names are `Section.figure_names`."""
    declared = [spec for spec in (*run.section.scatters, *run.section.figures) if not isinstance(spec, str)]
    published = noted(run.benchmark) if declared else []
    drawn = {spec.name: figures.draw(spec, run, published) for spec in declared}
    drawn |= {data.name: data_figures.draw(data, run) for data in computed}
    return [
        *(drawn[spec.name] for spec in run.section.scatters),
        figures.answers(run),
        *(drawn[name] for name in run.section.own_figure_names),
        overview.draw_figure(Overview(run, (), ()), run.section.overview_figure),
    ]


def _part(
    shown: Overview,
    private: PrivateTexts,
    environment: Environment,
    corrected: confidence.Corrected,
    *,
    results: Path,
    data: Path,
    checks: Path | None,
) -> Part:
    """Return everything that the pages show of one benchmark."""
    run, rows = shown.run, shown.compared
    title = run.section.title
    own = registry.get(run.benchmark).section_data(run, results=results, data=data)
    released_part = released.released_part(run, results)
    checked = checking.read(checks, run.benchmark, section(run.benchmark).title)
    counted = checked["counted"] if checked and not run.is_rendered else {}
    part: Part = {
        "run": run,
        "overview": shown,
        "unusable": _unusable(shown, EditionFiles(data, results), private),
        "figures": figures_of(run, own.figures),
        "papers": _paper_tables(run, rows, results),
        "extra": {**own.values, **{name: data_figures.table_of(table, run) for name, table in own.tables.items()}},
        "released": released_part,
        "headline": metric_tables.headline(run),
        "by_category": metric_tables.by_category(run),
        "has_refusals": metric_tables.has_refusals(run),
        "all_variants": metric_tables.all_variants(run),
        "dual": metric_tables.dual_accuracy(run),
        "dual_by_category": metric_tables.dual_by_category(run),
        "compares_seeds": metric_tables.compares_seeds(run),
        "consistency": metric_tables.consistency(run),
        "parsers": metric_tables.disagreement(run, results),
        "errors": metric_tables.error_shares(run, results),
        "confidence": confidence.build(run, data=data, results=results, corrected=corrected),
        "verdicts": verdict_tables.comparison(rows, run.parsers),
        "audit": _audit(run.benchmark, title, environment),
        "published_data": checking.data_numbers(run.benchmark, title, counted),
        "checked": checked,
        "sources": list(dict.fromkeys(row.source for row in rows)),
    }
    found = {name: value for name, value in part.items() if isinstance(value, Table)}
    return part | {name: mark_baselines(table, shown.baselines) for name, table in found.items()}


def _paper_tables(run: Run, compared: Sequence[ComparisonRow], results: Path) -> list[paper_tables.HtmlTable]:
    """Return the tables of the benchmark's papers, which its template shows."""
    if not run.section.template:
        return []
    cells = [*noted(run.benchmark), *released.released_cells(run, results)]
    return paper_tables.html_tables(run, cells, compared)


def _audit(benchmark: str, title: str, environment: Environment) -> Markup:
    """Return what the installed audits show of the published numbers of a benchmark."""
    numbers, found = published(benchmark), findings(benchmark)
    sections = [entry.load()(numbers, found, title, environment) for entry in of_group(AUDIT_SECTIONS).values()]
    return Markup().join(sections)


def _unusable(shown: Overview, files: EditionFiles, private: PrivateTexts) -> list[str]:
    """Return, for each model with too many unusable replies, how many there are, and the most frequent one."""
    run, sentences = shown.run, []
    for model in shown.models:
        found = shown.unusable(model)
        if found is not None and found.excludes:
            cells = [cell for cell in run.params.cells(run.benchmark, model) if cell.variant == found.variant]
            outcomes = unusable_replies.outcomes(run.params, files, model, run.benchmark, cells, run.main_parser)
            outcomes = private.removed_from_outcomes(outcomes)  # before a text is shortened, which can cut a key
            sentences.append(f"{model} on {shown.title}: no rank and no test. {unusable_replies.unusable(outcomes)}")
    return sentences


def _pages(
    params: Params, parts: Sequence[Part], compared: Sequence[ComparisonRow], description: RunDescription
) -> Iterator[tuple[str, str, dict[str, Any], tuple[str, ...]]]:
    """Yield the file, the template, its variables and its own scripts of each page."""
    overviews = [part["overview"] for part in parts]
    titles = {each.run.benchmark: each.title for each in overviews}
    yield shell.INDEX, "index.html.j2", _first(params, parts, compared, description), ()
    for part in parts:
        yield shell.benchmark_file(part["run"].benchmark), "benchmark.html.j2", {"part": part}, ()
    for name in ("stress", "confidence", "parsers", "audit"):
        values: dict[str, Any] = {"parts": parts}
        if name == "confidence":
            values |= {"sources": SOURCES, "calibrated": confidence.calibrated_baselines(params)}
        yield f"{name}.html", f"{name}.html.j2", values, ()
    pairs = {
        "pairs": side_by_side.page_data(overviews),
        "best": side_by_side.best_pairs(overviews),
        "not_compared": side_by_side.missing(overviews),
    }
    parser = parts[0]["run"].main_parser if parts else ""
    yield "models.html", "models.html.j2", pairs | {"parser": parser}, ("compare.js",)
    run = {
        "description": description,
        "titles": titles,
        "usage": provenance.usage(description),
        "computations": provenance.computations(description, titles),
    }
    yield "provenance.html", "provenance.html.j2", run, ()


def _first(
    params: Params, parts: Sequence[Part], compared: Sequence[ComparisonRow], description: RunDescription
) -> dict[str, Any]:
    """Return the variables of the first page. Benchmarks with a dual accuracy come first."""
    sections = [part["run"].section for part in parts]
    parts = sorted(parts, key=lambda part: part["overview"].pair is None)
    answers = [_answer(part) for part in parts]
    matrix = overview.matrix([part["overview"] for part in parts])
    tables_of_models = [answer["table"] for answer in answers] + ([matrix] if matrix else [])
    return {
        "answers": answers,
        "matrix": matrix,
        "definitions": overview.definitions(tables_of_models),
        "primary": overview.draw_primary([part["overview"] for part in parts]),
        "description": description,
        "seeds": _seeds([part["run"] for part in parts]),
        "has_pairs": any(part["overview"].pair for part in parts),
        "baselines": overview.baselines_in_words(params),
        "verdicts": verdict_tables.summary(compared, params),
        "rendered": [registry.get(part["run"].benchmark).title for part in parts if part["run"].is_rendered],
        "unchanged": list(dict.fromkeys(section.unchanged for section in sections)),
        "refusals": list(dict.fromkeys(section.refusal for section in sections if section.refusal)),
        "about": [section.about for section in sections if section.about],
    }


def _seeds(runs: Sequence[Run]) -> dict[int, list[str]]:
    """Return the benchmarks by the number of seeds of their variants, with the variants if not all have as many."""
    found: dict[int, list[str]] = {}
    for run in runs:
        by_number: dict[int, list[str]] = {}
        for variant in run.variants:
            by_number.setdefault(len(run.seeds[variant]), []).append(run.section.name(variant))
        usual = max(by_number, key=lambda number: len(by_number[number]), default=0)
        for number, variants in by_number.items():
            of_variants = "" if number == usual else f" ({', '.join(variants)})"
            found.setdefault(number, []).append(f"{run.section.title}{of_variants}")
    return dict(sorted(found.items()))


def _answer(part: Part) -> dict[str, Any]:
    """Return what the first page shows of one benchmark."""
    shown = part["overview"]
    table, undefined = overview.table(shown)
    return {
        "benchmark": shown.run.benchmark,
        "title": shown.title,
        "sentences": sentences(shown),
        "unusable": part["unusable"],
        "table": table,
        "undefined": undefined,
        "figure": next(figure for figure in part["figures"] if figure.name == shown.run.section.overview_figure),
    }
