"""Concurrent questions: one at a time until one is answered, then the others together.

After `SERIES` consecutive questions without a usable reply, or `REFUSALS` that were refused as if no question could be
answered, no question is sent until a question that was answered before is answered again. If it is not, the endpoint is
at fault: all requests pause, and the questions of the series are asked again later, or the run stops. If it is, the
questions are asked once more (refused ones are not), and then recorded as they are.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from known_unknowns import stopping
from known_unknowns.engines.endpoint.replies import UnreadableReplyError, WrongModelError
from known_unknowns.engines.endpoint.request import PendingTurn, RefusedError, Requester, RetryableError
from known_unknowns.engines.endpoint.settings import print_message
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.records import Reply, Turn
from known_unknowns.unusable import ERROR, MAX_FIRST, NOT_A_REPLY, REJECTED, REMEDIES, class_of

Rows = list[tuple[int, Reply]]
"""Indices of turns, and their replies."""

MAX_ROUNDS = 3
"""A question that fails after all of the client's retries is requeued, up to this number of rounds in all."""
MAX_RATE_LIMITED_ROUNDS = 20
"""The same for questions that fail because of the rate limit."""
SERIES = 10
"""Number of consecutive unusable replies after which the endpoint is checked."""
REFUSALS = 3
"""The same for refused questions."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
_ANOTHER_PART = 0.382
"""After a failure, the next question comes from so far behind in the queue, where it shows another image."""


@dataclass(slots=True)
class Failure:
    """A question without a usable reply at the time ``at``.

    ``reply`` is None if the question waits for another round. It was ``refused`` as if no question could be answered.
    """

    pending: PendingTurn
    reply: Reply | None
    refused: bool = False
    at: float = field(default_factory=time.monotonic)


class FailureSeries:
    """Consecutive questions without a usable reply, which are not recorded yet."""

    def __init__(self) -> None:
        self._failures: list[Failure] = []

    def __len__(self) -> int:
        return len(self._failures)

    @property
    def refusals(self) -> int:
        return sum(failure.refused for failure in self._failures)

    def add(self, pending: PendingTurn, reply: Reply | None, *, refused: bool = False) -> None:
        self._failures.append(Failure(pending, reply, refused))

    def end(self, asked: float = math.inf) -> Rows:
        """Remove the failures before a usable reply to a question of the time ``asked``. Return those to record."""
        ended = [failure for failure in self._failures if failure.at <= asked]
        self._failures = [failure for failure in self._failures if failure.at > asked]
        return [(failure.pending.index, failure.reply) for failure in ended if failure.reply is not None]

    def blame_endpoint(self) -> list[PendingTurn]:
        """Return the questions to ask again as if they had not been asked, and begin a new series."""
        for failure in self._failures:
            failure.pending.rounds = max(failure.pending.rounds - 1, 0)
            failure.pending.checked = False
        again = [failure.pending for failure in self._failures if failure.reply is not None]
        self._failures = []
        return again

    def blame_questions(self) -> tuple[Rows, list[PendingTurn]]:
        """Return the replies to record and the questions to ask once more, and begin a new series."""
        again = [failure.pending for failure in self._failures if failure.reply and not failure.pending.checked]
        self._failures = [failure for failure in self._failures if failure.pending.checked]
        rows = self.end()
        for pending in again:
            pending.rounds, pending.checked = MAX_ROUNDS - 1, True
        return rows, again


class RequestQueue:
    """The questions of one wave, ``concurrency`` at a time. Use it inside one event loop.

    A question counts as running until its reply was returned by `next_batch` and `next_batch` is called again, because
    the runner has then written it to the journal. A killed run loses at most ``concurrency`` replies.
    """

    def __init__(
        self,
        requester: Requester,
        pending: Iterable[PendingTurn],
        *,
        concurrency: int,
        proven: Turn | None = None,
        raise_if_ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._requester, self._concurrency, self._raise_if_ended = requester, concurrency, raise_if_ended
        self._waiting = deque(pending)
        self._running: dict[asyncio.Task[Reply], PendingTurn] = {}
        self._series = FailureSeries()
        self.proven = proven  # a turn that the endpoint has answered
        self._stop: BaseException | None = None
        self._since = time.perf_counter()
        self._recorded = 0
        self.answered = False
        self._pause, self._next_pause = 0.0, FIRST_PAUSE  # before the first answer
        self._failing_since: float | None = None

    async def next_batch(self) -> Rows:
        """Return the next replies; [] when all are there.

        An error that stops the run is raised after all questions under way have ended and their replies were returned;
        that of a server that has ended (``raise_if_ended``), when no more replies are there.
        """
        while self._waiting or self._running or self._suspects_endpoint():
            await stopping.sleep(self._pause)
            self._pause = 0.0
            self._launch()
            if self._must_stop():
                raise stopping.StoppedError
            if self._running:
                done, _ = await asyncio.wait(self._running, timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
                batch = [row for task in done for row in self._outcome(task)]
            elif self._suspects_endpoint():
                batch = await self._check_endpoint()
            else:
                break
            if batch:
                return self._timed(batch)
            self._raise_if_ended()
        if self._stop is not None:
            raise self._stop
        return self._timed(self._series.end())

    def _must_stop(self) -> bool:
        """Whether a signal has come, and no request is under way or may take longer."""
        return stopping.requested() and (not self._running or stopping.out_of_time())

    async def close(self) -> None:
        """Cancel the questions under way."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _launch(self) -> None:
        most = self._concurrency if self.answered else 1
        while self._waiting and len(self._running) < most and self._may_launch():
            pending = self._waiting.popleft()
            pending.asked = time.monotonic()
            self._running[asyncio.create_task(self._requester.ask(pending))] = pending

    def _may_launch(self) -> bool:
        return self._stop is None and not self._suspects_endpoint() and not stopping.requested()

    def _outcome(self, task: asyncio.Task[Reply]) -> Rows:
        pending = self._running.pop(task)
        try:
            reply = task.result()
        except RefusedError as error:
            return self._refused(pending, error)
        except (RetryableError, UnreadableReplyError) as error:
            return self._requeue_or_fail(pending, error)
        except (Exception, asyncio.CancelledError) as error:
            self._stop = self._stop or error
            return []
        if reply.finish in NOT_A_REPLY:
            return self._hold(pending, reply)
        return self._answered(pending, reply) if class_of(reply) is None else self._without_answer(pending, reply)

    def _without_answer(self, pending: PendingTurn, reply: Reply) -> Rows:
        """Record a reply that was paid for and has no answer. The run decides whether it goes on."""
        self._recorded += 1
        if self.proven is None:
            self.answered = self._recorded >= MAX_FIRST
            self._try_another_part()
        return [(pending.index, reply)]

    def _answered(self, pending: PendingTurn, reply: Reply) -> Rows:
        earlier = [] if self._suspects_endpoint() else self._series.end(pending.asked)
        self.answered, self.proven = True, pending.turn
        return [*earlier, (pending.index, reply)]

    def _refused(self, pending: PendingTurn, error: RefusedError) -> Rows:
        """Stop, or hold the question until the endpoint has answered another one."""
        if self.proven is None:
            self._stop = self._stop or error.error
            return []
        pending.checked = True  # it is asked once: its status does not change
        details = {"attempts": pending.attempts, "faults": pending.faults}
        self._series.add(pending, self._requester.with_details(error.reply, details), refused=True)
        return []

    def _hold(self, pending: PendingTurn, reply: Reply) -> Rows:
        self._series.add(pending, reply)
        self._count(reply.error or "", class_of(reply) or ERROR)
        return []

    def _count(self, reason: str, kind: str) -> None:
        """Stop if none of the first replies is usable. ``reason`` and ``kind`` are those of the last one."""
        if self.proven is not None:
            return
        self._try_another_part()
        if len(self._series) < MAX_FIRST:
            return
        does = "rejects every question" if kind == REJECTED else "gives no usable reply to any question"
        text = f"the endpoint {does} (last: {reason}); none is recorded. Remedy: {REMEDIES[kind]}"
        path = self._requester.settings.path("source")
        self._stop = MachineError(text) if kind == ERROR else ConfigError(text, path=path)

    def _try_another_part(self) -> None:
        self._waiting.rotate(-int(_ANOTHER_PART * len(self._waiting)))

    def _suspects_endpoint(self) -> bool:
        if self.proven is None or self._stop is not None:
            return False
        refusals, at_the_end = self._series.refusals, not (self._waiting or self._running)
        return len(self._series) >= SERIES or refusals >= REFUSALS or (refusals > 0 and at_the_end)

    def _wait_for_first_answer(self, pending: PendingTurn, reason: str) -> None:
        """Pause before the next question; stop after ``patience`` seconds. The question counts as not asked."""
        settings = self._requester.settings
        if self._failing_since is None:
            self._failing_since = pending.asked
            self._report(f"the endpoint fails ({reason}); pausing, then asking the next question")
        waited = time.monotonic() - self._failing_since
        if waited >= settings.patience:
            self._stop = _no_answer(waited, reason)
        self._pause = min(self._next_pause, max(settings.patience - waited, 0.0))
        self._next_pause = min(2 * self._next_pause, LONGEST_PAUSE)
        self._waiting.append(pending)
        self._try_another_part()

    async def _check_endpoint(self) -> Rows:
        """Ask an answered question until it is answered again, and decide about the series.

        Return the replies to record.
        """
        pause, since, first = FIRST_PAUSE, time.monotonic(), True
        while (reason := await self._unusable_reason()) is not None:
            patience = self._requester.settings.patience
            waited = time.monotonic() - since
            if waited >= patience:
                self._stop = _no_answer(waited, reason)
            if self._stop is not None or stopping.requested():
                return []
            if first:
                self._report(f"the endpoint fails ({reason}); pausing, then trying it with an answered question")
            first = False
            await stopping.sleep(min(pause, patience - waited))
            pause = min(2 * pause, LONGEST_PAUSE)
        self.answered = True
        rows: Rows = []
        if first:
            rows, again = self._series.blame_questions()
        else:
            again = self._series.blame_endpoint()
        self._waiting.extend(again)
        return rows

    async def _unusable_reason(self) -> str | None:
        """Ask the answered question again. Return why its reply is unusable; None if it is usable."""
        if self.proven is None:
            return None
        try:
            reply = await self._requester.ask(PendingTurn(-1, self.proven))
        except (RetryableError, UnreadableReplyError) as error:
            return str(error)
        except RefusedError as error:
            self._stop = error.error
            return str(error)
        except Exception as error:
            self._stop = error
            return str(error)
        return reply.error if reply.finish in NOT_A_REPLY else None

    def _requeue_or_fail(self, pending: PendingTurn, error: RetryableError | UnreadableReplyError) -> Rows:
        if isinstance(error, WrongModelError) and not self.answered:
            self._stop = ConfigError(
                f"{error}; if that is the model you mean, say so: answers_as: {error.model}",
                path=self._requester.settings.path("source"),
            )
            return []
        if isinstance(error, RetryableError) and self.proven is None:
            self._wait_for_first_answer(pending, str(error))
            return []
        pending.rounds += 1
        if isinstance(error, UnreadableReplyError):
            pending.faults.append(str(error))
        pending.rate_limited += isinstance(error, RetryableError) and error.rate_limited
        if pending.rounds - pending.rate_limited < MAX_ROUNDS and pending.rate_limited < MAX_RATE_LIMITED_ROUNDS:
            self._waiting.append(pending)
            self._series.add(pending, None)
            self._count(str(error), ERROR)
            return []
        failed = Reply("", finish=ERROR, error=str(error))
        details = {"attempts": pending.attempts, "faults": pending.faults}
        return self._hold(pending, self._requester.with_details(failed, details))

    def _report(self, text: str) -> None:
        print_message(self._requester.settings.name, self._requester.key.redact(text))

    def _timed(self, batch: Rows) -> Rows:
        """Set each reply's share of the wall-clock time since the last batch."""
        since, self._since = self._since, time.perf_counter()
        return [(index, replace(reply, seconds=(self._since - since) / len(batch))) for index, reply in batch]


def _no_answer(waited: float, reason: str) -> MachineError:
    return MachineError(
        f"the endpoint has answered nothing for {waited:.0f} s (last: {reason}); the replies so far are kept. Run the "
        "same command again when it works: it asks only what is missing"
    )
