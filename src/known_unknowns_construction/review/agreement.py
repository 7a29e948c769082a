"""Agreement of reviewers beyond chance, for categories without an order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from known_unknowns_construction.review.decisions import REVIEWER, Content, Decision, Standing, result

KAPPA, ALPHA = "Cohen's kappa", "Krippendorff's alpha"
RESAMPLES = 2000
METHOD = f"percentile bootstrap over images, {RESAMPLES} resamples"
_BATCH = 4_000_000  # weights in memory at a time
_MOST_UNDEFINED = 0.05

Ratings = Sequence[Sequence[Hashable | None]]
"""One row for each question, one column for each reviewer; None where a reviewer did not decide."""


@dataclass(frozen=True)
class Agreement:
    """A coefficient of agreement."""

    scale: str  # what was compared: "action" (keep, modify or delete), "answer" (the final answer, or deleted) or "tag"
    reviewers: tuple[str, ...]
    coefficient: str  # `KAPPA` or `ALPHA`
    # None if undefined
    value: float | None
    low: float | None
    high: float | None
    n: int  # number of questions with at least two judgements
    same: float | None  # share of these questions on which all judgements are the same
    method: str = METHOD  # method of the interval


def agreement(
    contents: Mapping[str, Content],
    groups: Mapping[str, str],
    found: Standing,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[Agreement]:
    """Compare reviewers: each pair by Cohen's kappa, and all of them by Krippendorff's alpha.

    ``contents`` and ``groups`` have the content and the image of each question by its id; the bootstrap draws images.
    ``found`` is what `known_unknowns_construction.review.decisions.standing` returns. Decisions of adjudicators do not
    count, since they saw those of the others.
    """
    judged = {
        item: {name: d for (role, name), d in of_item.items() if role == REVIEWER and d.sha256 == contents[item].sha256}
        for item, of_item in found.items()
        if item in contents
    }
    names = sorted({name for of_item in judged.values() for name in of_item})
    if len(names) < 2:
        return []
    items = [item for item in contents if len(judged.get(item, ())) > 1]
    tagged = any(decision.tag for of_item in judged.values() for decision in of_item.values())
    scales = {"tag": _tag} if tagged else {"action": _action, "answer": _answer}
    compared = [*((pair, KAPPA) for pair in combinations(names, 2)), (tuple(names), ALPHA)]
    rows = []
    for scale, judgement in scales.items():
        given = {
            item: {name: judgement(decision, contents[item]) for name, decision in judged[item].items()}
            for item in items
        }
        for reviewers, coefficient in compared:
            ratings = {item: [of_item.get(name) for name in reviewers] for item, of_item in given.items()}
            if coefficient == KAPPA:
                ratings = {item: row for item, row in ratings.items() if None not in row}
            clusters = [groups[item] for item in ratings]
            rows.append(_row(scale, reviewers, coefficient, list(ratings.values()), clusters, confidence, seed))
    return rows


def _action(decision: Decision, content: Content) -> str:
    return result(decision, content)[0]


def _answer(decision: Decision, content: Content) -> str:
    after = result(decision, content)[1]
    return "deleted" if after is None else f"answer {after.answer}"


def _tag(decision: Decision, content: Content) -> str:
    return decision.tag


def _row(
    scale: str,
    reviewers: tuple[str, ...],
    coefficient: str,
    ratings: Ratings,
    groups: Sequence[str],
    confidence: float,
    seed: int,
) -> Agreement:
    votes, compute = _votes(ratings), {KAPPA: _kappa, ALPHA: _alpha}[coefficient]
    value = float(compute(votes, np.ones((1, len(ratings))))[0])
    low, high = _bootstrap(partial(compute, votes), groups, confidence, seed)
    same = [len(set(row) - {None}) == 1 for row in ratings]
    return Agreement(
        scale=scale,
        reviewers=reviewers,
        coefficient=coefficient,
        value=value if np.isfinite(value) else None,
        low=low,
        high=high,
        n=len(ratings),
        same=float(np.mean(same)) if same else None,
    )


def _votes(ratings: Ratings) -> np.ndarray:
    """Return whether each reviewer gave each category to each question: (reviewers, questions, categories)."""
    categories = {value: i for i, value in enumerate(dict.fromkeys(v for row in ratings for v in row if v is not None))}
    votes = np.zeros((max((len(row) for row in ratings), default=2), len(ratings), len(categories)))
    for place, row in enumerate(ratings):
        for reviewer, value in enumerate(row):
            if value is not None:
                votes[reviewer, place, categories[value]] = 1
    return votes


def _kappa(votes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Kappa (Cohen, 1960) for each row of ``weights``, shape (resamples, questions)."""
    first, second = votes
    n = weights.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = weights @ (first * second).sum(axis=1) / n
        expected = ((weights @ first) * (weights @ second)).sum(axis=1) / n**2
        return np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)


def _alpha(votes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Alpha for nominal data (Krippendorff, 2011) for each row of ``weights``, shape (resamples, questions)."""
    counts = votes.sum(axis=0)
    counts[counts.sum(axis=1) < 2] = 0
    judgements = counts.sum(axis=1)
    differing = (judgements**2 - (counts**2).sum(axis=1)) / np.maximum(judgements - 1, 1)
    totals = weights @ counts
    n = totals.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = weights @ differing / n
        expected = (n**2 - (totals**2).sum(axis=1)) / (n * (n - 1))
        return np.where(expected > 0, 1 - observed / expected, np.nan)


def _bootstrap(
    compute: Callable[[np.ndarray], np.ndarray], groups: Sequence[str], confidence: float, seed: int
) -> tuple[float, float] | tuple[None, None]:
    """Percentiles of a coefficient over resampled groups; None if it is undefined in too many resamples."""
    members = np.unique(groups, return_inverse=True)[1]
    number = int(members.max()) + 1 if len(members) else 0
    if number < 2:
        return None, None
    generator = np.random.default_rng(seed)
    step = max(1, _BATCH // len(members))
    values = []
    for start in range(0, RESAMPLES, step):
        drawn = generator.multinomial(number, np.full(number, 1 / number), size=min(step, RESAMPLES - start))
        values.append(compute(drawn[:, members].astype(float)))
    every = np.concatenate(values)
    every = every[np.isfinite(every)]
    if len(every) < (1 - _MOST_UNDEFINED) * RESAMPLES:
        return None, None
    low, high = np.quantile(every, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
