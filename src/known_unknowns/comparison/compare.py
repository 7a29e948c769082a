"""Compare published numbers with those of this run. `known_unknowns.comparison.verdicts` decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import PERCENT, PublishedCell
from known_unknowns.comparison import conditions as condition
from known_unknowns.comparison.conditions import Conditions, conditions_of, published_number
from known_unknowns.comparison.margins import Flips, margin_of, read_flips
from known_unknowns.comparison.published import load, read_released
from known_unknowns.comparison.verdicts import (
    INCONCLUSIVE,
    NOT_COMPARABLE,
    NOT_RUN,
    PARSER,
    VERDICTS,
    Candidate,
    decide,
    depends_on_parser,
    support_of,
)
from known_unknowns.config.models import RespondentModel
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.metrics.design_effect import finite_population_correction
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.records import Metric
from known_unknowns.tables.confidence_sources import FOLLOWS, left_out_text

if TYPE_CHECKING:
    from known_unknowns.config import Params

OFFICIAL, ROBUST = "official", "robust"
_FROM_CELL = ["benchmark", "table", "row", "column", "variant", "category", "metric", "decimals", "unit", "source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """A published cell beside a model of this run under one parser, a row of comparison.parquet.

    Numbers are in the unit of the cell. Those of this run are None if nothing was measured.
    """

    benchmark: str
    table: str  # of the paper, or the log
    row: str  # the model, as published
    column: str  # the table's heading
    variant: str
    category: str
    metric: str  # of this run, under the official parser
    published: float
    published_spread: float | None  # the number after its ±
    decimals: int  # as printed
    unit: str  # percent, questions or views
    source: str
    note: str
    model: str | None  # of this run that corresponds to the row
    parser: str
    our_metric: str | None = None  # differs from `metric` if only the official parser has that one
    value: float | None = None
    low: float | None = None
    high: float | None = None
    spread: float | None = None  # standard deviation over seeds, ddof = 1
    n: int | None = None
    method: str | None = None
    verdict: str
    reason: str
    published_row: str | None = None  # one name for a model that tables name in several ways
    published_n: int | None = None  # number of questions
    published_revision: str | None = None  # of the data: a commit, or a name in published.yaml
    revision: str | None = None  # the commit of our data
    margin: float | None = None  # of "reproduced": the sum of the three parts
    margin_rounding: float | None = None
    margin_flips: float | None = None
    margin_spread: float | None = None
    flip_rate: float | None = None  # upper bound of the share of questions with a changed answer
    flips_source: str | None = None
    matches: int | None = None  # other rows of the column that the same result would have matched
    rivals: int | None = None  # number of these rows
    supporting: int | None = None  # numbers of the same replies within their margins
    supporting_of: int | None = None  # number of these numbers
    obstacle: str | None = None  # why there is no judgement: one of `conditions.OBSTACLES`

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"{self.verdict!r} is not one of {VERDICTS}")


def write_comparison(path: str | Path, rows: Iterable[ComparisonRow]) -> None:
    """Write a comparison table atomically; the same rows give the same bytes."""
    tables.write_dataclasses(path, rows, ComparisonRow)


def read_comparison(path: str | Path) -> list[ComparisonRow]:
    """Read a comparison table. DataError if the file is absent or is not one."""
    return tables.read_dataclasses(path, ComparisonRow, "a table of comparisons")


def compare_cells(
    cells: Iterable[PublishedCell],
    metrics: Iterable[Metric],
    *,
    published_rows: Mapping[str, str],
    parsers: Sequence[str],
    conditions: Conditions | None = None,
) -> list[ComparisonRow]:
    """Compare the published cells of one benchmark with the metrics of this run.

    ``published_rows`` has the published row that a model of this run corresponds to, by the model's name. Without
    ``conditions``, data and protocols are as published, and no flips were measured.

    Returns
    -------
    list of ComparisonRow
        One row per cell, corresponding model and parser. A cell without a corresponding model has one row per parser.
    """
    cells = list(cells)
    comparison = _Comparison(cells, MetricIndex(metrics), parsers, conditions or Conditions())
    judged = {
        (model, parser): comparison.judge(model, row, parser)
        for model, row in published_rows.items()
        for parser in dict.fromkeys([*parsers, *(cell.parser for cell in cells if cell.parser)])
    }
    rows: list[ComparisonRow] = []
    for place, cell in enumerate(cells):
        models = [model for model, row in published_rows.items() if row == cell.model]
        if not models or comparison.conditions.other_questions:
            rows += [comparison.without_model(cell, parser) for parser in comparison.parsers_of(cell)]
            continue
        for model in models:
            rows += _mark_parser_verdicts(judged[model, parser][place] for parser in comparison.parsers_of(cell))
    return rows


class _Comparison:
    """Published cells of one benchmark beside the metrics of this run."""

    def __init__(
        self, cells: Sequence[PublishedCell], index: MetricIndex, parsers: Sequence[str], conditions: Conditions
    ) -> None:
        self.cells, self.index, self.parsers, self.conditions = cells, index, parsers, conditions
        self._counts = condition.published_counts(cells)
        self._columns: dict[tuple[str, str], list[PublishedCell]] = {}
        for cell in cells:
            self._columns.setdefault((cell.table, cell.column), []).append(cell)
        self._our_counts = cache(index.question_counts)

    def parsers_of(self, cell: PublishedCell) -> Sequence[str]:
        return self.parsers if cell.parser is None else [cell.parser]

    def without_model(self, cell: PublishedCell, parser: str) -> ComparisonRow:
        if reason := self.conditions.other_questions:
            return self._row(cell, None, parser, NOT_COMPARABLE, reason, condition.QUESTIONS)
        return self._row(cell, None, parser, NOT_RUN, f"no model of this run stands for {cell.model}", condition.MODEL)

    def judge(self, model: str, row: str, parser: str) -> dict[int, ComparisonRow]:
        """Return the rows of a model that corresponds to a published row, by the place of the cell."""
        rows, candidates = {}, {}
        for place, cell in enumerate(self.cells):
            if cell.model == row and parser in self.parsers_of(cell):
                rows[place], candidate = self._measured(cell, model, parser)
                if candidate is not None:
                    candidates[place] = candidate
        support = support_of(candidates.values())
        for place, candidate in candidates.items():
            decision = decide(candidate, support[candidate.replies])
            rows[place] = replace(
                rows[place],
                verdict=decision.verdict,
                reason=decision.reason,
                matches=decision.matches,
                rivals=decision.rivals,
                supporting=decision.support.agreeing,
                supporting_of=decision.support.judged,
            )
        return rows

    def _measured(self, cell: PublishedCell, model: str, parser: str) -> tuple[ComparisonRow, Candidate | None]:
        """Return the row of a cell with our number, and the candidate for a verdict unless there is an obstacle."""
        name = cell.metric
        if parser != OFFICIAL:
            name = registry.get(cell.benchmark).official_only_metrics.get(name, name)
        ours = self.index.get(model, cell.benchmark, cell.variant, parser, name, cell.category)
        own, counts = self._our_counts(model, cell.benchmark, cell.variant), self._counts.get(cell.revision, {})
        if ours is None:
            reason = f"{name} of {cell.variant} was not measured under this parser for {model}"
            return self._row(cell, model, parser, NOT_RUN, reason, condition.METRIC if own else condition.VARIANT), None
        unit = 100 if cell.unit == PERCENT else 1
        numbers = {key: getattr(ours, key) for key in ("value", "low", "high", "spread")}
        shown: dict[str, Any] = {key: None if value is None else unit * value for key, value in numbers.items()}
        shown |= {"our_metric": ours.name, "n": ours.n, "method": ours.method}
        differing = condition.difference(cell, ours, self.conditions, own, counts)
        if differing is not None:
            obstacle, reason = differing
            return replace(self._row(cell, model, parser, NOT_COMPARABLE, reason, obstacle), **shown), None
        if ours.value is None or ours.low is None or ours.high is None:
            reason = f"{name} is undefined for {model} under this parser"
            return self._row(cell, model, parser, NOT_RUN, reason, condition.METRIC), None
        whole = condition.sampled_from(cell, self.conditions, own, counts)
        if whole is not None:  # the interval is that of the number of all questions
            factor = finite_population_correction(ours.n, whole)
            shown |= {end: shown["value"] + factor * (shown[end] - shown["value"]) for end in ("low", "high")}
        flips, turns = self.conditions.flips.get(model, Flips()), self.conditions.turns(model, cell.variant)
        margin = margin_of(cell, ours, flips=flips, runs=self.index.runs(ours), turns=turns)
        judged = self._row(cell, model, parser, INCONCLUSIVE, "", None)
        row = replace(
            judged,
            **shown,
            note=" ".join(filter(None, (judged.note, self._left_out(ours)))),
            margin=margin.total,
            margin_rounding=margin.rounding,
            margin_flips=margin.flips,
            margin_spread=margin.spread,
            flip_rate=flips.rate(turns),
            flips_source=flips.source(turns),
        )
        rivals = tuple(c.value for c in self._columns[cell.table, cell.column] if c.model != cell.model)
        where = {key: shown[key] for key in ("value", "low", "high", "n")}
        return row, Candidate(cell=cell, **where, margin=margin, rivals=rivals, replies=cell.variant, whole=whole)

    def _left_out(self, ours: Metric) -> str:
        """Return how many replies a number leaves out because their label follows other text; "" for none."""
        share = self.index.get(ours.model, ours.benchmark, ours.variant, ours.parser, FOLLOWS, ours.category)
        if share is None or not share.value or share.denominator is None:
            return ""
        return f"{left_out_text(round(share.value * share.denominator), share.n)}."

    def _row(
        self, cell: PublishedCell, model: str | None, parser: str, verdict: str, reason: str, obstacle: str | None
    ) -> ComparisonRow:
        unknown = "" if model is None else self.conditions.asked(model, cell.variant).note
        return ComparisonRow(
            **{name: getattr(cell, name) for name in _FROM_CELL},
            note=" ".join(filter(None, (cell.note, unknown))),
            published=cell.value,
            published_spread=cell.spread,
            model=model,
            parser=parser,
            verdict=verdict,
            reason=reason,
            published_row=cell.model,
            published_n=published_number(cell),
            published_revision=cell.revision or None,
            revision=self.conditions.revision or None,
            obstacle=obstacle,
        )


def _mark_parser_verdicts(rows: Iterable[ComparisonRow]) -> Iterator[ComparisonRow]:
    """Replace an agreement under the official parser by "parser" if the robust parser of the same replies differs."""
    by_parser = {row.parser: row for row in rows}
    official, robust = by_parser.get(OFFICIAL), by_parser.get(ROBUST)
    if official and robust and depends_on_parser(official.verdict, robust.verdict):
        reason = f"{official.reason} under the official parser, but the robust parser of the same replies gives "
        reason += f"{robust.value:.1f} [{robust.low:.1f}, {robust.high:.1f}]"
        by_parser[OFFICIAL] = replace(official, verdict=PARSER, reason=reason)
    yield from by_parser.values()


def compare(
    params: Params,
    metrics: Sequence[Path],
    out: Path,
    *,
    replies: Path | None = None,
    released: Sequence[Path] = (),
) -> None:
    """Compare every benchmark of the edition and write the table of `ComparisonRow` to ``out``.

    A model corresponds to a published row if its entry has ``published: <row>`` or
    ``published: {<benchmark>: <row>}``.

    Parameters
    ----------
    params : Params
    metrics : sequence of Path
        The tables of metrics.
    out : Path
    replies : Path, optional
        The edition's folder of replies, which has the measured flips and the numbers of turns. Otherwise the default
        counts, and one turn for each question.
    released : sequence of Path
        Files of numbers that were released with replies (`published.read_released`).

    Raises
    ------
    ConfigError
        If a model's row is not published by any benchmark of the edition.
    """
    measured: dict[str, list[Metric]] = {benchmark: [] for benchmark in params.benchmarks}
    for metric in (metric for path in metrics for metric in tables.read_metrics(path)):
        measured.setdefault(metric.benchmark, []).append(metric)
    with_replies = [cell for path in released for cell in read_released(path)[0]]
    published = {
        benchmark: [*load(benchmark), *(cell for cell in with_replies if cell.benchmark == benchmark)]
        for benchmark in params.benchmarks
    }
    _check_rows(params, published)
    flips = {model: read_flips(replies, model) if replies else Flips() for model in params.models}
    rows = [
        row
        for benchmark, cells in published.items()
        for row in compare_cells(
            cells,
            measured[benchmark],
            published_rows=_published_rows(params, benchmark, cells),
            parsers=params.parsers,
            conditions=conditions_of(params, benchmark, flips, replies),
        )
    ]
    write_comparison(out, rows)


def _published_rows(params: Params, benchmark: str, cells: Iterable[PublishedCell] = ()) -> dict[str, str]:
    """Return the published row of each model of the edition that has one; of an imported model, that of its name."""
    rows = {model: params.published(model, benchmark) for model in params.models}
    released = {cell.model for cell in cells} & {model for model in params.models if params.is_imported(model)}
    rows |= {model: model for model in released if rows[model] is None}
    return {model: row for model, row in rows.items() if row is not None}


def _check_rows(params: Params, published: Mapping[str, Sequence[PublishedCell]]) -> None:
    """Raise ConfigError unless each model's row is published by the benchmark it names, or else by any benchmark."""
    rows = {benchmark: {cell.model for cell in cells} for benchmark, cells in published.items()}
    for model in params.models:
        entry = params.model(model)
        named = {} if isinstance(entry, RespondentModel) else entry.published
        claims = {"": named} if isinstance(named, str) else named
        for benchmark, row in claims.items():
            if benchmark and benchmark not in registry.names():
                reason = unknown_name(benchmark, registry.names())
                raise ConfigError(reason, path=f"models.{model}.published")
            among = rows.get(benchmark, set()) if benchmark else set().union(*rows.values())
            if row not in among and (not benchmark or benchmark in rows):
                path = f"models.{model}.published" + (f".{benchmark}" if benchmark else "")
                raise ConfigError(unknown_name(row, among), path=path)
