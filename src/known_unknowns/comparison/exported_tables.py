"""Tables for a paper: the headline numbers of a run, and each table of a benchmark's papers with the models of the run.

A table of a paper has the models that were measured in one of its columns, and above a model the published row that it
stands for. A number with the verdict `DIFFERS` has a dagger. LaTeX needs the packages array and booktabs; columns that
do not fit beside each other stand in parts below each other.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.caveats import title
from known_unknowns.benchmark.layout import Layout, read_layouts
from known_unknowns.benchmark.published import PERCENT
from known_unknowns.comparison.compare import read_comparison
from known_unknowns.comparison.paper_tables import BASELINE, MODEL, PUBLISHED, PaperTable, TableRow, paper_tables
from known_unknowns.comparison.published import load
from known_unknowns.comparison.verdicts import DIFFERS
from known_unknowns.errors import DataError
from known_unknowns.files.csv_cells import escape_cell
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.metrics.run import Run
from known_unknowns.metrics.summary import headline_of, lookup_in
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
_TO_DAGGER = {ord(_DAGGER): _SPECIAL[_DAGGER]}


CSV_COLUMNS = (
    *("row", "column", "metric", "variant", "category", "parser", "value", "low", "high", "n", "method"),
    *("published", "verdict"),
)
"""Values and intervals are in percent, or in the unit of the paper's column."""


def of_run(params: Params, results: Path) -> Iterator[PaperTable]:
    """Yield every table of a finished run, whose folder of results is given."""
    comparison = results / "comparison.parquet"
    if not comparison.is_file():
        raise DataError(f"no results here yet; run  {run_command(params.edition)}  first", file=comparison)
    compared = read_comparison(comparison)
    for benchmark in params.benchmarks:
        files = [results / "metrics" / model / benchmark / "metrics.parquet" for model in params.models]
        numbers = MetricIndex(metric for file in files if file.is_file() for metric in tables.read_metrics(file))
        declared, heading = registry.get(benchmark), title(params, benchmark)
        run = Run.of(params, numbers, benchmark, declared.section())
        yield headline_table(run, heading)
        judged = [row for row in compared if row.benchmark == benchmark]
        for table in paper_tables(run, read_layouts(declared.folder), load(benchmark), judged):
            if metrics_of(table):
                yield named(table, benchmark, heading)


def headline_table(run: Run, heading: str) -> PaperTable:
    """Return the table of the headline numbers of a benchmark."""
    rows = []
    for model in run.models:
        measured = (metric for metric in run.numbers if metric.model == model and metric.category == OVERALL)
        values = headline_of(run.params, run.benchmark, lookup_in(measured))
        metrics = {value.number.label: value.metric for value in values}
        rows.append(TableRow(model, BASELINE if model in run.baselines else MODEL, metrics=metrics))
    rows = [row for row in rows if row.is_measured]
    columns = dict.fromkeys(column for row in rows for column in row.metrics)
    layout = Layout(f"{heading}: headline numbers in percent")
    return PaperTable(f"{run.benchmark}_headline", layout, tuple(columns), tuple(rows))


def named(table: PaperTable, benchmark: str, heading: str) -> PaperTable:
    """Return a paper's table with the name of its file, without a suffix, and its caption."""
    name = re.sub(r"\W+", "_", f"{benchmark} {table.name}".lower())
    caption = f"{heading}: {table.layout.title}, with the models of this run"
    return replace(table, name=name, layout=replace(table.layout, title=caption))


def metrics_of(table: PaperTable) -> list[Metric]:
    """Return the numbers of this run in a table."""
    return [metric for row in table.rows for metric in row.metrics.values()]


