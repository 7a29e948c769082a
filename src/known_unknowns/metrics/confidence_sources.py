"""The metrics of each source of confidence, from the columns of the table of answers.

`known_unknowns.scoring.answers` has the sources that a single dialogue gives, `known_unknowns.metrics.answers` those
that need several replies to the same question. All are about the answer that the robust parser parses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from known_unknowns.benchmark.metrics import Ratio, no_option_is_right
from known_unknowns.metrics.answers import Cells
from known_unknowns.metrics.confidence import Statistic, calibration, estimated, refusal_bounds
from known_unknowns.metrics.estimates import Estimates, ratio_estimates
from known_unknowns.records import ABSTAINED, ANSWERED, OVERALL, REFUSED, sample_of
from known_unknowns.scoring.answers import CONFIDENT_PARSER
from known_unknowns.scoring.confidence import LETTERS, OPTION_TEXT, REFUSAL, SAMPLES, SHUFFLES, SOURCES, VERBALISED
from known_unknowns.scoring.likelihood import low_mass
from known_unknowns.tables import CONFIDENCES

PARSER = CONFIDENT_PARSER
OPTION_TEXT_SUM = f"{OPTION_TEXT}_sum"
COLUMNS = tuple(
    name for source in SOURCES for name in ((source, OPTION_TEXT_SUM) if source == OPTION_TEXT else (source,))
)
"""Names of the sources and their forms in tables and metrics, in the order of pages."""
KNOWN = "known"
"""Share of the attempts whose confidence is known; of the source `REFUSAL`, share of the refusals whose answer without
the refusal option is known. Its method has the reason why a source has no value."""
NOT_AGAIN = (
    "undefined: no refused question is asked again without the refusal option, as the protocol forced_choice does"
)
NOTHING_RIGHT = "undefined: no option but the refusal is right"
_NOT_ASKED = "not asked: confidence: [{}] of the edition in params.yaml asks for it"
_ONE_SAMPLE = "one reply to each question; samples in params.yaml asks for more"
_ONE_SEED = "one order of the options; seeds in params.yaml asks for more"
_NOT_SHUFFLED = "the seeds of this variant do not shuffle the options"


def attempted(cell: pd.DataFrame) -> pd.Series:
    """Flag the replies that choose an option other than the refusal."""
    return cell["outcome"] == ANSWERED


def refused(cell: pd.DataFrame) -> pd.Series:
    """Flag the replies that refuse or abstain."""
    return cell["outcome"].isin([REFUSED, ABSTAINED])


def confidence_table(cell: pd.DataFrame) -> pa.Table:
    """Return the rows of `records.Confidence` of one variant and seed."""
    refusal = pd.Series(np.nan, index=cell.index).mask(attempted(cell), 1.0).mask(refused(cell), 0.0)
    would_be_right = cell["would_be_right"].map({1.0: True, 0.0: False})
    rows = cell.reset_index().assign(attempted=attempted(cell).to_numpy(), refusal=refusal.to_numpy())
    rows["would_be_right"] = would_be_right.to_numpy()
    return pa.Table.from_pandas(rows.astype({"outcome": object}), schema=CONFIDENCES, preserve_index=False)


def _why_absent(source: str, cells: Cells) -> str:
    """Why no cell of a variant has a value of a source."""
    seed, cell = next(iter(cells.items()))
    if source == LETTERS:
        return low_mass(cell["label_mass"].dropna()) or "undefined: no label has a probability"
    if source == SAMPLES:
        return _ONE_SAMPLE
    if source == SHUFFLES:
        orders = [other["options"] for at, other in cells.items() if sample_of(at) == sample_of(seed)]
        shuffled = any(not order.equals(orders[0]) for order in orders)
        return _ONE_SEED if shuffled or len(orders) == 1 else _NOT_SHUFFLED
    name = VERBALISED if source == VERBALISED else OPTION_TEXT
    errors = cell[f"{name}_error"].dropna()
    if errors.empty:
        return _NOT_ASKED.format(name)
    return "undefined: " + next((error for error in errors if error), "no reply has a value")


class Block(NamedTuple):
    """Metrics of one source with the same number of questions, by seed.

    ``statistics`` are those that the estimates were made of, ``note`` says what was left out. Without seeds, ``absent``
    says why the source has no value.
    """

    source: str
    by_seed: Mapping[int, Estimates]
    statistics: Mapping[int, Mapping[str, Statistic]] = {}
    note: str = ""
    absent: str = ""


def blocks(cells: Cells, *, asks_again: bool = False) -> Iterator[Block]:
    """Compute the metrics of every source.

    Parameters
    ----------
    cells : mapping from int to DataFrame
        The cells of a variant under the parser `PARSER`, by seed.
    asks_again : bool
        Whether the protocol asks refused questions again without the refusal option. Else, nothing is known of what a
        model refused, except where no answer can be right.
    """
    for source in COLUMNS:
        if source == REFUSAL:
            yield from _refusal_blocks(cells, asks_again=asks_again)
            continue
        of_source = {seed: cell for seed, cell in cells.items() if cell[source].notna().any()}
        if not of_source:
            yield Block(source, {}, absent=_why_absent(source, cells))
            continue
        known = {seed: attempted(cell) & cell[source].notna() for seed, cell in of_source.items()}
        shares = {seed: Ratio(known[seed], attempted(cell)) for seed, cell in of_source.items()}
        yield Block(source, _shares_known(of_source, shares))
        statistics, clusters = {}, {}
        for seed, cell in of_source.items():
            counted = cell[known[seed]]
            if len(counted):
                statistics[seed] = calibration(counted[source].to_numpy(), counted["correct"].to_numpy())
                clusters[seed] = counted["cluster"].to_numpy()
        yield _block(source, statistics, clusters, _groups(cells))


def _shares_known(cells: Cells, shares: Mapping[int, Ratio]) -> dict[int, Estimates]:
    """The estimates of `KNOWN` over all questions."""
    found = {}
    for seed, ratio in shares.items():
        everything = {OVERALL: np.ones(len(cells[seed]), dtype=bool)}
        found[seed] = ratio_estimates({KNOWN: ratio}, everything, cells[seed]["cluster"].to_numpy())[OVERALL]
    return found


def _groups(cells: Cells) -> np.ndarray:
    return np.unique(next(iter(cells.values()))["cluster"])


def _refusal_blocks(cells: Cells, *, asks_again: bool) -> Iterator[Block]:
    """Bounds of the metrics of the refusals, and the share of the refusals whose answer is known."""
    if not asks_again:
        yield Block(REFUSAL, {}, absent=NOT_AGAIN)
        return
    if all(no_option_is_right(cell).all() for cell in cells.values()):
        yield Block(REFUSAL, {}, absent=NOTHING_RIGHT)
        return
    shares, statistics, clusters, n = {}, {}, {}, {}
    unknown = total = 0
    for seed, cell in cells.items():
        missing = refused(cell) & cell["would_be_right"].isna()
        unknown, total = unknown + int(missing.sum()), total + int(refused(cell).sum())
        shares[seed] = Ratio(refused(cell) & ~missing, refused(cell))
        flags = (attempted(cell), refused(cell), cell["would_be_right"])
        statistics[seed] = refusal_bounds(*(values.to_numpy() for values in flags))
        clusters[seed] = cell["cluster"].to_numpy()
        n[seed] = int((attempted(cell) | refused(cell)).sum())
    yield Block(REFUSAL, _shares_known(cells, shares))
    note = f"; a bound: {unknown:,} of {total:,} refusals have no known answer" if unknown else ""
    yield _block(REFUSAL, statistics, clusters, _groups(cells), n=n, note=note)


def _block(
    source: str,
    statistics: Mapping[int, Mapping[str, Statistic]],
    columns: Mapping[int, np.ndarray],
    groups: np.ndarray,
    *,
    n: Mapping[int, int] | None = None,
    note: str = "",
) -> Block:
    by_seed = {
        seed: estimated(of_seed, columns[seed], groups, n=None if n is None else n[seed])
        for seed, of_seed in statistics.items()
    }
    return Block(source, by_seed, statistics, note)
