"""Published numbers beside ours: one row per published cell, model of ours and scorer, with a verdict.

| verdict    | means                                                                                            |
|------------|--------------------------------------------------------------------------------------------------|
| reproduced | the printed value, within half a unit of its last place, lies in our interval                     |
| differs    | it does not; the reason gives the difference                                                      |
| parser     | reproduced under the released rule, but not under the robust reading: a number made by a parser   |
| not run    | no model of ours stands for it, or what was run is not the published data; the reason says which  |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from known_unknowns import benchmarks, tables
from known_unknowns.comparison.cells import PERCENT, QUESTIONS, VIEWS, PublishedCell, load
from known_unknowns.comparison.numbers import Numbers
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.records import Metric

if TYPE_CHECKING:
    from known_unknowns.config import Params

REPRODUCED, DIFFERS, PARSER, NOT_RUN = "reproduced", "differs", "parser", "not run"
VERDICTS = (REPRODUCED, DIFFERS, PARSER, NOT_RUN)

OFFICIAL, ROBUST = "official", "robust"
_UNIT = {PERCENT: "points", QUESTIONS: "questions", VIEWS: "views"}
_ROUNDING = 1e-9  # of binary fractions: 72.195 must count as the edge of 72.20


def _text(name: str) -> pa.Field:
    return pa.field(name, pa.string(), nullable=False)


COMPARISON = pa.schema(
    [
        _text("benchmark"),
        _text("table"),  # of the paper, or the log
        _text("row"),  # the model, as published
        _text("column"),  # the table's heading
        _text("variant"),
        _text("category"),
        _text("metric"),  # ours, under the released rule
        pa.field("published", pa.float64(), nullable=False),  # in the unit
        pa.field("published_spread", pa.float64()),  # what stands after its ±
        pa.field("decimals", pa.int64(), nullable=False),  # as printed
        _text("unit"),  # percent, questions or views
        _text("source"),
        _text("note"),
        pa.field("model", pa.string()),  # ours that stands for the row
        _text("scorer"),
        pa.field("our_metric", pa.string()),  # another than `metric` where only the released rule has that one
        pa.field("value", pa.float64()),  # in the unit
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("spread", pa.float64()),  # standard deviation over seeds, ddof = 1
        pa.field("n", pa.int64()),
        pa.field("method", pa.string()),
        _text("verdict"),
        _text("reason"),
    ]
)


@dataclass(frozen=True, slots=True)
class Compared:
    """One row of `COMPARISON`. All numbers are in its unit; ours are None where nothing was run."""

    benchmark: str
    table: str
    row: str
    column: str
    variant: str
    category: str
    metric: str
    published: float
    published_spread: float | None
    decimals: int
    unit: str
    source: str
    note: str
    model: str | None
    scorer: str
    our_metric: str | None
    value: float | None
    low: float | None
    high: float | None
    spread: float | None
    n: int | None
    method: str | None
    verdict: str
    reason: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"{self.verdict!r} is not one of {VERDICTS}")


def compare_cells(
    cells: Iterable[PublishedCell],
    metrics: Iterable[Metric],
    *,
    standing: Mapping[str, str],
    scorers: Sequence[str],
    incomparable: str = "",
) -> list[Compared]:
    """Set published cells beside our metrics.

    ``standing`` maps a model of ours to the published model it stands for. ``incomparable``, where not empty, is
    why nothing of this run may be compared: every verdict is then "not run", for that reason.
    """
    numbers = Numbers(metrics)
    rows: list[Compared] = []
    for cell in cells:
        reading = scorers if cell.scorer is None else [cell.scorer]
        models = [] if incomparable else [model for model, stands in standing.items() if stands == cell.model]
        if not models:
            reason = incomparable or f"no model of this run stands for {cell.model}"
            rows += [_not_run(cell, None, scorer, reason) for scorer in reading]
        for model in models:
            rows += _judge_parser(_beside(cell, model, scorer, numbers) for scorer in reading)
    return rows


def _beside(cell: PublishedCell, model: str, scorer: str, numbers: Numbers) -> Compared:
    name = (
        cell.metric
        if scorer == OFFICIAL
        else benchmarks.get(cell.benchmark).official_only_metrics.get(cell.metric, cell.metric)
    )
    ours = numbers.get(model, cell.benchmark, cell.variant, scorer, name, cell.category)
    if ours is None:
        return _not_run(
            cell, model, scorer, f"{name} of {cell.variant} was not measured under this reading for {model}"
        )
    if ours.value is None or ours.low is None or ours.high is None:
        return _not_run(cell, model, scorer, f"{name} is undefined for {model} under this reading")
    if cell.n is not None and ours.n != cell.n:
        return _not_run(cell, model, scorer, f"published of {cell.n:,} questions, ours are {ours.n:,}: never compared")
    unit = 100 if cell.unit == PERCENT else 1
    value, low, high = unit * ours.value, unit * ours.low, unit * ours.high
    slack = cell.half_unit + _ROUNDING
    within = low - slack <= cell.value <= high + slack
    found = f"{value:.1f} [{low:.1f}, {high:.1f}]"
    reason = (
        f"{cell.printed} lies in {found}"
        if within
        else f"{found} is {value - cell.value:+.1f} {_UNIT[cell.unit]} from {cell.printed}"
    )
    return replace(
        _not_run(cell, model, scorer, reason),
        our_metric=name,
        value=value,
        low=low,
        high=high,
        spread=None if ours.spread is None else unit * ours.spread,
        n=ours.n,
        method=ours.method,
        verdict=REPRODUCED if within else DIFFERS,
    )


def _judge_parser(readings: Iterable[Compared]) -> Iterator[Compared]:
    """Turn "reproduced" under the released rule into "parser" where the robust reading of the same replies differs."""
    rows = {row.scorer: row for row in readings}
    official, robust = rows.get(OFFICIAL), rows.get(ROBUST)
    if official and robust and official.verdict == REPRODUCED and robust.verdict == DIFFERS:
        reason = f"{official.reason} as the released code reads the replies, but a robust reading of them gives "
        reason += f"{robust.value:.1f} [{robust.low:.1f}, {robust.high:.1f}]"
        rows[OFFICIAL] = replace(official, verdict=PARSER, reason=reason)
    yield from rows.values()


def _not_run(cell: PublishedCell, model: str | None, scorer: str, reason: str) -> Compared:
    return Compared(
        **{name: getattr(cell, name) for name in ("benchmark", "table", "row", "column", "variant")},
        **{name: getattr(cell, name) for name in ("category", "metric", "decimals", "unit", "source", "note")},
        published=cell.value,
        published_spread=cell.spread,
        model=model,
        scorer=scorer,
        our_metric=None,
        value=None,
        low=None,
        high=None,
        spread=None,
        n=None,
        method=None,
        verdict=NOT_RUN,
        reason=reason,
    )


def compare(params: Params, metrics: Sequence[Path], out: Path) -> None:
    """Write the comparison of every benchmark of the edition to ``out`` (`COMPARISON`).

    A model stands for a published row when its entry has ``published: <row>`` or ``published: {<benchmark>: <row>}``.
    Raises ConfigError for a row that no benchmark of the edition publishes.
    """
    measured = [metric for path in metrics for metric in tables.read_metrics(path)]
    published = {benchmark: load(benchmark) for benchmark in params.benchmarks}
    _check_rows(params, published)
    rows = [
        row
        for benchmark, cells in published.items()
        for row in compare_cells(
            cells,
            measured,
            standing=_standing(params, benchmark),
            scorers=params.scorers,
            incomparable=_incomparable(params, benchmark),
        )
    ]
    write_comparison(out, rows)


def _standing(params: Params, benchmark: str) -> dict[str, str]:
    """Each model of the edition that stands for a row of the benchmark's tables, and that row."""
    rows = {model: params.published(model, benchmark) for model in params.models}
    return {model: row for model, row in rows.items() if row is not None}


