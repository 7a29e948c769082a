"""Agreement of reviewers beyond chance, for categories without an order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from known_unknowns_construction.review.decisions import Standing, result
from known_unknowns_construction.review.records import REVIEWER, Content, Decision

RESAMPLES = 2000
METHOD = f"percentile bootstrap over images, {RESAMPLES} resamples"
_BATCH = 4_000_000  # weights in memory at a time
_MOST_UNDEFINED = 0.05

Ratings = Sequence[Sequence[Hashable | None]]
"""One row for each question, one column for each reviewer; None where a reviewer did not decide."""


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa of the categories that two reviewers gave to the same questions (Cohen, 1960).

    None without questions, or if both gave the same single category to all.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} judgements; give those of the same questions")
    return _value(_kappa(_counted(list(zip(first, second, strict=True))), _ones(len(first))))


def krippendorff_alpha(ratings: Ratings) -> float | None:
    """Return Krippendorff's alpha for nominal data (Krippendorff, 2011).

    Questions with fewer than two judgements have no effect. None if no question has two, or if all are the same.
    """
    return _value(_alpha(_counted(ratings), _ones(len(ratings))))


@dataclass(frozen=True)
class Agreement:
    """A coefficient of agreement.

    Attributes
    ----------
    scale : str
        What was compared: "action" (keep, modify or delete), "answer" (the final answer, or deleted) or "tag".
    reviewers : tuple of str
    coefficient : str
        "Cohen's kappa" or "Krippendorff's alpha".
    value, low, high : float or None
        None if undefined.
    n : int
        Number of questions with at least two judgements.
    same : float or None
        Share of these questions on which all judgements are the same.
    method : str
        Method of the interval.
    """

    scale: str
    reviewers: tuple[str, ...]
    coefficient: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    same: float | None
    method: str = METHOD


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
        item: {name: decision for (role, name), decision in of_item.items() if role == REVIEWER}
        for item, of_item in found.items()
        if item in contents
    }
    judged = {
        item: {name: d for name, d in of_item.items() if d.sha256 == contents[item].sha256}
        for item, of_item in judged.items()
    }
    names = sorted({name for of_item in judged.values() for name in of_item})
    if len(names) < 2:
        return []
    items = [item for item in contents if len(judged.get(item, ())) > 1]
    tagged = any(decision.tag for of_item in judged.values() for decision in of_item.values())
    rows = []
    for scale, judgement in {"tag": _tag}.items() if tagged else {"action": _action, "answer": _answer}.items():
        ratings = [
            [judgement(judged[item][name], contents[item]) if name in judged[item] else None for name in names]
            for item in items
        ]
        clusters = [groups[item] for item in items]
        for a, b in combinations(range(len(names)), 2):
            both = [i for i, row in enumerate(ratings) if row[a] is not None and row[b] is not None]
            pair = [[ratings[i][a], ratings[i][b]] for i in both]
            pair_groups = [clusters[i] for i in both]
            rows.append(_row(scale, (names[a], names[b]), "Cohen's kappa", _kappa, pair, pair_groups, confidence, seed))
        rows.append(_row(scale, tuple(names), "Krippendorff's alpha", _alpha, ratings, clusters, confidence, seed))
    return rows


def _action(decision: Decision, content: Content) -> str:
    return result(decision, content)[0]


def _answer(decision: Decision, content: Content) -> str:
    after = result(decision, content)[1]
    return "deleted" if after is None else f"answer {after.answer}"


def _tag(decision: Decision, content: Content) -> str:
    return decision.tag


@dataclass(frozen=True)
class _Counts:
    """``votes[u, c]``: how often question u got category c; ``first`` and ``second``: from each of two reviewers."""

    votes: np.ndarray
    first: np.ndarray
    second: np.ndarray


def _counted(ratings: Ratings) -> _Counts:
    categories = {value: i for i, value in enumerate(dict.fromkeys(v for row in ratings for v in row if v is not None))}
    columns = max((len(row) for row in ratings), default=0)
    by_column = np.zeros((max(columns, 2), len(ratings), len(categories)))
    for place, row in enumerate(ratings):
        for column, value in enumerate(row):
            if value is not None:
                by_column[column, place, categories[value]] += 1
    votes = by_column.sum(axis=0)
    votes[votes.sum(axis=1) < 2] = 0
    return _Counts(votes, by_column[0], by_column[1])


def _kappa(counts: _Counts, weights: np.ndarray) -> np.ndarray:
    """Kappa for each row of ``weights``, shape (resamples, questions)."""
    n = weights.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = weights @ (counts.first * counts.second).sum(axis=1) / n
        expected = ((weights @ counts.first) * (weights @ counts.second)).sum(axis=1) / n**2
        return np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)


def _alpha(counts: _Counts, weights: np.ndarray) -> np.ndarray:
    """Alpha for each row of ``weights``, shape (resamples, questions)."""
    judgements = counts.votes.sum(axis=1)
    differing = (judgements**2 - (counts.votes**2).sum(axis=1)) / np.maximum(judgements - 1, 1)
    totals = weights @ counts.votes
    n = totals.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = weights @ differing / n
        expected = (n**2 - (totals**2).sum(axis=1)) / (n * (n - 1))
        return np.where(expected > 0, 1 - observed / expected, np.nan)


_Coefficient = Callable[[_Counts, np.ndarray], np.ndarray]


def _row(
    scale: str,
    reviewers: tuple[str, ...],
    name: str,
    coefficient: _Coefficient,
    ratings: Ratings,
    groups: Sequence[str],
    confidence: float,
    seed: int,
) -> Agreement:
    counts = _counted(ratings)
    low, high = _bootstrap(counts, coefficient, groups, confidence, seed)
    same = [len({value for value in row if value is not None}) == 1 for row in ratings]
    value = _value(coefficient(counts, _ones(len(ratings))))
    share = float(np.mean(same)) if same else None
    return Agreement(scale, reviewers, name, value, low, high, len(ratings), share)


def _bootstrap(
    counts: _Counts, coefficient: _Coefficient, groups: Iterable[str], confidence: float, seed: int
) -> tuple[float, float] | tuple[None, None]:
    """Percentiles of the coefficient over resampled groups; None if it is undefined in too many resamples."""
    members = np.unique(list(groups), return_inverse=True)[1]
    number = int(members.max()) + 1 if len(members) else 0
    if number < 2:
        return None, None
    generator = np.random.default_rng(seed)
    values: list[np.ndarray] = []
    step = max(1, _BATCH // len(members))
    for start in range(0, RESAMPLES, step):
        drawn = generator.multinomial(number, np.full(number, 1 / number), size=min(step, RESAMPLES - start))
        values.append(coefficient(counts, drawn[:, members].astype(float)))
    every = np.concatenate(values)
    every = every[np.isfinite(every)]
    if len(every) < (1 - _MOST_UNDEFINED) * RESAMPLES:
        return None, None
    low, high = np.quantile(every, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _ones(questions: int) -> np.ndarray:
    return np.ones((1, questions))


def _value(found: np.ndarray) -> float | None:
    return float(found[0]) if np.isfinite(found[0]) else None
