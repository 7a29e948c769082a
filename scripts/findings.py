"""Write the tables of docs/findings.md and draw the figure of HumbleBench-E: ``make findings``.

Both numbers of each model on HumbleBench-E are those of the authors' own logs, which are in the package.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import altair as alt
import vl_convert

from known_unknowns import comparison
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import CHANGES, CONCLUSION
from known_unknowns.comparison.published import published
from known_unknowns_audit.audit import findings_on
from known_unknowns_audit.issues import by_importance, grouped
from known_unknowns_audit.output import counted, noun

DOCS = Path(__file__).parents[1] / "docs"
PAGE, FIGURE = DOCS / "findings.md", DOCS / "humblebench_e.svg"
START, END = "<!-- humblebench-e: written by make findings -->", "<!-- end of humblebench-e -->"
EXACT, PARSED = 'reply is exactly "E" (Figure 4)', "reply is parsed as E, as for Table 3"
AUDIT_START, AUDIT_END = "<!-- audit: written by make findings -->", "<!-- end of audit -->"
_COLOURS = {EXACT: "#d1495b", PARSED: "#1f6f8b"}


class Model(NamedTuple):
    """A model's two numbers in percent, as printed, and its ranks by them."""

    name: str
    exact: str
    parsed: str
    rank_exact: int
    rank_parsed: int


def models() -> list[Model]:
    """Return the models of the logs, the highest parsed accuracy first. Equal numbers have the same, better rank."""
    tables: dict[str, dict[str, tuple[float, str]]] = {"Figure 4": {}, "HumbleBench-E logs": {}}
    for cell in comparison.load("humblebench"):
        if cell.table in tables:
            tables[cell.table][cell.row] = cell.value, f"{cell.value:.{cell.decimals}f}"
    exact, parsed = tables.values()

    def rank(name: str, values: dict[str, tuple[float, str]]) -> int:
        return 1 + sum(value > values[name][0] for value, _ in values.values())

    found = [Model(name, exact[name][1], parsed[name][1], rank(name, exact), rank(name, parsed)) for name in exact]
    return sorted(found, key=lambda model: model.rank_parsed)


def table(rows: list[Model]) -> str:
    """Return the numbers as Markdown."""
    lines = ['| model | exactly "E" | rank | parsed as E | rank |', "|---|---|---|---|---|"]
    lines += [f"| {m.name} | {m.exact} | {m.rank_exact} | {m.parsed} | {m.rank_parsed} |" for m in rows]
    return "\n".join(lines)


def figure(rows: list[Model]) -> alt.Chart:
    """Return the figure: a line of each model from one number to the other."""
    names = [model.name for model in rows]
    points = [
        {"model": model.name, "counted if": kind, "percent": float(value)}
        for model in rows
        for kind, value in ((EXACT, model.exact), (PARSED, model.parsed))
    ]
    lines = [{"model": model.name, "low": float(model.exact), "high": float(model.parsed)} for model in rows]
    y = alt.Y("model:N", sort=names, title=None, axis=alt.Axis(grid=True, ticks=False, domain=False, labelPadding=8))
    rules = (
        alt.Chart(alt.Data(values=lines)).mark_rule(color="#8a8f98", strokeWidth=2).encode(y=y, x="low:Q", x2="high:Q")
    )
    x = alt.X("percent:Q", title="accuracy on HumbleBench-E in percent", scale=alt.Scale(domain=[0, 65]))
    scale = alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
    colour = alt.Color(
        "counted if:N", scale=scale, legend=alt.Legend(orient="top", title=None, labelLimit=400, columns=1)
    )
    shape = alt.Shape("counted if:N", scale=alt.Scale(domain=list(_COLOURS), range=["diamond", "circle"]), legend=None)
    dots = alt.Chart(alt.Data(values=points)).mark_point(filled=True, size=80, opacity=1)
    chart = rules + dots.encode(y=y, x=x, color=colour, shape=shape)
    return chart.properties(width=480, height=400, background="white", padding=10).configure(font="sans-serif")


def issues() -> str:
    """Return the number of issues of the audit as Markdown, and those that change a rank or a sentence of a paper."""
    numbers = {name: read for name in registry.names() if (read := published(name)).cells}
    found = by_importance(issue for read in numbers.values() for issue in grouped(read, findings_on(read)))
    kinds = [f"{sum(issue.changes == kind for issue in found)} ({text})" for kind, text in CHANGES.items()]
    total = sum(len(read.cells) for read in numbers.values())
    lines = [
        f"**{noun(len(found), 'issue')}** in {total:,} published numbers of {len(numbers)} benchmarks: "
        f"{', '.join(kinds)}.",
        f"The numbers are {counted(numbers.values())}.",
        "",
        "| | a rank or a sentence of the paper changes |",
        "|---|---|",
    ]
    first = [issue for issue in found if issue.changes == CONCLUSION]
    lines += [f"| {registry.get(issue.benchmark).title} | {issue.issue} |" for issue in first]
    return "\n".join(lines)


def updated(text: str, rows: list[Model]) -> str:
    """Return the text of docs/findings.md with its tables."""
    text = _between(text, START, END, table(rows))
    return _between(text, AUDIT_START, AUDIT_END, issues())


def _between(text: str, start: str, end: str, content: str) -> str:
    before, rest = text.split(start)
    return f"{before}{start}\n\n{content}\n\n{end}{rest.split(end)[1]}"


if __name__ == "__main__":
    found = models()
    print(table(found))
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    FIGURE.write_text(vl_convert.vegalite_to_svg(figure(found).to_dict()), encoding="utf-8")
