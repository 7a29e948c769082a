"""OpenAI's Batch API: half the price, within a day. Submit, remember, come back, collect; never submit twice.

A run that died between the note that it was about to submit and the note of the batch's id (see `batch_notes`) looks
for the digest in the metadata of the account's batches. The client does not repeat a submission by itself: it could
not know whether the first try arrived.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import IO, Any

import openai
from openai.types import Batch

from known_unknowns.engines.endpoint.batch_notes import Note, Notes
from known_unknowns.engines.endpoint.capabilities import say
from known_unknowns.engines.endpoint.queueing import ROUNDS, Rows
from known_unknowns.engines.endpoint.replies import Unreadable
from known_unknowns.engines.endpoint.request import Asker, Pending, complaint, rejection
from known_unknowns.errors import MachineError
from known_unknowns.records import Reply

MOST_REQUESTS, MOST_BYTES = 50_000, 190_000_000
"""Of one batch: OpenAI takes 50,000 requests and 200 MB."""
WAIT_HOURS, POLL_SECONDS = 25.0, 60.0
ROWS = 256
"""So many replies are handed to the journal at once."""
_TRIES = 3
_TAG = "known_unknowns"  # the name of the digest in a batch's metadata
_OVER = ("completed", "failed", "expired", "cancelled")
_CLOCK_SKEW = 3600


class Batches:
    """The questions of one wave, by their keys, and the batches that hold them."""

    def __init__(self, asker: Asker, pending: Iterable[Pending], *, notes: Path, facts: Mapping[str, Any]) -> None:
        self._asker, self._client, self._budget = asker, asker.client, asker.budget
        self._pending = {one.turn.key(facts): one for one in pending}
        self._notes = Notes(notes)
        settings = asker.settings.batch or {}
        self._poll = float(settings.get("poll_seconds", POLL_SECONDS))
        self._deadline = time.monotonic() + 3600 * float(settings.get("wait_hours", WAIT_HOURS))

    def new(self) -> list[Pending]:
        """The questions that are in no batch under way."""
        under_way = {key for note in self._notes.open() for key in note.images}
        return [one for key, one in self._pending.items() if key not in under_way]

    def drop(self, indices: Iterable[int]) -> None:
        """Forget questions that were answered otherwise."""
        gone = set(indices)
        self._pending = {key: one for key, one in self._pending.items() if one.index not in gone}

    async def collect(self) -> AsyncIterator[Rows]:
        """Submit what is in no batch yet and hand out all replies as their batches end. When the next are asked for,
        those before must be in the journal."""
        while self._pending:
            await self._submit_new()
            for note in self._notes.open():
                async for rows in self._collect(note):
                    yield rows

    async def _submit_new(self) -> None:
        while new := self.new():
            affordable = self._affordable(new)
            if affordable:
                await self._submit(affordable)
            elif self._notes.open():
                return  # once they are collected, more may be affordable
            else:
                raise self._budget.stop()

    def _affordable(self, new: list[Pending]) -> list[Pending]:
        """As many of the questions as the budget bears beside those under way, if each takes the most it can."""
        free = {one.index for one in new}
        under_way = [one for one in self._pending.values() if one.index not in free]
        total = {"tokens": 0.0, "usd": 0.0}
        chosen = []
        for one in [*under_way, *new]:
            cost = self._budget.cost(self._asker.bound(one.turn), batch=True)
            total = {unit: total[unit] + cost[unit] for unit in total}
            if one.index in free:
                if not self._budget.affords(total):
                    break
                chosen.append(one)
        return chosen

    async def _submit(self, pending: list[Pending]) -> None:
        """Submit one batch of the first of these, as many as it may hold."""
        with tempfile.TemporaryFile(dir=self._notes.path.parent) as file:
            images = await self._write(pending, file)
            at = int(time.time())
            digest = sha256("\n".join([str(len(self._notes.batches)), str(at), *images]).encode()).hexdigest()[:32]
            note = self._notes.add(digest=digest, images=images, at=at)
            with self._told():
                file.seek(0)
                uploaded = await self._client.files.create(file=("questions.jsonl", file), purpose="batch")
                batch = await self._create(note, uploaded.id)
        self._notes.add(digest=digest, batch=batch.id)
        say(self._asker.settings.name, f"submitted {len(images)} questions as {batch.id}")

    async def _write(self, pending: list[Pending], file: IO[bytes]) -> dict[str, list[str]]:
        """Write the requests, one in memory at a time; returns the keys of those that fitted, and their pictures."""
        images: dict[str, list[str]] = {}
        by_index = {one.index: key for key, one in self._pending.items()}
        for one in islice(pending, MOST_REQUESTS):
            sent, hashes = await self._asker.messages(one.turn)
            body = {"model": self._asker.model, "messages": sent, **self._asker.capabilities.parameters(one.turn)}
            request = {"custom_id": by_index[one.index], "method": "POST", "url": "/v1/chat/completions", "body": body}
            line = json.dumps(request).encode() + b"\n"
            if images and file.tell() + len(line) > MOST_BYTES:
                break
            file.write(line)
            images[by_index[one.index]] = hashes
        return images

    async def _create(self, note: Note, file: str) -> Batch:
        client = self._client.with_options(max_retries=0)
        for attempt in range(_TRIES):
            if attempt:
                await asyncio.sleep(self._poll)
                if (found := await self._find(note)) is not None:
                    return found
            try:
                return await client.batches.create(
                    input_file_id=file,
                    endpoint="/v1/chat/completions",
                    completion_window="24h",
                    metadata={_TAG: note.digest},
                )
            except (openai.APIConnectionError, openai.InternalServerError, openai.RateLimitError):
                continue  # it may have arrived all the same
        raise MachineError("a batch could not be submitted; run the same command again: it finds out whether it was")

    async def _find(self, note: Note) -> Batch | None:
        """The batch with this digest, among those of the account that are not older."""
        async for batch in self._client.batches.list(limit=100):
            if (batch.metadata or {}).get(_TAG) == note.digest:
                return batch
            if batch.created_at < note.at - _CLOCK_SKEW:
                return None
        return None

    async def _collect(self, note: Note) -> AsyncIterator[Rows]:
        with self._told():
            batch = await self._ended(note)
            if batch is None:
                self._notes.add(digest=note.digest, closed="never submitted")
                return
            rows: Rows = []
            for file in filter(None, (batch.output_file_id, batch.error_file_id)):
                async with self._client.files.with_streaming_response.content(file) as response:
                    async for line in response.iter_lines():
                        rows += self._row(json.loads(line), note) if line.strip() else []
                        if len(rows) >= ROWS:
                            yield rows
                            rows = []
            if rows:
                yield rows
        self._notes.add(digest=note.digest, closed=batch.status)
        if batch.status == "failed":
            words = "; ".join(error.message or "" for error in (batch.errors and batch.errors.data) or [])
            words = self._asker.key.scrub(words) or "no reason given"
            raise MachineError(f"{batch.id} failed ({words}); the same command submits it anew")
        yield self._given_up(note)

    async def _ended(self, note: Note) -> Batch | None:
        """The batch, once it is over; None where it was never submitted."""
        if note.batch is None:
            found = await self._find(note)
            if found is None:
                return None
            self._notes.add(digest=note.digest, batch=found.id)
        while True:
            batch = await self._client.batches.retrieve(note.batch)
            if batch.status in _OVER:
                return batch
            if time.monotonic() + self._poll > self._deadline:
                counts = batch.request_counts
                done = f"{counts.completed} of {counts.total} done" if counts else "under way"
                raise MachineError(
                    f"{batch.id} is {batch.status} ({done}); run the same command again later: it collects, and "
                    "submits nothing twice"
                )
            await asyncio.sleep(self._poll)

    def _row(self, line: Mapping[str, Any], note: Note) -> Rows:
        """The reply in a line of an output or error file; none for a question that is to be asked again."""
        key = line.get("custom_id")
        one = self._pending.get(key)
        if one is None:
            return []
        response = line.get("response") or {}
        status, body = response.get("status_code"), response.get("body")
        try:
            reply = self._outcome(one, status, body, line.get("error"))
        except Unreadable as error:
            one.faults.append(str(error))
            return []
        if reply is None:
            return []
        del self._pending[key]
        details = dict(reply.details or {}) | {"batch": note.batch, "images": note.images.get(key)}
        return [(one.index, self._asker.scrubbed(reply, details))]

    def _outcome(self, one: Pending, status: int | None, body: Any, error: Any) -> Reply | None:
        if status == 200:
            received = self._asker.received(body, one.turn, batch=True)
            if received.usage:
                self._budget.spend(received.usage, batch=True)
            return received.reply
        told = body if isinstance(body, Mapping) else {"error": error}
        code, _, words = complaint(told.get("error", told))
        if status is None or status in (408, 409, 429) or status >= 500:
            one.faults.append(words or f"status {status}")
            return None
        return rejection(status, code, words)

    def _given_up(self, note: Note) -> Rows:
        """Questions that were in as many batches in vain as they may be."""
        rows: Rows = []
        for key in note.images:
            one = self._pending.get(key)
            if one is None:
                continue
            one.rounds += 1
            if one.rounds >= ROUNDS:
                del self._pending[key]
                reason = one.faults[-1] if one.faults else "the batch ended without a reply to it"
                failed = Reply("", finish="error", error=reason)
                details = {"batch": note.batch, "faults": one.faults, "images": note.images[key]}
                rows.append((one.index, self._asker.scrubbed(failed, details)))
        return rows

    @contextmanager
    def _told(self) -> Iterator[None]:
        """The client's errors as ours."""
        try:
            yield
        except openai.APIStatusError as error:
            words = self._asker.key.scrub(error.message)
            if error.status_code in (401, 402, 403):
                self._asker.stop_for(error.status_code, words)
            raise MachineError(f"the Batch API answered {words}; the same command continues") from None
        except openai.APIConnectionError:
            raise MachineError("the Batch API cannot be reached; the same command continues") from None
