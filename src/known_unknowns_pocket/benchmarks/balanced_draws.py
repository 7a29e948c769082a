"""Decks: what comes next, without end, so that any stretch of it is as even as the shares allow."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import TypeVar

T = TypeVar("T")

OPTIONS = 5


def by_shares(shares: Mapping[str, float]) -> Iterator[str]:
    """Names in proportion to their shares: each time the one that lags furthest behind."""
    total, dealt = sum(shares.values()), dict.fromkeys(shares, 0)
    number = 0
    while True:
        number += 1
        name = max(shares, key=lambda name: shares[name] / total * number - dealt[name])
        dealt[name] += 1
        yield name


def alternating(sorts: Sequence[Sequence[T]], rng: random.Random) -> Iterator[T]:
    """One of each sort in turn; within a sort, all in random order before one comes again."""
    hands: list[list[T]] = [[] for _ in sorts]
    turn = rng.randrange(len(sorts))
    while True:
        if not hands[turn]:
            hands[turn] = rng.sample(sorts[turn], len(sorts[turn]))
        yield hands[turn].pop()
        turn = (turn + 1) % len(sorts)


def places(rng: random.Random) -> Iterator[tuple[int, int]]:
    """Where the right option and the refusal stand: each pair of different places once in every 20."""
    pairs = list(permutations(range(OPTIONS), 2))
    while True:
        yield from rng.sample(pairs, len(pairs))
