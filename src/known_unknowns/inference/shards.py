"""Shards: parts of the questions of one benchmark that different jobs ask, for example one for each GPU.

The questions are divided into *blocks*, which depend on the questions only, never on the number of shards. Shard k of N
asks the blocks k, k + N, k + 2N and so on, one after another. An engine receives the turns of one block at a time, so
that its batches, and with them the last digits of its log-probabilities, are the same for every number of shards and in
whatever order the shards end. Questions about one image are in one block, and so are equal turns.

Each shard appends to a journal of its own, <benchmark>.shard-<k>-of-<N>.jsonl, and reads all others. `whole_journal`
moves their replies to <benchmark>.jsonl, so that a later run, with any number of shards, asks none of them again.
"""

from __future__ import annotations

import fcntl
import glob
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, TypeVar

from known_unknowns.config import ModelEntry, OpenAIModel
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.files import atomic_path
from known_unknowns.inference.journal import Journal, read_batches
from known_unknowns.records import Question, Reply, Turn

DIALOGUES_PER_BLOCK = 256
"""Approximate size of a block: enough for full batches, and few enough to divide the work evenly."""
MIN_BLOCKS, MAX_BLOCKS = 16, 840
"""Limits of the number of blocks. Both are multiples of 8, the larger one of all numbers up to 8."""
_LINES_AT_ONCE = 256
_NAME = re.compile(r"\.shard-[0-9]+-of-[0-9]+\.jsonl")


@dataclass(frozen=True, slots=True)
class Shard:
    """The ``number``-th of ``count`` shards, from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard that "2/7" names. ConfigError for anything else."""
        match = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise ConfigError(f"{text!r} is not a shard, such as 1/4 for the first of four", path="--shard")
        return cls(int(match[1]), int(match[2]))

    @property
    def name(self) -> str:
        return f"{self.number}-of-{self.count}"

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def shards_of(entry: ModelEntry) -> int | None:
    """Return the number of shards of a model's entry; None if one job asks all questions."""
    return getattr(entry, "shards", None)


def in_blocks(entry: ModelEntry) -> bool:
    """Whether a model is asked in blocks, so that its batches are the same for every number of shards.

    A server makes batches of its own.
    """
    return shards_of(entry) is not None or (entry.takes_any_gpus and not isinstance(entry, OpenAIModel))


class OpenDialogue(Protocol):
    """A question whose first turn is known. ``key`` is the turn's key in the journal."""

    @property
    def question(self) -> Question: ...

    @property
    def turn(self) -> Turn | None: ...

    @property
    def key(self) -> str: ...


Dialogue = TypeVar("Dialogue", bound=OpenDialogue)


