"""Rate limit and circuit breaker, with a simulated clock."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from known_unknowns.engines import stopping
from known_unknowns.engines.endpoint.client import CircuitBreaker, FailureRecord, RateLimiter
from known_unknowns.errors import MachineError


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


def a_breaker(clock, **changes):
    return CircuitBreaker(**{"patience": 100, "threshold": 3, "clock": clock, "sleep": clock.sleep} | changes)


async def fail(breaker, failure_record=None):
    async with breaker.attempt():
        breaker.failed("status 500", failure_record or FailureRecord())


def test_pauses_grow_and_end_after_a_success():
    clock = Clock()
    breaker = a_breaker(clock)

    async def go():
        for _ in range(3):
            await fail(breaker)
        assert clock.now == 1000 and breaker.times_opened == 1
        at = []
        for _ in range(3):
            await fail(breaker)
            at.append(clock.now)
        assert at == [1001, 1003, 1007]  # after 1, 2 and 4 seconds
        async with breaker.attempt():
            breaker.succeeded()
        assert clock.now == 1015
        await fail(breaker)
        await fail(breaker)
        assert clock.now == 1015  # closed again, and two failures do not open it

    asyncio.run(go())


def test_the_run_stops_when_patience_is_exceeded():
    clock = Clock()
    breaker = a_breaker(clock, longest=10)

    async def go():
        with pytest.raises(MachineError, match=r"answered nothing for 10\d s .*status 500"):
            for _ in range(100):
                await fail(breaker)

    asyncio.run(go())


def test_while_the_breaker_is_open_only_one_request_is_sent():
    under_way = most = 0

    async def go():
        nonlocal under_way, most
        breaker = CircuitBreaker(patience=100, threshold=1, pause=0.001)
        breaker.failed("reset", FailureRecord())

        async def one(alive):
            nonlocal under_way, most
            async with breaker.attempt():
                under_way += 1
                if breaker.successes == 0:
                    most = max(most, under_way)
                await asyncio.sleep(0.002)
                under_way -= 1
                breaker.succeeded() if alive else breaker.failed("reset", FailureRecord())

        await asyncio.gather(*(one(number >= 5) for number in range(20)))
        assert breaker.successes == 15

    asyncio.run(go())
    assert most == 1


def test_one_failing_question_does_not_open_the_breaker():
    clock = Clock()
    breaker = a_breaker(clock)
    poison = FailureRecord()

    async def go():
        for _ in range(10):
            await fail(breaker, poison)
            breaker.succeeded()
        for _ in range(2):
            await fail(breaker, FailureRecord())
        await fail(breaker, poison)
        assert breaker.times_opened == 0
        await fail(breaker, FailureRecord())
        assert breaker.times_opened == 1

    asyncio.run(go())


async def of_tokens() -> None:
    limiter = RateLimiter(1)
    await limiter.wait(1000)
    await limiter.wait(1)


async def of_a_failing_endpoint() -> None:
    breaker = CircuitBreaker(patience=1000, threshold=1, pause=600)
    breaker.failed("500", FailureRecord())
    async with breaker.attempt():
        pytest.fail("it was sent")


@pytest.mark.parametrize("pause", [of_tokens, of_a_failing_endpoint])
def test_a_signal_ends_every_pause(monkeypatch, pause):
    async def go() -> None:
        asyncio.get_running_loop().call_later(0.1, monkeypatch.setattr, stopping, "_since", time.monotonic())
        await pause()

    since = time.monotonic()
    with pytest.raises(stopping.PauseEnded):
        asyncio.run(go())
    assert time.monotonic() - since < 5
