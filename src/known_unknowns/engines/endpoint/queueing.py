"""Asking many questions at once: the first alone, to find out what the endpoint supports, then the rest together."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from known_unknowns.engines.endpoint.replies import Unreadable, WrongModel
from known_unknowns.engines.endpoint.request import Again, Asker, Pending
from known_unknowns.errors import ConfigError
from known_unknowns.records import Reply

Rows = list[tuple[int, Reply]]
"""Indices into the turns, and their replies."""

ROUNDS = 3
"""A question that failed after all of the client's retries is asked again after the others, so many times in all."""
RATE_LIMITED_ROUNDS = 20
"""The same where it was for the rate limit each time: the endpoint is well, we are too many."""
HOPELESS = 20
"""So many questions rejected before any was answered: then it is not the questions."""


class Questions:
    """The questions of one wave, asked ``concurrency`` at a time. Use it inside one event loop.

    A question takes its place in the crowd until its reply was handed out by `next_batch` and that is called again,
    which is when the runner has it in the journal: a kill loses no more than ``concurrency`` replies.
    """

    def __init__(self, asker: Asker, pending: Iterable[Pending], *, concurrency: int) -> None:
        self._asker, self._concurrency = asker, concurrency
        self._waiting = deque(pending)
        self._running: dict[asyncio.Task[Reply], Pending] = {}
        self._rejected: Rows = []
        self._stop: BaseException | None = None
        self._since = time.perf_counter()
        self.answered = False

    async def next_batch(self) -> Rows:
        """Replies as they come; [] when all are there.

        Raises, once everything under way has ended and was handed out, whatever stops the run.
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
        """End what is under way."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _launch(self) -> None:
        most = self._concurrency if self.answered else 1
        while self._waiting and len(self._running) < most and self._stop is None:
            pending = self._waiting.popleft()
            self._running[asyncio.create_task(self._asker.ask(pending))] = pending

    def _outcome(self, task: asyncio.Task[Reply]) -> Rows:
        pending = self._running.pop(task)
        try:
            reply = task.result()
        except (Again, Unreadable) as error:
            return self._again(pending, error)
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
        if len(self._rejected) >= HOPELESS:
            path = self._asker.path("source")
            self._stop = ConfigError(
                f"the endpoint rejects every question ({reply.error}); none is recorded", path=path
            )
        return []

    def _again(self, pending: Pending, error: Again | Unreadable) -> Rows:
        if isinstance(error, WrongModel) and not self.answered:
            self._stop = ConfigError(
                self._asker.key.scrub(f"{error}; if that is the model you mean, say so: answers_as: {error.model}"),
                path=self._asker.path("source"),
            )
            return []
        pending.rounds += 1
        if isinstance(error, Unreadable):
            pending.faults.append(str(error))
        pending.rate_limited += isinstance(error, Again) and error.rate_limited
        if pending.rounds - pending.rate_limited < ROUNDS and pending.rate_limited < RATE_LIMITED_ROUNDS:
            self._waiting.append(pending)
            if not self.answered:  # a resumed run begins with those that failed before: try one from further on
                self._waiting.rotate(-(len(self._waiting) // 2))
            return []
        failed = Reply("", finish="error", error=str(error))
        details = {"attempts": pending.attempts, "faults": pending.faults}
        return [(pending.index, self._asker.scrubbed(failed, details))]

    def _timed(self, batch: Rows) -> Rows:
        """The batch with each reply's share of the wall-clock time since the last."""
        since, self._since = self._since, time.perf_counter()
        return [(index, replace(reply, seconds=(self._since - since) / len(batch))) for index, reply in batch]