def blocks(dialogues: Sequence[Dialogue], shard: Shard) -> Iterator[list[Dialogue]]:
    """Yield the blocks of a shard; ``Shard(1, 1)`` has all blocks.

    ``dialogues`` are all questions of the benchmark in all variants and seeds, with their first turns. A block
    consists of whole units, in the order of their digests. A unit has all questions of one `Question.group`, the
    original image, in all variants. Questions whose first turn shows what several groups have in common, such as a
    blank image or no image, are a unit for each first turn: there may be thousands of them.
    """
    units: dict[str, list[int]] = defaultdict(list)
    for index, unit in enumerate(_units(dialogues)):
        units[unit].append(index)
    number = min(MAX_BLOCKS, max(MIN_BLOCKS, len(dialogues) // DIALOGUES_PER_BLOCK))
    members: dict[int, list[int]] = defaultdict(list)
    before = 0
    for unit in sorted(units):
        members[before * number // len(dialogues)] += units[unit]
        before += len(units[unit])
    for block in sorted(members):
        if block % shard.count == shard.number - 1:
            yield [dialogues[index] for index in sorted(members[block])]


def _units(dialogues: Sequence[OpenDialogue]) -> Iterator[str]:
    groups: dict[tuple[str, ...], set[str]] = defaultdict(set)
    shown = [_images(dialogue.turn) for dialogue in dialogues]
    for images, dialogue in zip(shown, dialogues, strict=True):
        groups[images].add(dialogue.question.group)
    for images, dialogue in zip(shown, dialogues, strict=True):
        alone = bool(images) and len(groups[images]) == 1
        name = f"group\0{dialogue.question.group}" if alone else f"turn\0{dialogue.key}"
        yield sha256(name.encode()).hexdigest()


def _images(turn: Turn | None) -> tuple[str, ...]:
    return () if turn is None else tuple(image.sha256 for image in turn.images)


class ShardJournal(Journal):
    """The journal of a shard, which also has the replies of the benchmark's other journals.

    Several shards are open at the same time, each in one process; the ``whole`` journal cannot be open beside them.
    """

    def __init__(self, whole: Path, shard: Shard) -> None:
        whole.parent.mkdir(parents=True, exist_ok=True)
        self._whole = os.open(whole, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(self._whole, fcntl.LOCK_SH | fcntl.LOCK_NB)
            super().__init__(shard_path(whole, shard))
        except BlockingIOError:
            os.close(self._whole)
            raise MachineError(f"{whole}: another run is writing this journal; wait for it, or stop it") from None
        except BaseException:
            os.close(self._whole)
            raise
        try:
            for path in (*reversed(shard_paths(whole)), whole):
                if path != self.path:
                    self._replies |= read_batches(path)[0]
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self.path.is_file() and not self.path.stat().st_size:
            self.path.unlink()
        super().close()
        os.close(self._whole)


@contextmanager
def whole_journal(path: Path) -> Iterator[Journal]:
    """Open the journal of a benchmark, after the replies of its shards were moved to it.

    Raises MachineError if a process holds the journal, or that of a shard.
    """
    with Journal(path) as journal:
        for shard in shard_paths(path):
            _absorb(journal, shard)
        yield journal


def _absorb(journal: Journal, path: Path) -> None:
    """Move the replies and notes of a shard. A reply that the journal has is kept, so that a kill is harmless."""
    with Journal(path) as part:
        missing = [(key, reply) for key, reply in part.items() if key not in journal]
        for start in range(0, len(missing), _LINES_AT_ONCE):
            journal.append(missing[start : start + _LINES_AT_ONCE])
        _absorb_notes(notes_path(journal.path), notes_path(path))
        path.unlink()


def _absorb_notes(notes: Path, of_shard: Path) -> None:
    if not of_shard.is_file():
        return
    added = of_shard.read_bytes()
    mark = json.dumps({"moved": sha256(added).hexdigest()}).encode()
    before = notes.read_bytes() if notes.is_file() else b""
    if mark not in before.splitlines():
        with atomic_path(notes) as partial:
            partial.write_bytes(before + b"\n" + mark + b"\n" + added)
    of_shard.unlink()


def shard_path(journal: Path, shard: Shard) -> Path:
    """Return the path of a shard's journal."""
    return journal.with_name(f"{journal.stem}.shard-{shard.name}.jsonl")


def shard_paths(journal: Path) -> list[Path]:
    """Return the journals of shards that exist beside the journal of a benchmark, in a fixed order."""
    journals = journal.parent.glob(f"{glob.escape(journal.stem)}.shard-*.jsonl")
    return sorted(path for path in journals if _NAME.fullmatch(path.name.removeprefix(journal.stem)))


def notes_path(journal: Path) -> Path:
    """Return the file in which an engine keeps its notes beside a journal."""
    return journal.with_suffix(".notes.jsonl")


def record_path(folder: Path, shard: Shard) -> Path:
    """Return the path of a shard's record in the folder of the records of a model and a benchmark."""
    return folder / f"{shard.name}.json"


def combined_about(about: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the engines of the shards report of themselves, as one.

    Of texts that differ, such as the devices, it has all; of the prompts by plan, the sums. ``about`` is what an
    earlier run recorded; it counts if no shard has asked anything.
    """
    abouts = [record["about"] for record in records if record["newly_asked"]]
    if not abouts:
        return dict(about)
    combined = dict(abouts[0])
    for key, value in combined.items():
        if isinstance(value, str):
            combined[key] = "; ".join(sorted({str(each.get(key)) for each in abouts}))
    if sharing := [each["sharing"] for each in abouts if each.get("sharing")]:
        combined["sharing"] = _combined_sharing(sharing)
    return combined


def _combined_sharing(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found = dict(summaries[0])
    prompts: dict[str, int] = defaultdict(int)
    differences: dict[str, float] = defaultdict(float)
    for summary in summaries:
        for plan, count in summary.get("prompts", {}).items():
            prompts[plan] += count
        for plan, value in summary.get("differences", {}).items():
            differences[plan] = max(differences[plan], value)
    if "prompts" in found:
        found["checked_on_pictures"] = sum(summary.get("checked_on_pictures", 0) for summary in summaries)
        found |= {"prompts": dict(prompts), "differences": dict(differences)}
    stopped = {json.dumps(each, sort_keys=True) for summary in summaries for each in summary.get("fell_back", ())}
    if stopped:
        found["fell_back"] = [json.loads(each) for each in sorted(stopped)]
    return found


def replies_of(journal: Path) -> dict[str, Reply]:
    """Return the replies in the journals of a benchmark, those of its shards included. No lock is taken."""
    replies: dict[str, Reply] = {}
    for path in (*reversed(shard_paths(journal)), journal):
        if path.is_file():
            replies |= read_batches(path)[0]
    return replies
