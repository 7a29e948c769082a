"""Rate limits, and a circuit breaker for failing endpoints."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from known_unknowns.engines import stopping
from known_unknowns.errors import MachineError

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]

_MINUTE = 60.0


class RateLimiter:
    """Spreads amounts (requests, tokens) evenly, at most ``per_minute`` of them in a minute.

    Each amount waits until the previous ones have used their time. A plain count per minute would allow bursts, which
    providers answer with status 429. None disables the limit.
    """

    def __init__(
        self, per_minute: float | None, *, clock: Clock = time.monotonic, sleep: Sleep = stopping.pause
    ) -> None:
        self._each = _MINUTE / per_minute if per_minute else 0.0
        self._clock, self._sleep = clock, sleep
        self._free = 0.0

    async def wait(self, amount: float = 1.0) -> None:
        """Wait until the amount may be sent."""
        if not self._each:
            return
        now = self._clock()
        start = max(now, self._free)
        self._free = start + amount * self._each
        if start > now:
            await self._sleep(start - now)

    def adjust(self, amount: float) -> None:
        """Count an additional amount (negative: a smaller one), because a reply's usage is known only afterwards."""
        self._free += amount * self._each


@dataclass(slots=True)
class FailureRecord:
    """Number of successes that the endpoint had had when a question first failed, across all its attempts."""

    successes: int | None = None


class CircuitBreaker:
    """Pauses all requests when an endpoint fails, and tries single requests until it recovers.

    ``threshold`` consecutive failures open it. A failure does not count if the same question failed before and others
    were answered since, because the question itself is then the cause. Pauses double from ``pause`` to ``longest``
    seconds. After ``patience`` seconds without a success, every waiting request raises MachineError.
    """

    def __init__(
        self,
        *,
        patience: float,
        threshold: int = 10,
        pause: float = 1.0,
        longest: float = 60.0,
        clock: Clock = time.monotonic,
        sleep: Sleep = stopping.pause,
        on_pause: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._patience, self._threshold, self._first_pause, self._longest = patience, threshold, pause, longest
        self._clock, self._sleep, self._on_pause = clock, sleep, on_pause
        self._consecutive_failures = 0
        self._pause = pause
        self._until: float | None = None  # time of the next request while the breaker is open
        self._failing_since: float | None = None
        self._reason = ""
        self._probing = asyncio.Lock()
        self.successes = 0
        self.times_opened = 0

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        """Context of one request. It waits while the breaker is open, and then lets a single request through."""
        if self._until is None:
            yield
            return
        await self._probing.acquire()
        probing = self._until is not None  # the previous request may have succeeded
        if not probing:
            self._probing.release()
        try:
            if probing:
                self._raise_if_out_of_patience()
                await self._sleep(max(self._until - self._clock(), 0.0))
            yield
        finally:
            if probing:
                self._probing.release()

    def _raise_if_out_of_patience(self) -> None:
        failing = self._clock() - (self._failing_since if self._failing_since is not None else self._clock())
        if failing >= self._patience:
            raise MachineError(
                f"the endpoint has answered nothing for {failing:.0f} s (last: {self._reason}); the replies so far "
                "are kept. Run the same command again when it is back: it asks only what is missing"
            )

    def succeeded(self) -> None:
        """Count a success, and close the breaker."""
        self.successes += 1
        self._consecutive_failures = 0
        self._pause = self._first_pause
        self._until = self._failing_since = None

    def failed(self, reason: str, failure_record: FailureRecord) -> None:
        """Count a failure: no connection, no reply in time, or status 429 or 500 and above."""
        if failure_record.successes is None:
            failure_record.successes = self.successes
        elif failure_record.successes < self.successes:
            return
        now = self._clock()
        self._reason = reason
        self._consecutive_failures += 1
        if self._failing_since is None:
            self._failing_since = now
        if self._consecutive_failures < self._threshold:
            return
        if self._until is None:
            self.times_opened += 1
            self._on_pause(f"the endpoint fails ({reason}); pausing, then trying it with one request at a time")
        elif now < self._until:
            return  # this request was under way when the breaker opened
        self._until = now + self._pause
        self._pause = min(self._pause * 2, self._longest)


@dataclass(slots=True)
class RequestLimits:
    """The limits that apply to every attempt."""

    requests: RateLimiter
    tokens: RateLimiter
    breaker: CircuitBreaker