def _check_rows(params: Params, published: Mapping[str, Sequence[PublishedCell]]) -> None:
    """Every row that a model stands for is published: by the benchmark that its entry names, or else by any of them."""
    rows = {benchmark: {cell.model for cell in cells} for benchmark, cells in published.items()}
    for model in params.models:
        named = params.model(model).get("published")
        claims = named if isinstance(named, Mapping) else {} if named is None else {"": named}
        for benchmark, row in claims.items():
            if benchmark and benchmark not in params.raw["benchmarks"]:
                reason = unknown_name(benchmark, params.raw["benchmarks"])
                raise ConfigError(reason, path=f"models.{model}.published")
            among = rows.get(benchmark, set()) if benchmark else set().union(*rows.values())
            if row not in among and (not benchmark or benchmark in rows):
                path = f"models.{model}.published" + (f".{benchmark}" if benchmark else "")
                raise ConfigError(unknown_name(row, among), path=path)


def _incomparable(params: Params, benchmark: str) -> str:
    """Why this edition's data are not the published ones; empty when they are."""
    if params.data(benchmark).source == "scenes":
        return f"the {params.edition} edition asks rendered questions, not the published ones: never compared"
    return ""


def write_comparison(path: str | Path, rows: Iterable[Compared]) -> None:
    """Write a comparison table atomically; the same rows give the same bytes."""
    table = pa.Table.from_pylist([asdict(row) for row in rows], schema=COMPARISON)
    with tables.atomic_path(path) as partial:
        pq.write_table(table, partial, compression="zstd")


def read_comparison(path: str | Path) -> list[Compared]:
    """Read a comparison table. Raises DataError when it is not one."""
    path = Path(path)
    if not path.is_file():
        raise DataError("no such file", file=path)
    try:
        table = pq.read_table(path).select(COMPARISON.names).cast(COMPARISON)
        return [Compared(**row) for row in table.to_pylist()]
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise DataError(f"not a table of comparisons ({error}); delete it and run again", file=path) from error
