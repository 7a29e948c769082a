"""OpenAI's Batch API: half the price, within a day. Batches are submitted, recorded, and collected later.

Nothing is submitted twice. A run that died between the two notes of a submission (see `BatchLog`) looks for the digest
in the metadata of the account's batches. The client does not retry a submission by itself, because it cannot know
whether the first attempt arrived.

A series of unusable replies (`request_queue`) is held back until its batch has been read. If a question that was
answered before is then not answered, the endpoint is at fault: nothing of the series is recorded, and the run stops,
because a batch costs money. If it is answered, the questions of the series are submitted once more, and then recorded
as they are.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import IO, Any

import openai
from openai.types import Batch

from known_unknowns.engines import stopping
from known_unknowns.engines.endpoint.client import redirect_error
from known_unknowns.engines.endpoint.replies import UnreadableReplyError, parse_error, rejected_reply
from known_unknowns.engines.endpoint.request import PendingTurn, Requester, RetryableError
from known_unknowns.engines.endpoint.request_queue import MAX_ROUNDS, SERIES, FailureSeries, Rows
from known_unknowns.engines.endpoint.settings import print_message
from known_unknowns.engines.unusable import MAX_FIRST, NOT_A_REPLY, class_of
from known_unknowns.errors import MachineError
from known_unknowns.files.append_file import AppendFile
from known_unknowns.records import Reply, Turn

MAX_REQUESTS, MAX_BYTES = 50_000, 190_000_000
"""Limits of one batch. OpenAI accepts 50,000 requests and 200 MB."""
WAIT_HOURS, POLL_SECONDS = 25.0, 60.0
ROWS = 256
"""Number of replies handed to the journal at once."""
_TRIES = 3
_TAG = "known_unknowns"  # the name of the digest in a batch's metadata
_FINAL_STATES = ("completed", "failed", "expired", "cancelled")
_CLOCK_SKEW = 3600


@dataclass(slots=True)
class BatchRecord:
    """A batch that was, or was about to be, submitted at ``at`` (seconds since 1970).

    ``images`` has a key for each of its questions.
    """

    digest: str
    images: Mapping[str, list[str]]
    at: int
    batch: str | None = None
    closed: str | None = None


class BatchLog:
    """The batches by their digest, in a file beside the journal. Incomplete lines of a killed run are ignored.

    One JSON line for each step of a batch, on the disk before the next step is taken:

        {"digest": ..., "images": {key: [...]}, "at": 1700000000}   about to be submitted
        {"digest": ..., "batch": "batch_..."}                       submitted
        {"digest": ..., "closed": "completed"}                      ended, and every reply of it is in the journal

    The keys are `Turn.key`, which are the batch's custom ids. Each has the sha256 of its images as sent.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.batches: dict[str, BatchRecord] = {}
        for line in path.read_bytes().splitlines() if path.is_file() else ():
            try:
                self._apply(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue

    def unfinished(self) -> list[BatchRecord]:
        """Return the batches that have not ended."""
        return [record for record in self.batches.values() if record.closed is None]

    def add(self, **line: Any) -> BatchRecord:
        """Write a line. It is on the disk when this returns."""
        with AppendFile(self.path, busy="another run is writing it; wait for that run, or stop it") as file:
            torn = file.rest(max(file.end - 1, 0)) not in (b"", b"\n")
            file.append(b"\n" * torn + json.dumps(line).encode() + b"\n", full="free some space")
        return self._apply(line)

    def _apply(self, line: Mapping[str, Any]) -> BatchRecord:
        digest = line["digest"]
        if "images" in line:
            self.batches[digest] = BatchRecord(digest, dict(line["images"]), int(line["at"]))
        record = self.batches[digest]
        record.batch = line.get("batch", record.batch)
        record.closed = line.get("closed", record.closed)
        return record


class BatchRunner:
    """The questions of one wave, by their keys, and the batches that hold them."""

    def __init__(
        self, requester: Requester, pending: Iterable[PendingTurn], *, notes: Path, facts: Mapping[str, Any]
    ) -> None:
        self._requester, self._client, self._budget = requester, requester.client, requester.budget
        self._pending = {one.turn.key(facts): one for one in pending}
        self._log = BatchLog(notes)
        self.proven: Turn | None = None  # a turn that the endpoint has answered
        settings = requester.settings.batch or {}
        self._poll = float(settings.get("poll_seconds", POLL_SECONDS))
        self._deadline = time.monotonic() + 3600 * float(settings.get("wait_hours", WAIT_HOURS))

    def unsubmitted(self) -> list[PendingTurn]:
        """Return the questions that are in no unfinished batch."""
        under_way = {key for record in self._log.unfinished() for key in record.images}
        return [one for key, one in self._pending.items() if key not in under_way]

    def discard(self, indices: Iterable[int]) -> None:
        """Remove questions that were answered in another way."""
        gone = set(indices)
        self._pending = {key: one for key, one in self._pending.items() if one.index not in gone}

    async def collect(self) -> AsyncIterator[Rows]:
        """Submit the questions that are in no batch, and yield all replies as their batches end.

        When the next rows are requested, the previous ones must be in the journal.
        """
        while self._pending:
            await self._submit_new()
            for record in self._log.unfinished():
                async for rows in self._collect(record):
                    yield rows

    async def _submit_new(self) -> None:
        while new := self.unsubmitted():
            affordable = self._affordable(new)
            if affordable:
                await self._submit(affordable)
            elif self._log.unfinished():
                return  # collecting them may free a part of the budget
            else:
                raise self._budget.exhausted()

    def _affordable(self, new: list[PendingTurn]) -> list[PendingTurn]:
        """Return the questions that the budget allows besides unfinished batches, if each takes its maximum."""
        free = {one.index for one in new}
        under_way = [one for one in self._pending.values() if one.index not in free]
        total = {"tokens": 0.0, "usd": 0.0}
        chosen = []
        for one in [*under_way, *new]:
            cost = self._budget.cost(self._requester.bound(one.turn), batch=True)
            total = {unit: total[unit] + cost[unit] for unit in total}
            if one.index in free:
                if not self._budget.affords(total):
                    break
                chosen.append(one)
        return chosen

    async def _submit(self, pending: list[PendingTurn]) -> None:
        """Submit one batch with the first of these questions, as many as it may hold."""
        with tempfile.TemporaryFile(dir=self._log.path.parent) as file:
            images = await self._write(pending, file)
            at = int(time.time())
            digest = sha256("\n".join([str(len(self._log.batches)), str(at), *images]).encode()).hexdigest()[:32]
            record = self._log.add(digest=digest, images=images, at=at)
            with self._translated_errors():
                file.seek(0)
                uploaded = await self._client.files.create(file=("questions.jsonl", file), purpose="batch")
                batch = await self._create(record, uploaded.id)
        self._log.add(digest=digest, batch=batch.id)
        print_message(self._requester.settings.name, f"submitted {len(images)} questions as {batch.id}")

    async def _write(self, pending: list[PendingTurn], file: IO[bytes]) -> dict[str, list[str]]:
        """Write the requests, one in memory at a time.

        Return the keys of those that fit, and the digests of their images.
        """
        images: dict[str, list[str]] = {}
        by_index = {one.index: key for key, one in self._pending.items()}
        for one in islice(pending, MAX_REQUESTS):
            sent, hashes = await self._requester.messages(one.turn)
            body = {
                "model": self._requester.model,
                "messages": sent,
                **self._requester.capabilities.parameters(one.turn),
            }
            request = {"custom_id": by_index[one.index], "method": "POST", "url": "/v1/chat/completions", "body": body}
            line = json.dumps(request).encode() + b"\n"
            if images and file.tell() + len(line) > MAX_BYTES:
                break
            file.write(line)
            images[by_index[one.index]] = hashes
        return images

    async def _create(self, record: BatchRecord, file: str) -> Batch:
        client = self._client.with_options(max_retries=0)
        for attempt in range(_TRIES):
            if attempt:
                await stopping.sleep(self._poll)
                if (found := await self._find(record)) is not None:
                    return found
            try:
                return await client.batches.create(
                    input_file_id=file,
                    endpoint="/v1/chat/completions",
                    completion_window="24h",
                    metadata={_TAG: record.digest},
                )
            except (openai.APIConnectionError, openai.InternalServerError, openai.RateLimitError):
                continue  # the request may have arrived
        raise MachineError(
            "a batch could not be submitted; run the same command again: it checks whether the batch exists"
        )

    async def _find(self, record: BatchRecord) -> Batch | None:
        """Return the account's batch with this digest; None if there is none."""
        async for batch in self._client.batches.list(limit=100):
            if (batch.metadata or {}).get(_TAG) == record.digest:
                return batch
            if batch.created_at < record.at - _CLOCK_SKEW:
                return None
        return None

    async def _collect(self, record: BatchRecord) -> AsyncIterator[Rows]:
        with self._translated_errors():
            batch = await self._wait_for_end(record)
            if batch is None:
                self._log.add(digest=record.digest, closed="never submitted")
                return
            rows: Rows = []
            series, read = FailureSeries(), set[int]()
            for file in filter(None, (batch.output_file_id, batch.error_file_id)):
                async with self._client.files.with_streaming_response.content(file) as response:
                    async for line in response.iter_lines():
                        rows += self._row(_parsed_line(line), record, series, read)
                        if len(rows) >= ROWS:
                            yield self._recorded(rows)
                            rows = []
            again: list[PendingTurn] = []
            if len(series) < SERIES:
                rows += series.end()
            elif (reason := await self._unusable_reason(series)) is None:
                found, again = series.blame_questions()
                rows += found
            if rows:
                yield self._recorded(rows)
        self._log.add(digest=record.digest, closed=batch.status)
        if len(series) >= SERIES:
            raise MachineError(
                f"{len(series)} consecutive replies of {batch.id} are unusable, and the endpoint fails ({reason}); "
                "none of them is recorded. Run the same command again when it works: it submits these questions again"
            )
        if batch.status == "failed":
            words = "; ".join(error.message or "" for error in (batch.errors and batch.errors.data) or [])
            words = self._requester.key.redact(words) or "no reason given"
            raise MachineError(f"{batch.id} failed ({words}); the same command submits it anew")
        yield self._failed_rows(record, besides={one.index for one in again})

    async def _wait_for_end(self, record: BatchRecord) -> Batch | None:
        """Return the batch once it has ended; None if it was never submitted."""
        if record.batch is None:
            found = await self._find(record)
            if found is None:
                return None
            self._log.add(digest=record.digest, batch=found.id)
        while True:
            batch = await self._client.batches.retrieve(record.batch)
            if batch.status in _FINAL_STATES:
                return batch
            if time.monotonic() + self._poll > self._deadline:
                counts = batch.request_counts
                done = f"{counts.completed} of {counts.total} done" if counts else "under way"
                raise MachineError(
                    f"{batch.id} is {batch.status} ({done}); run the same command again later: it collects, and "
                    "submits nothing twice"
                )
            await stopping.sleep(self._poll)
            stopping.raise_if_requested()

    async def _unusable_reason(self, series: FailureSeries) -> str | None:
        """Ask an answered question again. Return why its reply is unusable; None if it is usable.

        Without an answered question, a series of `MAX_FIRST` is the endpoint's fault, as in single requests.
        """
        if self.proven is None:
            return "no question was answered" if len(series) >= MAX_FIRST else None
        try:
            reply = await self._requester.ask(PendingTurn(-1, self.proven))
        except (RetryableError, UnreadableReplyError) as error:
            return str(error)
        return reply.error if reply.finish in NOT_A_REPLY else None

    def _recorded(self, rows: Rows) -> Rows:
        """Return replies for the journal. Their questions are not submitted again."""
        self.discard(index for index, _ in rows)
        return rows

    def _row(self, line: Mapping[str, Any], record: BatchRecord, series: FailureSeries, read: set[int]) -> Rows:
        """Return the replies to record after a line of an output or error file.

        An unusable reply is added to the series, as is a question that is to be asked again because its reply cannot be
        read. ``read`` are the indices of the questions with a reply in this batch.
        """
        key = line.get("custom_id")
        one = self._pending.get(key)
        if one is None or one.index in read:
            return []
        response = line.get("response") or {}
        status, body = response.get("status_code"), response.get("body")
        try:
            reply = self._outcome(one, status, body, line.get("error"))
        except UnreadableReplyError as error:
            one.faults.append(str(error))
            series.add(one, None)
            return []
        if reply is None:
            return []
        read.add(one.index)
        details = dict(reply.details or {}) | {"batch": record.batch, "images": record.images.get(key)}
        reply = self._requester.with_details(reply, details)
        if reply.finish in NOT_A_REPLY:
            series.add(one, reply)
            return []
        if class_of(reply) is not None:
            return [(one.index, reply)]
        self.proven = self.proven or one.turn
        return [*(series.end() if len(series) < SERIES else ()), (one.index, reply)]

    def _outcome(self, one: PendingTurn, status: int | None, body: Any, error: Any) -> Reply | None:
        if status == 200:
            usage = None
            try:
                received = self._requester.parse_completion(body, one.turn, batch=True)
                usage = received.usage
            except UnreadableReplyError as unreadable:
                usage = unreadable.usage
                raise
            finally:
                if usage is not None:
                    self._budget.spend(usage, batch=True)
            return received.reply
        told = parse_error(body if isinstance(body, Mapping) else {"error": error})
        if status is None or status in (408, 409, 429) or status >= 500:
            one.faults.append(told.words or f"status {status}")
            return None
        return rejected_reply(status, told)

    def _failed_rows(self, record: BatchRecord, besides: Collection[int]) -> Rows:
        """Return failed replies for the questions that reached the maximum number of rounds, without some indices."""
        rows: Rows = []
        for key in record.images:
            one = self._pending.get(key)
            if one is None or one.index in besides:
                continue
            one.rounds += 1
            if one.rounds >= MAX_ROUNDS:
                del self._pending[key]
                reason = one.faults[-1] if one.faults else "the batch ended without a reply to it"
                failed = Reply("", finish="error", error=reason)
                details = {"batch": record.batch, "faults": one.faults, "images": record.images[key]}
                rows.append((one.index, self._requester.with_details(failed, details)))
        return rows

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Translate the client's errors."""
        try:
            yield
        except openai.APIStatusError as error:
            if error.response.has_redirect_location:
                path = self._requester.path("base_url")
                raise redirect_error(error.response, self._requester.key, path) from None
            words = self._requester.key.redact(error.message)
            if error.status_code in (401, 402, 403):
                self._requester.raise_if_fatal(error.status_code, words)
            raise MachineError(f"the Batch API answered {words}; the same command continues") from None
        except openai.APIConnectionError:
            raise MachineError("the Batch API cannot be reached; the same command continues") from None


def _parsed_line(line: str) -> Mapping[str, Any]:
    """Return a line of an output file; nothing if it is no JSON object. Its question is then asked again."""
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, Mapping) else {}
