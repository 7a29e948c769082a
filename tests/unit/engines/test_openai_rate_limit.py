"""Rate limits, with a simulated clock."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from known_unknowns.engines.endpoint.client import RateLimiter


class Clock:
    """A clock that advances only in sleep."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def times_let_through(per_minute, amounts, gaps):
    clock = Clock()
    pacer = RateLimiter(per_minute, clock=clock, sleep=clock.sleep)
    seen = []

    async def go():
        for amount, gap in zip(amounts, gaps, strict=True):
            clock.now += gap
            await pacer.wait(amount)
            seen.append(clock.now)

    asyncio.run(go())
    return seen


@settings(max_examples=40)
@given(st.integers(1, 600), st.lists(st.floats(0, 3), min_size=1, max_size=60))
def test_requests_of_any_minute_stay_within_the_limit(per_minute, gaps):
    seen = times_let_through(per_minute, [1] * len(gaps), gaps)
    for place, start in enumerate(seen):
        assert sum(start <= time < start + 59.999 for time in seen[place:]) <= per_minute


def test_token_rate_uses_estimates_and_is_corrected_afterwards():
    clock = Clock()
    pacer = RateLimiter(6000, clock=clock, sleep=clock.sleep)  # a hundred a second

    async def go():
        await pacer.wait(500)
        pacer.adjust(200)  # it took 700
        await pacer.wait(100)
        assert clock.now == pytest.approx(1007)
        pacer.adjust(-100)  # it took none
        await pacer.wait(100)
        assert clock.now == pytest.approx(1007)

    asyncio.run(go())
