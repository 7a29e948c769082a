"""The margin within which a number counts as reproduced: rounding, numerical flips, and the spread over runs.

With the same questions and greedy decoding there is no new sample. Two runs of one model differ only by the rounding
of the printed number, by answers that change with the order of floating-point sums (flips), and, if options are
shuffled, by the shuffles. `docs/verdicts.md` has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.stats import beta, binom, t

from known_unknowns import json_files, verification
from known_unknowns.comparison.cells import PERCENT, VIEWS, PublishedCell
from known_unknowns.errors import DamagedError
from known_unknowns.records import Metric

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
    """Answers that changed when a sample was asked again in another way (the batch-invariance check, `verify`).

    Attributes
    ----------
    changed, compared : int
        Number of changed and of compared answers; 0 of 0 if nothing was measured.
    """

    changed: int = 0
    compared: int = 0

    @property
    def rate(self) -> float:
        """Upper 95% bound of the share of changed answers, from the measurement and the default.

        The default counts as 597 unchanged answers, so that 64 compared answers do not outweigh it.
        """
        return float(beta.ppf(CONFIDENCE, 1 + self.changed, _DEFAULT_WEIGHT + self.compared - self.changed))

    @property
    def source(self) -> str:
        """Where the rate comes from, for a reason."""
        if not self.compared:
            return f"at most {100 * self.rate:.2g}% of the answers, the default"
        return f"at most {100 * self.rate:.2g}% of the answers; {self.changed} of {self.compared} measured"


@dataclass(frozen=True, slots=True)
class Margin:
    """The parts of a margin, in the unit of the cell.

    Attributes
    ----------
    rounding : float
        Half a unit of the last printed place.
    flips : float
        The largest effect of numerical flips.
    spread : float
        The effect of the spread over runs with other shuffles; 0 for a single run.
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


def margin_of(cell: PublishedCell, ours: Metric, *, flips: Flips, runs: int) -> Margin:
    """Derive the margin of a cell.

    Parameters
    ----------
    cell : PublishedCell
        The published number.
    ours : Metric
        Our number for it.
    flips : Flips
        The measured flips of our model.
    runs : int
        Number of seeds that our number is the mean of.

    Returns
    -------
    Margin
        In the unit of the cell.

    Notes
    -----
    A percentage of more answers than questions, such as an average over pipelines, can change with each of its answers.
    """
    answers = max(ours.n, round(ours.denominator or 0)) if cell.unit == PERCENT else ours.n
    changes = float(binom.ppf(CONFIDENCE, answers * runs, flips.rate)) / runs
    return Margin(cell.half_unit, changes * _change_per_flip(cell, ours), _spread(cell, ours, runs))


def _change_per_flip(cell: PublishedCell, ours: Metric) -> float:
    """Return the largest change of the number by one changed answer."""
    if cell.unit == PERCENT:
        return 100 / (ours.denominator or ours.n)
    return _VIEWS_PER_FLIP / ours.n if cell.unit == VIEWS else 1.0


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
    return float(t.ppf((1 + CONFIDENCE) / 2, freedom)) * deviation * math.sqrt(1 / published_runs + 1 / runs)


def read_flips(replies: Path, model: str) -> Flips:
    """Return the flips of a model over all benchmarks.

    They are those of the batch-invariance check, in the engine.json files below the folder of replies, and those of
    `known-unknowns verify`, in the folder verify beside it: sampled turns with another answer in at least one way of
    batching. Results of `verify` for another model, such as an earlier revision, are left out.

    Raises
    ------
    DataError
        If one of these files is not valid.
    """
    changed = compared = 0
    for path in sorted(replies.glob(f"{model}/*/engine.json")):
        engine = _read(path, "about", "facts")
        certificate: Mapping[str, Any] = engine["about"].get("certificate") or {"flips": 0, "compared": 0}
        changed, compared = changed + certificate["flips"], compared + certificate["compared"]
        verified = verification.summary_path(replies.with_name("verify"), model, path.parent.name)
        found = _read(verified, "facts", "changed", "compared") if verified.is_file() else {}
        if found.get("facts") == verification.facts_digest(engine["facts"]):
            changed, compared = changed + found["changed"], compared + found["compared"]
    return Flips(changed, compared)


def _read(path: Path, *keys: str) -> dict[str, Any]:
    values = json_files.read(path)
    if missing := set(keys) - values.keys():
        raise DamagedError(f"no {', '.join(sorted(missing))} in this file; delete it and run again", file=path)
    return values
