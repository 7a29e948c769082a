"""The format of numbers: 72.2 [67.0, 77.4], n = 300, in percent with one decimal. An undefined number is a dash."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from known_unknowns.metrics.confidence import HIGH_BOUND, LOW_BOUND
from known_unknowns.records import Definition, Metric

DASH = "–"
_VISIBLE = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
SIGNED = frozenset({"above_chance", "difference", "overconfidence", "selective_gain"})


def printable(text: str) -> str:
    """Replace control characters, which HTML cannot contain or hides, by their visible symbols (␀, ␛)."""
    return text.translate(_VISIBLE)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 model", "1,200 models"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number line from 0 to 100 with the interval as a band, the value as a dot and chance as a tick."""

    value: float
    low: float | None
    high: float | None
    chance: float | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    ``n`` is the number of questions, and ``denominator`` the text of a ratio's denominator if that is another number.
    ``title`` is shown on hovering, ``note`` is small print, ``mark`` refers to a footnote, and ``link`` is an address.
    ``links`` are parts of the text, in their order, each with an address of its own.
    """

    text: str
    interval: str = ""
    n: int | None = None
    gauge: Gauge | None = None
    title: str = ""
    kind: str = "number"
    note: str = ""
    mark: str = ""
    denominator: str = ""
    link: str = ""
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Head:
    """A heading of a column or a row; ``note`` is small print under it, ``mark`` refers to a footnote.

    ``verbatim`` keeps the first letter of a column's heading, such as that of a model's name. ``definition`` is the
    title of a column's heading.
    """

    text: str
    span: int = 1
    note: str = ""
    mark: str = ""
    repeated: bool = False
    verbatim: bool = False
    definition: Definition | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table. One without cells is a heading over the rows below it. ``kind`` is a class of style.css."""

    heads: tuple[Head, ...]
    cells: tuple[Cell, ...]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """``groups`` is a row of headings above ``columns``; ``corner`` heads the row headings."""

    caption: str
    corner: tuple[Head, ...]
    columns: tuple[Head, ...]
    rows: tuple[Row, ...]
    groups: tuple[Head, ...] = ()
    foot: tuple[Row, ...] = ()

    @property
    def full_rows(self) -> tuple[Row, ...]:
        """The rows. Their headings that the row above has too are marked, except the last one."""
        above: list[str] = []
        found = []
        for row in self.rows:
            texts = [head.text for head in row.heads]
            equal = [texts[: place + 1] == above[: place + 1] for place in range(len(texts) - 1)]
            heads = (replace(head, repeated=same) for head, same in zip(row.heads, [*equal, False], strict=True))
            found.append(replace(row, heads=tuple(heads)))
            above = texts
        return tuple(found)


def make_table(
    caption: str,
    corner: str | Head | Sequence[str | Head],
    columns: Iterable[str | Head],
    rows: Iterable[Row],
    *,
    groups: Iterable[Head] = (),
    foot: Iterable[Row] = (),
    moves_n: bool = False,
) -> Table:
    """Return a table; with ``moves_n``, n is in the heading of each column whose cells share it."""
    heads, body = tuple(map(_head, columns)), tuple(rows)
    if moves_n:
        heads, body = move_n_to_heading(heads, body)
    corner = (corner,) if isinstance(corner, str | Head) else corner
    return Table(caption, tuple(map(_head, corner)), heads, body, tuple(groups), tuple(foot))


def make_row(
    heads: str | Head | Sequence[str | Head], cells: Iterable[Cell | Metric | str | int | None], kind: str = ""
) -> Row:
    """Return a row of cells, of metrics (None is "not measured"), of texts and of counts."""
    heads = (heads,) if isinstance(heads, str | Head) else heads
    return Row(tuple(map(_head, heads)), tuple(map(_cell, cells)), kind)


def banded(rows: Iterable[tuple[str, Row]]) -> list[Row]:
    """Return rows under a heading for each adjacent group."""
    found = []
    for name, members in groupby(rows, key=lambda pair: pair[0]):
        found.append(make_row(name, ()))
        found += [row for _, row in members]
    return found


def _head(value: str | Head) -> Head:
    return value if isinstance(value, Head) else Head(value)


def _cell(value: Cell | Metric | str | int | None) -> Cell:
    if isinstance(value, Cell):
        return value
    if isinstance(value, str):
        return Cell(value, kind="text")
    return Cell(f"{value:,}") if isinstance(value, int) else metric_cell(value)


def sentence_case(text: str) -> str:
    """Return a heading with a capital, unless it starts with a symbol or a name, such as n, score_sa or mPLUG."""
    first = text.partition(" ")[0].rstrip(",")
    is_word = len(first.partition("-")[0]) > 1 and first.replace("-", "").isalpha() and first.islower()
    return text[:1].upper() + text[1:] if is_word else text


def unbroken(text: str) -> str:
    """Return a text whose n = 300 and p < 0.01 are not broken over two lines."""
    return re.sub(r"\b([np]) ([=<]) (?=\d)", "\\1\N{NO-BREAK SPACE}\\2\N{NO-BREAK SPACE}", text)


