"""The margin within which a number counts as reproduced: rounding, numerical flips, and the spread over runs.

With the same questions and greedy decoding there is no new sample. Two runs of one model differ only by the rounding
of the printed number, by answers that change with the order of floating-point sums (flips), and, if options are
shuffled, by the shuffles. `docs/comparison.md#verdicts` has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
from scipy.special import stdtrit
from scipy.stats import beta, binom

from known_unknowns import json_files, tables
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.benchmark.published import PERCENT, VIEWS, PublishedCell
from known_unknowns.edition_files import replies_table
from known_unknowns.errors import DamagedError
from known_unknowns.records import Cell, Metric

CONFIDENCE = 0.95
"""Probability that each part of the margin covers its difference."""
DEFAULT_FLIP_RATE = 0.005
"""Upper bound of the share of changed answers if nothing was measured: the requirement that the simulation tests."""
_DEFAULT_WEIGHT = math.log(1 - CONFIDENCE) / math.log(1 - DEFAULT_FLIP_RATE)
"""The number of unchanged answers that gives the default as its upper bound: 597."""
_VIEWS_PER_FLIP = 3
"""The largest change of the number of views of one question: from one of four views to all."""


@dataclass(frozen=True, slots=True)
class Flips:
    """Turns whose answer changed when the batch-invariance check asked a sample again at batch size 1.

    ``changed`` and ``compared`` are numbers of turns; 0 of 0 if nothing was measured.
    """

    changed: int = 0
    compared: int = 0

    def rate(self, turns: float = 1.0) -> float:
        """Return the upper 95% bound of the share of questions whose answer changes.

        ``turns`` is the mean number of turns of a question, up to the one that answers it.

        Notes
        -----
        An answer changes only if at least one of its turns does. The default counts as 597 unchanged questions, so that
        64 compared turns do not outweigh it, and so that it is the same for every number of turns.
        """
        weight = _DEFAULT_WEIGHT * turns + self.compared - self.changed
        return -math.expm1(turns * math.log1p(-float(beta.ppf(CONFIDENCE, 1 + self.changed, weight))))

    def source(self, turns: float = 1.0) -> str:
        """Return where the rate comes from, for a reason."""
        bound = f"at most {100 * self.rate(turns):.2g}% of the answers"
        if turns > 1:
            bound += f" of {turns:.1f} turns on average"
        if not self.compared:
            return f"{bound}, the default"
        return f"{bound}; {self.changed} of {self.compared} {'turns ' if turns > 1 else ''}measured"


@dataclass(frozen=True, slots=True)
class Margin:
    """The parts of a margin, in the unit of the cell.

    They are half a unit of the last printed place, the largest effect of numerical flips, and the effect of the spread
    over runs with other shuffles, which is 0 for a single run.
    """

    rounding: float
    flips: float
    spread: float

    @property
    def total(self) -> float:
        return self.rounding + self.flips + self.spread

    def describe(self) -> str:
        parts = {"rounding": self.rounding, "flips": self.flips, "spread": self.spread}
        return f"{self.total:.2f} (" + ", ".join(f"{name} {value:.2g}" for name, value in parts.items() if value) + ")"


def margin_of(cell: PublishedCell, ours: Metric, *, flips: Flips, runs: int, turns: float = 1.0) -> Margin:
    """Derive the margin of a cell, in its unit. ``runs`` is the number of seeds that ``ours`` is the mean of.

    A percentage of more answers than questions, such as an average over pipelines, can change with each of its answers.
    """
    answers = max(ours.n, round(ours.denominator or 0)) if cell.unit == PERCENT else ours.n
    changes = float(binom.ppf(CONFIDENCE, answers * runs, flips.rate(turns))) / runs
    per_flip = _VIEWS_PER_FLIP / ours.n if cell.unit == VIEWS else 1.0
    if cell.unit == PERCENT:
        per_flip = 100 / (ours.denominator or ours.n)
    return Margin(cell.half_unit, changes * per_flip, _spread(cell, ours, runs))


def _spread(cell: PublishedCell, ours: Metric, runs: int) -> float:
    """Return the bound of the difference of two means over runs, from the printed spread, or from ours if none is."""
    published_runs = cell.runs
    if cell.spread is not None:
        published_runs = max(published_runs, 2)
        deviation, freedom = cell.spread, published_runs - 1
    elif ours.spread is not None and runs > 1:
        deviation, freedom = (100 if cell.unit == PERCENT else 1) * ours.spread, runs - 1
    else:
        return 0.0
    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * deviation * math.sqrt(1 / published_runs + 1 / runs)


def read_flips(replies: Path, model: str) -> Flips:
    """Return the flips of a model over all benchmarks: those of the engine.json files below the folder of replies.

    Raises
    ------
    DataError
        If one of these files is not valid.
    """
    changed = compared = 0
    for path in sorted(replies.glob(f"{model}/*/engine.json")):
        engine = json_files.read(path)
        if "about" not in engine:
            raise DamagedError("no about in this file; delete it and run again", file=path)
        if certificate := engine["about"].get("certificate"):
            changed, compared = changed + certificate["flips"], compared + certificate["compared"]
    return Flips(changed, compared)


def mean_turns(
    replies: Path,
    model: str,
    benchmark: str,
    variants: Sequence[str],
    cells: Collection[Cell] | None = None,
) -> float:
    """Return the mean number of turns that a model was asked until it answered a question; 1 without replies.

    Later turns, such as one that asks again without a refusal option, do not change the answer. ``variants`` are the
    variant, or those that a number combines; ``cells`` are those that count, by default all of the table.
    """
    asked = questions = 0
    path = replies_table(replies, model, benchmark)
    for cell in tables.cells_in(path) if path.is_file() else ():
        if cell.variant not in variants or (cells is not None and cell not in cells):
            continue
        part = tables.Part(path, cell)
        table = tables.read_columns(part, tables.REPLIES, ("question_id", "turn", "step"))
        answers = table.filter(pc.equal(table.column("step"), ANSWER))
        last = answers.group_by("question_id").aggregate([("turn", "max")]).column("turn_max")
        asked, questions = asked + (pc.sum(last).as_py() or 0) + len(last), questions + len(last)
    return asked / questions if questions else 1.0
