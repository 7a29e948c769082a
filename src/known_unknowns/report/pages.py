"""The pages of the report: which template shows what, and the files that are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns.benchmark import registry
from known_unknowns.files import write_text
from known_unknowns.report import overview, overview_text, provenance_tables, shell, side_by_side, verdict_tables

if TYPE_CHECKING:
    from known_unknowns.comparison import ComparisonRow
    from known_unknowns.config import Params
    from known_unknowns.report.provenance import RunDescription

SCRIPTS = ("tables.js", "export.js", "page.js")
"""Scripts of every page."""
Part = Mapping[str, Any]
"""What the pages show of one benchmark."""


def write_pages(
    params: Params,
    parts: Sequence[Part],
    compared: Sequence[ComparisonRow],
    description: RunDescription,
    out: Path,
    *,
    missing: Sequence[str] = (),
) -> None:
    """Write the pages and the figures. All text is rendered before the first file is written.

    A partial report names the models that are ``missing`` on every page.
    """
    environment = shell.environment()
    pages = {}
    for file, template, values, scripts in _pages(params, parts, compared, description):
        paths = [shell.STATIC / name for name in (*SCRIPTS, *scripts)]
        pages[file] = shell.render(environment, template, params, file=file, scripts=paths, missing=missing, **values)
    folder = out.parent
    for part in parts:
        for figure in part["figures"]:
            write_text(folder / "figures" / f"{figure.name}.svg", figure.svg)
    for file, text in reversed(pages.items()):  # the first page last: it exists only if the others do
        write_text(out if file == shell.INDEX else folder / file, text)


def _pages(
    params: Params, parts: Sequence[Part], compared: Sequence[ComparisonRow], description: RunDescription
) -> Iterator[tuple[str, str, dict[str, Any], tuple[str, ...]]]:
    """Yield the file, the template, its variables and its own scripts of each page."""
    yield shell.INDEX, "index.html.j2", _first(params, parts, compared, description), ()
    for part in parts:
        yield shell.benchmark_file(part["run"].benchmark), "benchmark.html.j2", {"part": part}, ()
    for name in ("stress", "parsers", "audit"):
        yield f"{name}.html", f"{name}.html.j2", {"parts": parts}, ()
    overviews = [part["overview"] for part in parts]
    models = {
        "pairs": side_by_side.page_data(overviews),
        "best": side_by_side.best_pairs(overviews),
        "parser": parts[0]["run"].main_parser if parts else "",
    }
    yield "models.html", "models.html.j2", models, ("compare.js",)
    titles = {each.run.benchmark: each.title for each in overviews}
    run = {
        "description": description,
        "titles": titles,
        "usage": provenance_tables.usage(description),
        "computations": provenance_tables.computations(description, titles),
        "repeated": provenance_tables.repeated(description, titles),
    }
    yield "provenance.html", "provenance.html.j2", run, ()


def _first(
    params: Params, parts: Sequence[Part], compared: Sequence[ComparisonRow], description: RunDescription
) -> dict[str, Any]:
    """Return the variables of the first page. Benchmarks with a dual accuracy come first."""
    sections = [part["run"].section for part in parts]
    parts = sorted(parts, key=lambda part: part["overview"].pair is None)
    return {
        "answers": [_answer(part) for part in parts],
        "matrix": overview.matrix([part["overview"] for part in parts]),
        "description": description,
        "verdicts": verdict_tables.summary(compared, params),
        "rendered": [registry.get(part["run"].benchmark).title for part in parts if part["run"].is_rendered],
        "unchanged": list(dict.fromkeys(section.unchanged for section in sections)),
        "refusals": list(dict.fromkeys(section.refusal for section in sections if section.refusal)),
        "about": [section.about for section in sections if section.about],
    }


def _answer(part: Part) -> dict[str, Any]:
    """Return what the first page shows of one benchmark."""
    found = part["overview"]
    table, undefined = overview.table(found)
    return {
        "benchmark": found.run.benchmark,
        "title": found.title,
        "sentences": overview_text.sentences(found),
        "unusable": part["unusable"],
        "table": table,
        "undefined": undefined,
        "figure": next(figure for figure in part["figures"] if figure.name == found.run.section.overview_figure),
    }
