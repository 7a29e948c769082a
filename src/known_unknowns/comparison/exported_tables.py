"""Tables for a paper: the headline numbers of a run, and each table of a benchmark's papers with the models of the run.

A table of a paper has its columns, and a row for each model that was measured in one of them. Below a model that stands
for a row of the paper are the published numbers, those with the verdict `DIFFERS` with a dagger. LaTeX needs the
packages array and booktabs; columns that do not fit beside each other stand in parts below each other.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns import tables
from known_unknowns.benchmark.caveats import title
from known_unknowns.benchmark.published import MODEL, PERCENT, PublishedCell
from known_unknowns.comparison.compare import OFFICIAL, ComparisonRow, read_comparison
from known_unknowns.comparison.published import load
from known_unknowns.comparison.verdicts import DIFFERS
from known_unknowns.errors import DataError
from known_unknowns.files.csv_cells import escape_cell
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.metrics.summary import read_leaderboard
from known_unknowns.records import OVERALL, Metric
from known_unknowns.run_command import run_command

if TYPE_CHECKING:
    from known_unknowns.config import Params

_MODEL_WIDTH, _TEXT_WIDTH = 84, 345
"""Widths in points of the column of models, and of the text of LaTeX's article class, the narrowest common one."""
_NUMBER_WIDTH, _CHARACTER_WIDTH, _COLUMN_SPACE = 34, 5, 6
_HEAD_LENGTH = 11
"""Characters of a line of a column's heading, if its words allow it."""
_DAGGER = "†"
_SPECIAL: dict[str, str] = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    _DAGGER: r"\rlap{$^\dagger$}",
}
_TO_LATEX = {ord(character): text for character, text in _SPECIAL.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A number of a model in a column. Values and intervals are in percent, or in the unit of the paper's column."""

    row: str
    column: str
    metric: str
    variant: str
    category: str
    parser: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    method: str
    decimals: int = 1
    published: float | None = None
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class PaperTable:
    """``name`` is that of the file, without its suffix."""

    name: str
    caption: str
    columns: tuple[str, ...]
    entries: tuple[Entry, ...]

    def rows(self) -> dict[str, dict[str, Entry]]:
        """Return the entries by row and column."""
        by_row: dict[str, dict[str, Entry]] = {}
        for entry in self.entries:
            by_row.setdefault(entry.row, {})[entry.column] = entry
        return by_row


def of_run(params: Params, results: Path) -> Iterator[PaperTable]:
    """Yield every table of a finished run, whose folder of results is given."""
    leaderboard = results / "leaderboard.csv"
    if not leaderboard.is_file():
        raise DataError(f"no results here yet; run  {run_command(params.edition)}  first", file=leaderboard)
    rows = [row for row in read_leaderboard(leaderboard) if row["model"] in params.models]
    comparison = read_comparison(results / "comparison.parquet")
    for benchmark in params.benchmarks:
        name = title(params, benchmark)
        yield of_headline(benchmark, name, [row for row in rows if row["benchmark"] == benchmark])
        files = [results / "metrics" / model / benchmark / "metrics.parquet" for model in params.models]
        metrics = [metric for file in files if file.is_file() for metric in tables.read_metrics(file)]
        judged = [row for row in comparison if row.benchmark == benchmark]
        yield from of_papers(benchmark, name, load(benchmark), metrics, judged)


def of_headline(benchmark: str, heading: str, rows: Iterable[Mapping[str, Any]]) -> PaperTable:
    """Return the table of the headline numbers of a benchmark, from rows of leaderboard.csv."""
    entries = [_headline_entry(row) for row in rows]
    columns = tuple(dict.fromkeys(entry.column for entry in entries))
    return PaperTable(f"{benchmark}_headline", f"{heading}: headline numbers in percent", columns, tuple(entries))


def _headline_entry(row: Mapping[str, Any]) -> Entry:
    value, low, high = (None if row[key] is None else 100 * row[key] for key in ("value", "low", "high"))
    return Entry(
        row=row["model"],
        column=row["label"],
        metric=row["metric"],
        variant=row["variant"],
        category=OVERALL,
        parser=row["parser"],
        value=value,
        low=low,
        high=high,
        n=row["n"],
        method=row["method"] or "",
    )


def of_papers(
    benchmark: str,
    heading: str,
    cells: Iterable[PublishedCell],
    metrics: Iterable[Metric],
    comparison: Iterable[ComparisonRow],
) -> Iterator[PaperTable]:
    """Yield each table of the benchmark's papers in which a model of the run was measured.

    The parser of a number is that of the paper's column. If the rows of a table differ in their variant or parser, such
    as with and without another prompt, a model has a row for each.
    """
    measured = MetricIndex(metrics)
    models = dict.fromkeys(metric.model for metric in measured)
    judged = {(c.table, c.column, c.variant, c.model, c.parser): c for c in comparison if c.model is not None}
    by_table: dict[str, list[PublishedCell]] = {}
    for cell in cells:
        if cell.kind == MODEL and cell.table.startswith("Table "):
            by_table.setdefault(cell.table, []).append(cell)
    for table, own in by_table.items():
        columns = tuple(dict.fromkeys(cell.column for cell in own))
        kinds = _kinds_of_rows(own)
        entries = []
        for model in models:
            for kind, by_column in kinds.items():
                row = f"{model}, {kind}" if len(kinds) > 1 else model
                for cell in by_column:
                    parser = cell.parser or OFFICIAL
                    metric = measured.get(model, benchmark, cell.variant, parser, cell.metric, cell.category)
                    if metric is not None:
                        entries.append(_entry(row, cell, metric, judged))
        if entries:
            name = re.sub(r"\W+", "_", f"{benchmark} {table}".lower())
            yield PaperTable(name, f"{heading}: {table} with the models of this run", columns, tuple(entries))


def _kinds_of_rows(cells: Iterable[PublishedCell]) -> dict[str, list[PublishedCell]]:
    """Return the ways in which the rows of a table were asked and read: a cell for each column, by their name.

    Rows that have the same variant and parser in each column that both have are of one kind.
    """
    rows: dict[str, dict[str, PublishedCell]] = {}
    for cell in cells:
        rows.setdefault(cell.row, {})[cell.column] = cell
    kinds: list[dict[str, PublishedCell]] = []
    for row in rows.values():
        same = next((kind for kind in kinds if _are_asked_alike(kind, row)), None)
        if same is None:
            kinds.append(row)
        else:
            kinds[kinds.index(same)] = row | same
    return {_name_of(kind.values()): list(kind.values()) for kind in kinds}


def _are_asked_alike(one: Mapping[str, PublishedCell], other: Mapping[str, PublishedCell]) -> bool:
    """Return whether two rows have the same variant and parser in the columns that both have."""
    shared = one.keys() & other.keys()
    return all(_asked(one[column]) == _asked(other[column]) for column in shared)


def _asked(cell: PublishedCell) -> str:
    return " ".join(filter(None, [cell.variant, cell.parser]))


def _name_of(cells: Iterable[PublishedCell]) -> str:
    return ", ".join(dict.fromkeys(map(_asked, cells)))


def _entry(
    row: str, cell: PublishedCell, metric: Metric, judged: Mapping[tuple[str, str, str, str, str], ComparisonRow]
) -> Entry:
    scale = 100 if cell.unit == PERCENT else 1
    value, low, high = (
        None if number is None else scale * number for number in (metric.value, metric.low, metric.high)
    )
    beside = judged.get((cell.table, cell.column, cell.variant, metric.model, metric.parser))
    return Entry(
        row=row,
        column=cell.column,
        metric=metric.name,
        variant=metric.variant,
        category=metric.category,
        parser=metric.parser,
        value=value,
        low=low,
        high=high,
        n=metric.n,
        method=metric.method,
        decimals=min(cell.decimals, 1) if cell.unit == PERCENT else cell.decimals,
        published=beside.published if beside else None,
        verdict=beside.verdict if beside else "",
    )


def as_csv(table: PaperTable) -> str:
    """Return a line for each number, with its interval, n, method, published number and verdict."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [field.name for field in fields(Entry) if field.name != "decimals"]
    writer.writerow(columns)
    writer.writerows([escape_cell(getattr(entry, name)) for name in columns] for entry in table.entries)
    return text.getvalue()


def as_markdown(table: PaperTable) -> str:
    """Return the table with intervals in brackets, and its caption."""
    lines = [["model", *table.columns], ["---", *("---:" for _ in table.columns)]]
    for row, entries in table.rows().items():
        lines.append([row, *(_with_interval(entries.get(column), "{} [{}, {}]") for column in table.columns)])
        if any(entry.published is not None for entry in entries.values()):
            lines.append(["published", *(_published(entries.get(column)) for column in table.columns)])
    escaped = ([re.sub("([|<])", r"\\\1", cell) for cell in line] for line in lines)
    text = "".join(f"| {' | '.join(line)} |\n" for line in escaped)
    return f"{text}\n{_caption(table)}\n"


def as_latex(table: PaperTable) -> str:
    """Return a table of LaTeX. The bounds of an interval stand below and above its number."""
    parts = []
    for columns in _parts(table):
        lines = [" & ".join(["", *map(_head, columns)])]
        for row, entries in table.rows().items():
            numbers = (_with_interval(entries.get(column), "${}_{{{}}}^{{{}}}$") for column in columns)
            lines.append(" & ".join([_breakable(row), *numbers]))
            if any(entry.published is not None for entry in entries.values()):
                published = (_escaped(_published(entries.get(column))) for column in columns)
                lines.append(" & ".join([r"\quad published", *published]))
        head, *others = (f"{line} \\\\\n" for line in lines)
        shape = f"p{{{_MODEL_WIDTH}pt}}{'r' * len(columns)}"
        rules = f"\\toprule\n{head}\\midrule\n{''.join(others)}\\bottomrule\n"
        parts.append(
            f"\\begin{{tabular}}{{@{{}}>{{\\raggedright\\arraybackslash}}{shape}@{{}}}}\n{rules}\\end{{tabular}}\n"
        )
    body = "\n\\medskip\n".join(parts)
    label = table.name.replace("_", "-")
    return (
        "% needs \\usepackage{array,booktabs}\n\\begin{table}\n\\centering\\footnotesize\\setlength{\\tabcolsep}{3pt}\n"
        "\\renewcommand{\\arraystretch}{1.4}\n"
        f"{body}\\caption{{{_escaped(_caption(table))}}}\n\\label{{tab:{label}}}\n\\end{{table}}\n"
    )


FORMATS: dict[str, tuple[str, Callable[[PaperTable], str]]] = {
    "latex": (".tex", as_latex),
    "markdown": (".md", as_markdown),
    "csv": (".csv", as_csv),
}
"""Suffix and writer of each format."""


def _caption(table: PaperTable) -> str:
    counts = sorted({entry.n for entry in table.entries})
    n = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    methods = "; ".join(sorted({entry.method for entry in table.entries if entry.low is not None}))
    parsers = ", ".join(sorted({entry.parser for entry in table.entries}))
    parts = [f"{table.caption}.", f"n = {n}; parser: {parsers}."]
    parts += [f"Intervals: {methods}."] if methods else []
    parts += [f"{_DAGGER} differs from this run."] if any(entry.verdict == DIFFERS for entry in table.entries) else []
    return " ".join(parts)


def _with_interval(entry: Entry | None, form: str) -> str:
    """Return the number with its interval; a dash if it is not defined, and nothing if it was not measured."""
    if entry is None:
        return ""
    if entry.value is None:
        return "--"
    numbers = [f"{number:.{entry.decimals}f}" for number in (entry.value, entry.low, entry.high) if number is not None]
    return form.format(*numbers) if len(numbers) == 3 else numbers[0]


def _published(entry: Entry | None) -> str:
    if entry is None or entry.published is None:
        return ""
    return f"{entry.published:.{entry.decimals}f}{_DAGGER if entry.verdict == DIFFERS else ''}"


def _parts(table: PaperTable) -> list[tuple[str, ...]]:
    """Return the columns in as few parts as fit the text's width, of about equal numbers."""
    columns = table.columns
    for count in range(1, len(columns)):
        size = math.ceil(len(columns) / count)
        parts = [columns[start : start + size] for start in range(0, len(columns), size)]
        if all(sum(map(_width, part)) <= _TEXT_WIDTH - _MODEL_WIDTH for part in parts):
            return parts
    return [(column,) for column in columns]


def _width(heading: str) -> int:
    """Return about the width of a column in points."""
    return max(max(map(len, _lines(heading))) * _CHARACTER_WIDTH, _NUMBER_WIDTH) + _COLUMN_SPACE


def _lines(heading: str) -> list[str]:
    """Break a heading between words into lines of at most `_HEAD_LENGTH` characters, as far as its words allow it."""
    lines: list[str] = []
    for word in heading.split():
        if lines and len(lines[-1]) + 1 + len(word) <= _HEAD_LENGTH:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _head(heading: str) -> str:
    lines = r"\\".join(map(_escaped, _lines(heading)))
    return f"\\shortstack[r]{{{lines}}}"


def _breakable(name: str) -> str:
    """Return a name that LaTeX can break after its marks, as names of models have no spaces."""
    return re.sub(r"([/_:.-])", r"\1" + "\0", name).translate(_TO_LATEX).replace("\0", r"\allowbreak{}")


def _escaped(text: str) -> str:
    return text.translate(_TO_LATEX)
