"""Concurrent questions: the first alone, to find out what the endpoint supports, then the others together."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from known_unknowns.engines.endpoint.replies import UnreadableReplyError, WrongModelError
from known_unknowns.engines.endpoint.request import PendingTurn, Requester, RetryableError
from known_unknowns.errors import ConfigError
from known_unknowns.records import Reply

Rows = list[tuple[int, Reply]]
"""Indices of turns, and their replies."""

MAX_ROUNDS = 3
"""A question that fails after all of the client's retries is requeued, up to this number of rounds in all."""
MAX_RATE_LIMITED_ROUNDS = 20
"""The same for questions that fail because of the rate limit."""
MAX_REJECTED = 20
"""The run stops if this many questions are rejected before any is answered: the fault is not in the questions."""


class RequestQueue:
    """The questions of one wave, ``concurrency`` at a time. Use it inside one event loop.

    A question counts as running until its reply was returned by `next_batch` and `next_batch` is called again, because
    the runner has then written it to the journal. A killed run loses at most ``concurrency`` replies.
    """

    def __init__(self, requester: Requester, pending: Iterable[PendingTurn], *, concurrency: int) -> None:
        self._requester, self._concurrency = requester, concurrency
        self._waiting = deque(pending)
        self._running: dict[asyncio.Task[Reply], PendingTurn] = {}
        self._rejected: Rows = []
        self._stop: BaseException | None = None
        self._since = time.perf_counter()
        self.answered = False

    async def next_batch(self) -> Rows:
        """Return the next replies; [] when all are there.

        An error that stops the run is raised after all questions under way have ended and their replies were returned.
        """
        while self._waiting or self._running:
            self._launch()
            if not self._running:
                break
            done, _ = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            batch = [row for task in done for row in self._outcome(task)]
            if batch:
                return self._timed(batch)
        if self._stop is not None:
            raise self._stop
        batch, self._rejected = self._rejected, []
        return self._timed(batch)

    async def close(self) -> None:
        """Cancel the questions under way."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _launch(self) -> None:
        most = self._concurrency if self.answered else 1
        while self._waiting and len(self._running) < most and self._stop is None:
            pending = self._waiting.popleft()
            self._running[asyncio.create_task(self._requester.ask(pending))] = pending

    def _outcome(self, task: asyncio.Task[Reply]) -> Rows:
        pending = self._running.pop(task)
        try:
            reply = task.result()
        except (RetryableError, UnreadableReplyError) as error:
            return self._requeue_or_fail(pending, error)
        except (Exception, asyncio.CancelledError) as error:
            self._stop = self._stop or error
            return []
        if reply.finish != "rejected":
            self.answered = True
            batch, self._rejected = [*self._rejected, (pending.index, reply)], []
            return batch
        if self.answered:
            return [(pending.index, reply)]
        self._rejected.append((pending.index, reply))
        if len(self._rejected) >= MAX_REJECTED:
            path = self._requester.path("source")
            self._stop = ConfigError(
                f"the endpoint rejects every question ({reply.error}); none is recorded", path=path
            )
        return []

    def _requeue_or_fail(self, pending: PendingTurn, error: RetryableError | UnreadableReplyError) -> Rows:
        if isinstance(error, WrongModelError) and not self.answered:
            self._stop = ConfigError(
                self._requester.key.redact(
                    f"{error}; if that is the model you mean, say so: answers_as: {error.model}"
                ),
                path=self._requester.path("source"),
            )
            return []
        pending.rounds += 1
        if isinstance(error, UnreadableReplyError):
            pending.faults.append(str(error))
        pending.rate_limited += isinstance(error, RetryableError) and error.rate_limited
        if pending.rounds - pending.rate_limited < MAX_ROUNDS and pending.rate_limited < MAX_RATE_LIMITED_ROUNDS:
            self._waiting.append(pending)
            if not self.answered:  # a resumed run begins with earlier failures: try a later question
                self._waiting.rotate(-(len(self._waiting) // 2))
            return []
        failed = Reply("", finish="error", error=str(error))
        details = {"attempts": pending.attempts, "faults": pending.faults}
        return [(pending.index, self._requester.with_details(failed, details))]

    def _timed(self, batch: Rows) -> Rows:
        """Set each reply's share of the wall-clock time since the last batch."""
        since, self._since = self._since, time.perf_counter()
        return [(index, replace(reply, seconds=(self._since - since) / len(batch))) for index, reply in batch]