def mark_baselines(table: Table, names: Collection[str]) -> Table:
    """Return the table with the rows of the scripted baselines greyed."""
    if table.corner[0].text != "Model":
        return table
    rows = (replace(row, kind="baseline") if row.heads[0].text in names else row for row in table.rows)
    return replace(table, rows=tuple(rows))


def percent(value: float | None, *, signed: bool = False) -> str:
    """A share of 1 as a percentage with one decimal; a dash when undefined."""
    if value is None:
        return DASH
    rounded = round(100 * value, 1) + 0.0  # -0.0 becomes 0.0
    return f"{rounded:{'+' if signed else ''}.1f}"


def interval(low: float | None, high: float | None, *, signed: bool = False) -> str:
    """Format an interval in percent: "[67.0, 77.4]"; "" without bounds."""
    if low is None or high is None:
        return ""
    return f"[{percent(low, signed=signed)}, {percent(high, signed=signed)}]"


def denominator(metric: Metric) -> str:
    """The denominator of a ratio, as text; empty where it is the number of questions."""
    if metric.denominator is None or metric.denominator == metric.n:
        return ""
    return "denominator " + f"{metric.denominator:,.1f}".removesuffix(".0")


def _is_signed(metric: Metric) -> bool:
    """Whether a number is written with its sign."""
    name = metric.name.partition(".")[0]
    return name.removesuffix(LOW_BOUND).removesuffix(HIGH_BOUND) in SIGNED


def metric_cell(metric: Metric | None, *, chance: Metric | None = None, gauge: bool = False) -> Cell:
    """The cell of a metric. Not measured and undefined are both a dash; the title says which."""
    if metric is None:
        return Cell(DASH, title="not measured")
    if metric.value is None:
        return Cell(DASH, n=metric.n, title=metric.method)
    signed = _is_signed(metric)
    title = metric.method
    if metric.spread is not None:
        title += f"; standard deviation over seeds {100 * metric.spread:.1f}"
    drawn = None
    if gauge:
        line = None if chance is None or chance.value is None else 100 * chance.value
        low, high = (None if bound is None else 100 * bound for bound in (metric.low, metric.high))
        drawn = Gauge(100 * metric.value, low, high, line)
    return Cell(
        percent(metric.value, signed=signed),
        interval(metric.low, metric.high),
        metric.n,
        drawn,
        title,
        denominator=denominator(metric),
    )


def bounds_cell(low: Metric | None, high: Metric | None) -> Cell:
    """Return the cell of two bounds of a number: "95.2 to 99.3"; one number if they are equal.

    The interval is from the lower end of that of the lower bound to the upper end of that of the upper one.
    """
    if low is None or high is None or low.value is None or high.value is None:
        return metric_cell(low if high is None or high.value is not None else high)
    signed = _is_signed(low)
    texts = [percent(metric.value, signed=signed) for metric in (low, high)]
    text = " to ".join(dict.fromkeys(texts))
    return Cell(text, interval(low.low, high.high), low.n, title=low.method)


def move_n_to_heading(columns: Iterable[Head], rows: Iterable[Row]) -> tuple[tuple[Head, ...], tuple[Row, ...]]:
    """Move n from the cells into the column's heading wherever all cells with a number have the same.

    A denominator that all cells with an n share moves with it. A published number has no n, and not that of ours.
    """
    columns, rows = list(columns), list(rows)
    for index, column in enumerate(columns):
        cells = [row.cells[index] for row in rows if row.cells and row.cells[index].text != DASH]
        counted = [row.cells[index] for row in rows if row.cells and row.cells[index].n is not None]
        if len({cell.n for cell in counted}) == 1 and all(cell.n is not None for cell in cells):
            shared = {cell.denominator for cell in counted}
            denominator = shared.pop() if len(shared) == 1 else ""
            note = ", ".join(filter(None, [f"n = {counted[0].n:,}", denominator]))
            columns[index] = replace(column, note=note)
            rows = [_without_n(row, index, denominator) for row in rows]
    return tuple(columns), tuple(rows)


def move_n_to_column(table: Table) -> Table:
    """Move n from the cells into a first column, if any cell has it and all cells of each row have the same."""
    counts = [{cell.n for cell in row.cells} - {None} for row in table.rows]
    if not any(counts) or any(len(of_row) > 1 for of_row in counts):
        return table
    rows = [
        replace(row, cells=(Cell("".join(f"{n:,}" for n in of_row) or DASH, kind="plain"), *_without_counts(row)))
        for row, of_row in zip(table.rows, counts, strict=True)
    ]
    return replace(table, columns=(Head("n"), *table.columns), rows=tuple(rows))


def _without_counts(row: Row) -> Iterable[Cell]:
    return (replace(cell, n=None) for cell in row.cells)


def _without_n(row: Row, index: int, denominator: str) -> Row:
    if not row.cells:
        return row
    cells = list(row.cells)
    kept = "" if cells[index].denominator == denominator else cells[index].denominator
    cells[index] = replace(cells[index], n=None, denominator=kept)
    return replace(row, cells=tuple(cells))
