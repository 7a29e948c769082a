"""Coverage of variations of the package's interval: other constants, other estimates of the design effect.

    python bench/coverage/alternatives.py [--seed 1] [--samples 1000] [--groups 10 12 20 60]

The grid is that of simulate.py. README.md has the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from unittest.mock import patch

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, stdtrit

from known_unknowns.metrics import design_effect
from known_unknowns.metrics.design_effect import WorkingModel
from known_unknowns.metrics.intervals import modified_wilson

from methods import CONFIDENCE  # isort: skip  # modules beside this file
from simulate import by_method, cell_of, drawn, markdown  # isort: skip

_TAIL = (1 - CONFIDENCE) / 2
_ICCS = np.array([0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6])
_SEED_ICCS = np.array([0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95])
Estimate = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]
"""``(value, squares, sums, seeds) -> N / n*``, the design effect with the factor (t / z)^2."""


def moderated(value: np.ndarray, squares: np.ndarray, sums: np.ndarray, seeds: int) -> np.ndarray:
    """The method of the package."""
    effect, df = design_effect.estimate(value, squares, sums, floor=1.0, seeds=seeds)
    return effect * (stdtrit(df, _TAIL) / ndtri(_TAIL)) ** 2


def observed(value: np.ndarray, squares: np.ndarray, sums: np.ndarray, seeds: int) -> np.ndarray:
    """The observed design effect, at least 1, and t with Satterthwaite's degrees of freedom; no assumption."""
    pq, model = value * (1 - value), WorkingModel.of(sums, design_effect.prior_icc(sums, seeds))
    usable = (pq > 0) & (model.df > 0)
    effect = np.divide(squares * model.effect, model.trace * _unbiased(pq, model, sums), out=model.effect.copy(),
                       where=usable)  # fmt: skip
    df = np.maximum(np.where(usable, model.df, 1), 1)
    return np.maximum(effect, 1) * (stdtrit(df, _TAIL) / ndtri(_TAIL)) ** 2


def averaged(
    value: np.ndarray, squares: np.ndarray, sums: np.ndarray, seeds: int, *, weights: np.ndarray
) -> np.ndarray:
    """A mean of normal distributions over seven ICCs, with the chi square likelihood of the squared residuals."""
    pq = value * (1 - value)
    same = np.minimum(1, (seeds - 1) / np.maximum(sums[1] / sums[0] - 1, 1e-9))  # share of pairs on one question
    prior = WorkingModel.of(sums, design_effect.prior_icc(sums, seeds))
    usable = (pq > 0) & (prior.df > 0)
    scaled = np.divide(squares, _unbiased(pq, prior, sums), out=np.zeros_like(pq), where=usable)
    logs, effects = [], []
    for icc, own, weight in zip(_ICCS, _SEED_ICCS, weights / weights.sum(), strict=True):
        model = WorkingModel.of(sums, icc + (own - icc) * same)
        df = np.where(usable, design_effect._degrees_of_freedom(model, pq, usable), 2)
        ratio = np.maximum(np.divide(scaled, model.trace, out=np.ones_like(pq), where=usable), 1e-6)
        likelihood = df / 2 * np.log(df * ratio / 2) - df * ratio / 2 - gammaln(df / 2)
        logs.append(np.log(weight) + np.where(usable, likelihood, 0))
        effects.append(np.maximum(model.effect, 1))
    posterior, effect = np.exp(np.array(logs) - np.max(logs, axis=0)), np.array(effects)
    posterior /= posterior.sum(axis=0)
    low, high = (-ndtri(_TAIL) * np.sqrt(end) for end in (effect.min(axis=0), effect.max(axis=0)))
    for _ in range(30):
        middle = (low + high) / 2
        beyond = (posterior * 2 * ndtr(-middle / np.sqrt(effect))).sum(axis=0) > 2 * _TAIL
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return (middle / ndtri(_TAIL)) ** 2


def _unbiased(pq: np.ndarray, model: WorkingModel, sums: np.ndarray) -> np.ndarray:
    return pq / np.clip(1 - model.effect / sums[0], 0.3, 1)


def interval(
    right: np.ndarray, asked: np.ndarray, seeds: int, estimate: Estimate, *, effective: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The modified Wilson interval; ``effective``: the bound near 0 and 1 has n* trials instead of N."""
    value = right.sum(axis=1) / asked.sum()
    squares = ((right - value[:, None] * asked) ** 2).sum(axis=1)
    sums = design_effect.power_sums(np.broadcast_to(asked[:, None], right.T.shape))
    single = sums[1] <= sums[0]
    n = np.where(single, sums[0], sums[0] / estimate(value, squares, sums, seeds))
    return modified_wilson(value, n, CONFIDENCE, answers=n if effective else sums[0])


def constants(icc: float, df: float) -> AbstractContextManager[object]:
    return patch.multiple(design_effect, PRIOR_ICC=icc, PRIOR_DF=df)


_even, _near_zero = np.ones(7), np.array([2, 0.7, 0.8, 1, 1.2, 1.2, 1.2])
METHODS: dict[str, tuple[AbstractContextManager[object], Estimate, bool]] = {
    "this project: ICC 0.2, 8 degrees of freedom": (nullcontext(), moderated, False),
    "ICC 0.15, 8 degrees of freedom": (constants(0.15, 8), moderated, False),
    "ICC 0.2, 4 degrees of freedom": (constants(0.2, 4), moderated, False),
    "ICC 0.3, 4 degrees of freedom": (constants(0.3, 4), moderated, False),
    "observed design effect, Satterthwaite": (nullcontext(), observed, False),
    "mean over seven ICCs": (nullcontext(), partial(averaged, weights=_even), False),
    "mean over seven ICCs, more weight on 0": (nullcontext(), partial(averaged, weights=_near_zero), False),
    "this project, bound near 0 with n*": (nullcontext(), moderated, True),
    "mean over seven ICCs, more weight on 0, bound near 0 with n*": (
        nullcontext(),
        partial(averaged, weights=_near_zero),
        True,
    ),
}


def main() -> None:
    """Simulate and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=1000, help="samples of a cell")
    parser.add_argument("--groups", nargs="+", type=int, default=(10, 12, 20, 60))
    chosen = parser.parse_args()
    cells = []
    for sample in drawn(chosen.seed, chosen.samples, chosen.groups):
        for name, (changed, estimate, effective) in METHODS.items():
            with changed:
                asked = sample.sizes * float(sample.seeds)
                bounds = interval(sample.right, asked, sample.seeds, estimate, effective=effective)
            cells.append(cell_of(sample, name, *bounds))
    print(markdown(by_method(cells)))


if __name__ == "__main__":
    main()
