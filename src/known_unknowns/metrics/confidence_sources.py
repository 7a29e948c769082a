"""The metrics of each source of confidence, from the columns of the table of answers.

`known_unknowns.scoring.answers` has the sources that a single dialogue gives, `known_unknowns.metrics.answers` those
that need several replies to the same question. All are about the answer that the robust parser parses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from known_unknowns.benchmark.metrics import Ratio, no_option_is_right
from known_unknowns.metrics.answers import FEWEST_SAMPLES, Cells
from known_unknowns.metrics.confidence import Statistic, calibration, estimated, refusal_bounds, widened
from known_unknowns.metrics.estimates import Estimates, ratio_estimates
from known_unknowns.metrics.rows import rows
from known_unknowns.records import ABSTAINED, ANSWERED, OVERALL, REFUSED, Metric, Repeat
from known_unknowns.tables.confidence_sources import (
    COLUMNS,
    FOLLOWS,
    FOLLOWS_TEXT,
    KNOWN,
    LETTERS,
    OPTION_TEXT,
    REFUSAL,
    SAMPLES,
    VERBALISED,
    low_mass,
)
from known_unknowns.tables.parquet import CELL

NOT_AGAIN = "no refused question is asked again without the refusal option, as the protocol forced_choice does"
NOTHING_RIGHT = "no option but the refusal is right"
_NOT_ASKED = "not asked: confidence: [{}] of the edition in params.yaml asks for it"
_FEW_SAMPLES = f"fewer than {FEWEST_SAMPLES} replies to each question; samples in params.yaml asks for more"


def attempted(cell: pd.DataFrame) -> pd.Series:
    """Flag the replies that choose an option other than the refusal."""
    return cell["outcome"] == ANSWERED


def refused(cell: pd.DataFrame) -> pd.Series:
    """Flag the replies that refuse or abstain."""
    return cell["outcome"].isin([REFUSED, ABSTAINED])


def confidence_table(answers: pd.DataFrame) -> pd.DataFrame:
    """Return what `known_unknowns.metrics.answers.confidences` reads as a table for people, with a row per answer."""
    would_be_right = answers["would_be_right"].map({1.0: True, 0.0: False})
    table = answers.assign(attempted=attempted(answers), would_be_right=would_be_right)
    return table[[*CELL.names, "question_id", "outcome", "correct", "attempted", "would_be_right", *COLUMNS]]


def _why_absent(source: str, cells: Cells, *, asks_again: bool) -> str:
    """Why no cell of a variant has a value of a source; "" if one has."""
    if source == REFUSAL:
        nothing_is_right = all(no_option_is_right(cell).all() for cell in cells.values())
        if not asks_again:
            return NOT_AGAIN
        return NOTHING_RIGHT if nothing_is_right else ""
    if any(cell[source].notna().any() for cell in cells.values()):
        return ""
    cell = next(iter(cells.values()))
    if source == LETTERS:
        follows = any(cell["label_follows_text"].any() for cell in cells.values())
        reason = FOLLOWS_TEXT if follows else "no label has a probability"
        return low_mass(cell["label_mass"].dropna()) or reason
    if source == SAMPLES:
        return _FEW_SAMPLES
    name = VERBALISED if source == VERBALISED else OPTION_TEXT
    errors = cell[f"{name}_error"].dropna()
    if errors.empty:
        return _NOT_ASKED.format(name)
    return next((error for error in errors if error), "no reply has a value")


def metrics_of_sources(blank: Metric, cells: Cells, confidence: float, *, asks_again: bool = False) -> Iterator[Metric]:
    """Yield the metrics of every source, over all questions.

    A source without a value has one row, whose column ``reason`` says why.

    Parameters
    ----------
    blank : Metric
        The metric whose place is filled.
    cells : mapping from Repeat to DataFrame
        The cells of a variant under the parser `PARSER`.
    confidence : float
        Confidence level of the intervals.
    asks_again : bool
        Whether the protocol asks refused questions again without the refusal option. Else, nothing is known of what a
        model refused, except where no answer can be right.
    """
    row = replace(blank, category=OVERALL)
    for source in COLUMNS:
        if absent := _why_absent(source, cells, asks_again=asks_again):
            n = len(next(iter(cells.values())))
            missing = replace(row, name=f"{KNOWN}.{source}", n=n).undefined(absent)
            yield from (replace(missing, **repeat._asdict()) for repeat in cells)
            if len(cells) > 1:
                yield missing
            continue
        if source == REFUSAL:
            of_source = _of_refusals(row, cells, confidence)
        else:
            of_source = _of_attempts(row, source, cells, confidence)
        yield from (replace(metric, name=f"{metric.name}.{source}") for metric in of_source)


def _of_attempts(row: Metric, source: str, cells: Cells, confidence: float) -> Iterator[Metric]:
    """The share of the attempts whose confidence is known, and the metrics of these confidences."""
    shares, statistics, estimates = {}, {}, {}
    for repeat, cell in cells.items():
        if cell[source].isna().all():
            continue
        known = attempted(cell) & cell[source].notna()
        ratios = {KNOWN: Ratio(known, attempted(cell))}
        if source == LETTERS:
            ratios[FOLLOWS] = Ratio(attempted(cell) & cell["label_follows_text"], attempted(cell))
        shares[repeat] = _shares(cell, ratios)
        counted = cell[known]
        if len(counted):
            statistics[repeat] = calibration(counted[source].to_numpy(), counted["correct"].to_numpy())
            estimates[repeat] = estimated(statistics[repeat], counted["cluster"].to_numpy(), _groups(cells))
    yield from _rows_of_statistics(row, shares, {}, confidence)
    yield from _rows_of_statistics(row, estimates, statistics, confidence)


def _of_refusals(row: Metric, cells: Cells, confidence: float) -> Iterator[Metric]:
    """The share of the refusals whose answer is known, and bounds of the metrics of the refusals."""
    shares, statistics, estimates = {}, {}, {}
    unknown = total = 0
    for repeat, cell in cells.items():
        tried, refusals, right = attempted(cell), refused(cell), cell["would_be_right"]
        shares[repeat] = _shares(cell, {KNOWN: Ratio(refusals & right.notna(), refusals)})
        unknown, total = unknown + int((refusals & right.isna()).sum()), total + int(refusals.sum())
        statistics[repeat] = refusal_bounds(tried.to_numpy(), refusals.to_numpy(), right.to_numpy())
        n = int((tried | refusals).sum())
        estimates[repeat] = estimated(statistics[repeat], cell["cluster"].to_numpy(), _groups(cells), n=n)
    note = f"; a bound: {unknown:,} of {total:,} refusals have no known answer" if unknown else ""
    yield from _rows_of_statistics(row, shares, {}, confidence)
    yield from _rows_of_statistics(row, estimates, statistics, confidence, note=note)


def _shares(cell: pd.DataFrame, ratios: Mapping[str, Ratio]) -> Estimates:
    """The estimates of shares, such as `KNOWN`, over all questions."""
    everything = {OVERALL: np.ones(len(cell), dtype=bool)}
    return ratio_estimates(ratios, everything, cell["cluster"].to_numpy())[OVERALL]


def _groups(cells: Cells) -> np.ndarray:
    """The numbers of all groups of the questions, sorted."""
    return np.unique(next(iter(cells.values()))["cluster"])


def _rows_of_statistics(
    row: Metric,
    estimates: Mapping[Repeat, Estimates],
    statistics: Mapping[Repeat, Mapping[str, Statistic]],
    confidence: float,
    *,
    note: str = "",
) -> Iterator[Metric]:
    """The rows of each repeat, and of their mean. ``statistics`` say how far their bias widens the intervals."""
    if not estimates:
        return
    for of, metrics in rows(row, {repeat: {OVERALL: each} for repeat, each in estimates.items()}, confidence):
        counted = [statistics[repeat] for repeat in ([of] if of is not None else estimates) if repeat in statistics]
        for metric in metrics:
            if metric.value is not None:
                slacks = [each[metric.name].slack for each in counted] or [(0.0, 0.0)]
                down, up = (float(np.mean(ends)) for ends in zip(*slacks, strict=True))
                metric = widened(metric, (down, up))
                metric = replace(metric, method=metric.method + note)
            yield metric
