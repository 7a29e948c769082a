"""Infinite sequences of draws, as even as their shares allow over any part of them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import TypeVar

T = TypeVar("T")

OPTIONS = 5


def by_shares(shares: Mapping[str, float]) -> Iterator[str]:
    """Yield names in proportion to their shares: each time the one with the largest deficit."""
    total, drawn = sum(shares.values()), dict.fromkeys(shares, 0)
    number = 0
    while True:
        number += 1
        name = max(shares, key=lambda name: shares[name] / total * number - drawn[name])
        drawn[name] += 1
        yield name


def alternating(sorts: Sequence[Sequence[T]], rng: random.Random) -> Iterator[T]:
    """Yield one of each sort in turn; within a sort, all of them in random order before any is repeated."""
    remaining: list[list[T]] = [[] for _ in sorts]
    turn = rng.randrange(len(sorts))
    while True:
        if not remaining[turn]:
            remaining[turn] = rng.sample(sorts[turn], len(sorts[turn]))
        yield remaining[turn].pop()
        turn = (turn + 1) % len(sorts)


def places(rng: random.Random) -> Iterator[tuple[int, int]]:
    """Yield positions of the right option and of the refusal: each pair of different positions once in every 20."""
    pairs = list(permutations(range(OPTIONS), 2))
    while True:
        yield from rng.sample(pairs, len(pairs))
