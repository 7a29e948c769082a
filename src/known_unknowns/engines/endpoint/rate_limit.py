"""How fast an endpoint is asked, and when it is left in peace: a pacer and a circuit breaker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from known_unknowns.errors import MachineError

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]

_MINUTE = 60.0


class Pacer:
    """Spreads amounts (requests, tokens) evenly, so that no minute holds more than ``per_minute`` of them.

    Each amount is let through when those before it have had their time: a burst, which a plain count per minute
    allows at every turn of the minute, is what providers answer with 429. None lets everything through.
    """

    def __init__(
        self, per_minute: float | None, *, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._each = _MINUTE / per_minute if per_minute else 0.0
        self._clock, self._sleep = clock, sleep
        self._free = 0.0

    async def wait(self, amount: float = 1.0) -> None:
        """Wait for the amount's turn."""
        if not self._each:
            return
        now = self._clock()
        start = max(now, self._free)
        self._free = start + amount * self._each
        if start > now:
            await self._sleep(start - now)

    def correct(self, amount: float) -> None:
        """Count so much more (or less, when negative) than was waited for: what a reply took is known afterwards."""
        self._free += amount * self._each


@dataclass(slots=True)
class Blame:
    """Of one question, across all its attempts: how many successes the endpoint had had when it first failed."""

    successes: int | None = None


class Breaker:
    """Pauses everything when an endpoint is dying, and tries it with one request at a time until it is back.

    ``threshold`` failures in a row open it. A question that failed before, and fails again though others have been
    answered since, is at fault itself and does not count. Pauses double from ``pause`` to ``longest`` seconds; after
    ``patience`` seconds without a single success it gives up, raising MachineError for every request that waits.
    """

    def __init__(
        self,
        *,
        patience: float,
        threshold: int = 10,
        pause: float = 1.0,
        longest: float = 60.0,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        on_pause: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._patience, self._threshold, self._first_pause, self._longest = patience, threshold, pause, longest
        self._clock, self._sleep, self._on_pause = clock, sleep, on_pause
        self._row = 0
        self._pause = pause
        self._until: float | None = None  # while it is open: when the next request may go
        self._failing_since: float | None = None
        self._reason = ""
        self._probing = asyncio.Lock()
        self.successes = 0
        self.opened = 0

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        """Around one request: waits while the breaker is open, then lets a single request through."""
        if self._until is None:
            yield
            return
        await self._probing.acquire()
        probing = self._until is not None  # the one before us may have found it alive
        if not probing:
            self._probing.release()
        try:
            if probing:
                self._give_up_or_not()
                await self._sleep(max(self._until - self._clock(), 0.0))
            yield
        finally:
            if probing:
                self._probing.release()

    def _give_up_or_not(self) -> None:
        failing = self._clock() - (self._failing_since if self._failing_since is not None else self._clock())
        if failing >= self._patience:
            raise MachineError(
                f"the endpoint has answered nothing for {failing:.0f} s (last: {self._reason}); the replies so far "
                "are kept. Run the same command again when it is back: it asks only what is missing"
            )

    def succeeded(self) -> None:
        self.successes += 1
        self._row = 0
        self._pause = self._first_pause
        self._until = self._failing_since = None

    def failed(self, reason: str, blame: Blame) -> None:
        """Count a failure: no connection, no reply in time, a status of 429 or of 500 and above."""
        if blame.successes is None:
            blame.successes = self.successes
        elif blame.successes < self.successes:
            return
        now = self._clock()
        self._reason = reason
        self._row += 1
        if self._failing_since is None:
            self._failing_since = now
        if self._row < self._threshold:
            return
        if self._until is None:
            self.opened += 1
            self._on_pause(f"the endpoint fails ({reason}); pausing, then trying it with one request at a time")
        elif now < self._until:
            return  # one that was under way when it opened
        self._until = now + self._pause
        self._pause = min(self._pause * 2, self._longest)


@dataclass(slots=True)
class Traffic:
    """What every attempt has to pass."""

    requests: Pacer
    tokens: Pacer
    breaker: Breaker