def as_csv(table: PaperTable) -> str:
    """Return a line for each number of this run, with its interval, n, method, published number and verdict."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for row in table.rows:
        for column, metric in row.metrics.items():
            verdict = row.verdicts.get(column)
            place = (_name(row), column, metric.name, metric.variant, metric.category, metric.parser)
            judged = (None, "") if verdict is None else (verdict.published, verdict.verdict)
            writer.writerow(map(escape_cell, (*place, *_in_unit(row, column), metric.n, metric.method, *judged)))
    return text.getvalue()


def as_markdown(table: PaperTable) -> str:
    """Return the table with intervals in brackets, and its caption."""
    lines = [["model", *table.columns], ["---", *("---:" for _ in table.columns)]]
    for above, row in _rows(table):
        if _begins_baselines(above, row):
            lines.append(["*baselines*", *("" for _ in table.columns)])
        numbers = [_number(row, column, "{} [{}, {}]") for column in table.columns]
        lines.append([re.sub("([|<])", r"\\\1", _name(row)), *numbers])
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"{text}\n{_caption(table)}\n"


def as_latex(table: PaperTable) -> str:
    """Return a table of LaTeX. The bounds of an interval stand below and above its number."""
    parts = []
    for columns in _parts(table):
        head = " & ".join(["", *map(_head, columns)])
        lines = []
        for above, row in _rows(table):
            rule = "\\midrule\n" if _begins_baselines(above, row) else ""
            numbers = (_number(row, column, "${}_{{{}}}^{{{}}}$").translate(_TO_DAGGER) for column in columns)
            lines.append(rule + " & ".join([_breakable(_name(row)), *numbers]))
        body = "".join(f"{line} \\\\\n" for line in lines)
        shape = f"p{{{_MODEL_WIDTH}pt}}{'r' * len(columns)}"
        rules = f"\\toprule\n{head} \\\\\n\\midrule\n{body}\\bottomrule\n"
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
    metrics = metrics_of(table)
    counts = sorted({metric.n for metric in metrics})
    n = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    methods = "; ".join(sorted({metric.method for metric in metrics if metric.low is not None}))
    parsers = ", ".join(sorted({metric.parser for metric in metrics}))
    differs = any(verdict.verdict == DIFFERS for row in table.rows for verdict in row.verdicts.values())
    parts = [f"{table.layout.title}.", f"n = {n}; parser: {parsers}."]
    parts += [f"Intervals: {methods}."] if methods else []
    parts += [f"{_DAGGER} differs from the published number."] if differs else []
    return " ".join(parts)


def _rows(table: PaperTable) -> Iterable[tuple[TableRow | None, TableRow]]:
    """Return the rows of this run and the published rows that they are compared with, each with the one above it."""
    compared = [row.cells for row in table.rows if row.verdicts]
    rows = [row for row in table.rows if row.kind != PUBLISHED or row.cells in compared]
    return zip([None, *rows], rows, strict=False)


def _begins_baselines(above: TableRow | None, row: TableRow) -> bool:
    """Return whether there is a rule above a row."""
    return above is not None and above.kind != BASELINE and row.kind == BASELINE


def _name(row: TableRow) -> str:
    remark = "published" if row.kind == PUBLISHED else row.condition
    return f"{row.name}, {remark}" if remark else row.name


def _in_unit(row: TableRow, column: str) -> list[float | None]:
    """Return a number of this run and the bounds of its interval, in percent or in the unit of the paper's column."""
    cell, metric = row.cells.get(column), row.metrics[column]
    scale = 100 if cell is None or cell.unit == PERCENT else 1
    return [None if number is None else scale * number for number in (metric.value, metric.low, metric.high)]


def _number(row: TableRow, column: str, form: str) -> str:
    """Return a number, of this run with its interval; a dash if it is not defined, and nothing if there is none."""
    cell = row.cells.get(column)
    if row.kind == PUBLISHED:
        return "" if cell is None else cell.printed
    if column not in row.metrics:
        return ""
    values = [number for number in _in_unit(row, column) if number is not None]
    if not values:
        return "--"
    decimals = 1 if cell is None else cell.decimals
    if cell is not None and cell.unit == PERCENT:
        decimals = min(decimals, 1)
    numbers = [f"{number:.{decimals}f}" for number in values]
    text = form.format(*numbers) if len(numbers) == 3 else numbers[0]
    verdict = row.verdicts.get(column)
    return text + _DAGGER if verdict is not None and verdict.verdict == DIFFERS else text


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
