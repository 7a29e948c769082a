"""Compare published numbers with those of this run, and give each a verdict.

| verdict    | meaning                                                                                           |
|------------|---------------------------------------------------------------------------------------------------|
| reproduced | the printed value, within half a unit of its last place, lies in our interval                     |
| differs    | it does not; the reason gives the difference                                                      |
| parser     | reproduced under the official parser, but not under the robust parser of the same replies         |
| not run    | no model of this run corresponds to it, or the data are not the published ones; see the reason    |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from known_unknowns import benchmarks, tables
from known_unknowns.comparison.cells import PERCENT, QUESTIONS, VIEWS, PublishedCell, load
from known_unknowns.comparison.metric_index import MetricIndex
from known_unknowns.comparison.rows import DIFFERS, NOT_RUN, PARSER, REPRODUCED, ComparisonRow, write_comparison
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.records import Metric

if TYPE_CHECKING:
    from known_unknowns.config import Params

OFFICIAL, ROBUST = "official", "robust"
_UNIT = {PERCENT: "points", QUESTIONS: "questions", VIEWS: "views"}
_ROUNDING = 1e-9  # binary fractions: 72.195 must count as the edge of 72.20


def compare_cells(
    cells: Iterable[PublishedCell],
    metrics: Iterable[Metric],
    *,
    published_rows: Mapping[str, str],
    scorers: Sequence[str],
    incomparable: str = "",
) -> list[ComparisonRow]:
    """Compare published cells with the metrics of this run.

    Parameters
    ----------
    cells : iterable of PublishedCell
        The published cells of one benchmark.
    metrics : iterable of Metric
        The metrics of this run.
    published_rows : mapping of str to str
        The published row that a model of this run corresponds to, by the model's name.
    scorers : sequence of str
        The scorers of this run.
    incomparable : str
        The reason why no number of this run is comparable, if there is one. Every verdict is then "not run".

    Returns
    -------
    list of ComparisonRow
        One row per cell, corresponding model and scorer. A cell without a corresponding model has one row per scorer.
    """
    index = MetricIndex(metrics)
    rows: list[ComparisonRow] = []
    for cell in cells:
        applicable = scorers if cell.scorer is None else [cell.scorer]
        models = [] if incomparable else [model for model, row in published_rows.items() if row == cell.model]
        if not models:
            reason = incomparable or f"no model of this run stands for {cell.model}"
            rows += [_not_run(cell, None, scorer, reason) for scorer in applicable]
        for model in models:
            rows += _mark_parser_verdicts(_compare_cell(cell, model, scorer, index) for scorer in applicable)
    return rows


def _compare_cell(cell: PublishedCell, model: str, scorer: str, index: MetricIndex) -> ComparisonRow:
    name = (
        cell.metric
        if scorer == OFFICIAL
        else benchmarks.get(cell.benchmark).official_only_metrics.get(cell.metric, cell.metric)
    )
    ours = index.get(model, cell.benchmark, cell.variant, scorer, name, cell.category)
    if ours is None:
        return _not_run(cell, model, scorer, f"{name} of {cell.variant} was not measured under this parser for {model}")
    if ours.value is None or ours.low is None or ours.high is None:
        return _not_run(cell, model, scorer, f"{name} is undefined for {model} under this parser")
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


def _mark_parser_verdicts(rows: Iterable[ComparisonRow]) -> Iterator[ComparisonRow]:
    """Replace "reproduced" under the official parser by "parser" if the robust parser of the same replies differs."""
    by_scorer = {row.scorer: row for row in rows}
    official, robust = by_scorer.get(OFFICIAL), by_scorer.get(ROBUST)
    if official and robust and official.verdict == REPRODUCED and robust.verdict == DIFFERS:
        reason = f"{official.reason} under the official parser, but the robust parser of the same replies gives "
        reason += f"{robust.value:.1f} [{robust.low:.1f}, {robust.high:.1f}]"
        by_scorer[OFFICIAL] = replace(official, verdict=PARSER, reason=reason)
    yield from by_scorer.values()


def _not_run(cell: PublishedCell, model: str | None, scorer: str, reason: str) -> ComparisonRow:
    return ComparisonRow(
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
    """Compare every benchmark of the edition and write the table to ``out`` (`COMPARISON`).

    A model corresponds to a published row if its entry has ``published: <row>`` or
    ``published: {<benchmark>: <row>}``.

    Parameters
    ----------
    params : Params
        The configuration.
    metrics : sequence of Path
        The tables of metrics.
    out : Path
        The table to write.

    Raises
    ------
    ConfigError
        If a model's row is not published by any benchmark of the edition.
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
            published_rows=_published_rows(params, benchmark),
            scorers=params.scorers,
            incomparable=_incomparable(params, benchmark),
        )
    ]
    write_comparison(out, rows)


def _published_rows(params: Params, benchmark: str) -> dict[str, str]:
    """Return the published row of each model of the edition that has one."""
    rows = {model: params.published(model, benchmark) for model in params.models}
    return {model: row for model, row in rows.items() if row is not None}


def _check_rows(params: Params, published: Mapping[str, Sequence[PublishedCell]]) -> None:
    """Raise ConfigError unless each model's row is published by the benchmark it names, or else by any benchmark."""
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
    """Return why this edition's questions are not the published ones; empty if they are."""
    if params.data(benchmark).source == "scenes":
        return f"the {params.edition} edition asks rendered questions, not the published ones: never compared"
    return ""
