"""Decisions of reviewers: the record, its file, and what decisions make of the questions.

The file has one JSON object on each line, appended, and on the disk before `DecisionLog.append` returns. The last field
of a line is ``crc32``, the checksum of the line's bytes before it. A line that a crash left incomplete at the end of
the file was never acknowledged; it is moved to ``<file>.torn`` when the file is opened for writing. An undo is a line
that names the decision that it withdraws.

To merge candidates with their decisions:

>>> decisions = read_decisions(["candidates.decisions.jsonl"])  # doctest: +SKIP
>>> applied = apply_decisions(read_candidates("candidates.jsonl"), decisions)  # doctest: +SKIP
>>> applied.counts  # Table 2 of Tong et al., 2025  # doctest: +SKIP
{'initial': 300, 'kept': 131, 'modified': 33, 'deleted': 136, 'final': 164, 'pending': 0, 'disputed': 0, 'stale': 0}
>>> applied.final  # the kept and the modified candidates, in the order of the file  # doctest: +SKIP

The rules, for one question:

1. A decision on another version of the question (its digest differs) does not count. It is stale.
2. Of several decisions by one reviewer, the last one that was not undone counts.
3. The decision of an adjudicator counts before all others.
4. Else the question is pending below ``required`` reviewers, and disputed if their results differ: one deletes it, or
   the final texts or answers are not the same.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from zlib import crc32

from pydantic import TypeAdapter, ValidationError

from known_unknowns.errors import DataError
from known_unknowns.files.append_file import AppendFile, Closing
from known_unknowns.variants.corrections import content_sha256
from known_unknowns_construction.candidates import Candidate

KEEP, MODIFY, DELETE, TAG, UNDO = "keep", "modify", "delete", "tag", "undo"
ACTIONS = (KEEP, MODIFY, DELETE, TAG, UNDO)
REVIEWER, ADJUDICATOR = "reviewer", "adjudicator"
ROLES = (REVIEWER, ADJUDICATOR)


@dataclass(frozen=True, slots=True)
class Content:
    """The part of a question that a reviewer judges and can change."""

    question: str  # the question without its options
    # labels and texts of the options. Their number never changes.
    labels: tuple[str, ...]
    options: tuple[str, ...]
    answer: str | None  # label of the correct option; None if none is correct

    def __post_init__(self) -> None:
        if len(self.labels) != len(self.options):
            raise ValueError(f"{len(self.options)} options with {len(self.labels)} labels")
        if self.answer is not None and self.answer not in self.labels:
            raise ValueError(f"the answer {self.answer!r} is not one of the labels {', '.join(self.labels)}")

    @property
    def sha256(self) -> str:
        """Digest of the content. A decision names it, so that it never counts for another version of the question."""
        return content_sha256(self.question, self.labels, self.options, self.answer)


@dataclass(frozen=True, slots=True)
class Decision:
    """One line of a decision file."""

    key: str  # identifier of the decision, unique within all files. The same key twice is the same decision.
    item: str  # id of the question
    sha256: str  # `Content.sha256` of the question as the reviewer saw it
    reviewer: str  # name of the reviewer
    time: str  # when the server wrote the decision: ISO 8601, UTC
    action: str  # one of `ACTIONS`
    role: str = REVIEWER  # one of `ROLES`
    reason: str = ""  # why, in the reviewer's words
    after: Content | None = None  # the question as the reviewer changed it, for the action "modify"
    tag: str = ""  # the kind of error, for the action "tag"
    undoes: str = ""  # key of the decision that is withdrawn, for the action "undo"
    seconds: float | None = None  # time that the question was shown before the decision

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise ValueError(f"the action {self.action!r} is not one of {', '.join(ACTIONS)}")
        if self.role not in ROLES:
            raise ValueError(f"the role {self.role!r} is not one of {', '.join(ROLES)}")
        for action, given, name in (
            (MODIFY, self.after is not None, "the changed question"),
            (TAG, bool(self.tag), "a tag"),
            (UNDO, bool(self.undoes), "the key of the decision that is withdrawn"),
        ):
            if (self.action == action) != given:
                raise ValueError(f"the action {self.action!r} {'without' if self.action == action else 'with'} {name}")

    def as_dict(self) -> dict[str, Any]:
        """Return the decision as JSON-able values, without those that are empty."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}


DECISION = TypeAdapter(Decision)
"""Reads decisions that `Decision.as_dict` gave."""


_SUFFIX = b', "crc32": "%08x"}\n'
_SUFFIX_SIZE = len(_SUFFIX % 0)
_BUSY = (
    "another review is writing this file. Stop it, or give --decisions another file; several files are merged when the "
    "decisions are applied"
)


def decision_line(decision: Decision) -> bytes:
    """Return the line of a decision, with its checksum and line feed."""
    text = json.dumps(decision.as_dict(), ensure_ascii=True, allow_nan=False).encode().removesuffix(b"}")
    return text + _SUFFIX % crc32(text)


def parse_decision(line: bytes) -> Decision | None:
    """Return the decision in a line; None if the line is torn or damaged."""
    text, suffix = line[:-_SUFFIX_SIZE], line[-_SUFFIX_SIZE:]
    if suffix != _SUFFIX % crc32(text):
        return None
    try:
        return DECISION.validate_json(text + b"}")
    except ValidationError:
        return None


def read_log(path: Path) -> tuple[list[Decision], int]:
    """Return the decisions of a file, and the offset at which the last whole line ends.

    Raises DataError if a line other than an incomplete last one is damaged.
    """
    decisions: list[Decision] = []
    end = 0
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                decision = parse_decision(line)
                if decision is None:
                    if not line.endswith(b"\n"):
                        break
                    raise DataError(
                        "this decision is damaged: its checksum is wrong. Restore the line from a copy, or move it to "
                        "another file; its question is then reviewed again",
                        file=path,
                        line=number,
                    )
                decisions.append(decision)
                end += len(line)
    except OSError as error:
        raise DataError(f"cannot read the decisions: {error.strerror}", file=path) from error
    return decisions, end


class DecisionLog(Closing):
    """A decision file opened for appending; a context manager. One process at a time may hold it.

    The file and its folder are created. Raises DataError if a line is damaged, MachineError if another process holds
    it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._file = AppendFile(self.path, busy=_BUSY)
        try:
            self._decisions, end = read_log(self.path)
            self._keys = {decision.key for decision in self._decisions}
            self._set_torn_aside(end)
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Close the file and release it for other processes."""
        self._file.close()

    @property
    def decisions(self) -> list[Decision]:
        """All decisions of the file, undone ones and undos included."""
        with self._lock:
            return list(self._decisions)

    def append(self, decision: Decision) -> bool:
        """Append a decision. When this returns, it is on the disk.

        False if a decision with the same key was there before, for example because a browser sent it again. Raises
        MachineError if the disk is full; the file is then as before.
        """
        line = decision_line(decision)
        with self._lock:
            if decision.key in self._keys:
                return False
            self._file.append(line, full="free some space. All earlier decisions are kept")
            self._decisions.append(decision)
            self._keys.add(decision.key)
            return True

    def _set_torn_aside(self, end: int) -> None:
        if torn := self._file.rest(end):
            with AppendFile(self.path.with_name(f"{self.path.name}.torn"), busy=_BUSY) as aside:
                aside.append(torn + b"\n", full="free some space")
            self._file.cut(end)


KEPT, MODIFIED, DELETED, TAGGED, PENDING, DISPUTED = "kept", "modified", "deleted", "tagged", "pending", "disputed"
STATES = (KEPT, MODIFIED, DELETED, TAGGED, PENDING, DISPUTED)
_STATE_OF = {KEEP: KEPT, MODIFY: MODIFIED, DELETE: DELETED, TAG: TAGGED}


def content_of(candidate: Candidate) -> Content:
    """Return the content of a candidate."""
    return Content(candidate.question, candidate.labels, candidate.options, candidate.answer)


def read_decisions(paths: Iterable[str | Path]) -> list[Decision]:
    """Read decision files in order. A line that was torn at the end of a file by a crash is left out.

    Raises DataError if a file cannot be read, or a line inside it is damaged.
    """
    found: dict[str, Decision] = {}
    for path in map(Path, paths):
        if not path.is_file():
            raise DataError("no such decision file", file=path)
        for decision in read_log(path)[0]:
            found.setdefault(decision.key, decision)
    return list(found.values())


Standing = Mapping[str, Mapping[tuple[str, str], Decision]]
"""Item to (role, reviewer) to the decision that counts."""


def standing(decisions: Iterable[Decision]) -> dict[str, dict[tuple[str, str], Decision]]:
    """Return the decision of each reviewer that counts for each item: the last one that was not undone."""
    decisions = list(decisions)
    undone = {decision.undoes for decision in decisions if decision.action == UNDO}
    found: dict[str, dict[tuple[str, str], Decision]] = {}
    for decision in decisions:
        if decision.action != UNDO and decision.key not in undone:
            of_item = found.setdefault(decision.item, {})
            of_item.pop((decision.role, decision.reviewer), None)  # the order is that of the last decisions
            of_item[decision.role, decision.reviewer] = decision
    return found


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the decisions make of one item."""

    state: str  # one of `STATES`
    content: Content | None  # the final content; None if the item is deleted, pending or disputed
    decisions: tuple[Decision, ...] = ()  # the decisions that count, in the order in which they were made
    adjudicated: bool = False  # whether an adjudicator decided
    stale: int = 0  # number of decisions that are about another version of the item

    @property
    def reasons(self) -> tuple[str, ...]:
        """The distinct reasons that were given."""
        return tuple(dict.fromkeys(decision.reason for decision in self.decisions if decision.reason))


def result(decision: Decision, content: Content) -> tuple[str, Content | None, str]:
    """Return the state, the final content, and the tag that a decision gives to an item."""
    after = {KEEP: content, MODIFY: decision.after, TAG: content}.get(decision.action)
    state = KEPT if decision.action == MODIFY and after == content else _STATE_OF[decision.action]
    return state, after, decision.tag


def outcome(content: Content, decisions: Iterable[Decision], *, required: int = 1) -> Outcome:
    """Return what the standing decisions on one item make of it (see the rules of the module)."""
    every = list(decisions)
    valid = [decision for decision in every if decision.sha256 == content.sha256]
    stale = len(every) - len(valid)
    deciding = [decision for decision in valid if decision.role == ADJUDICATOR][-1:]
    if not deciding:
        deciding = [decision for decision in valid if decision.role == REVIEWER]
        if len(deciding) < max(1, required):
            return Outcome(PENDING, None, tuple(deciding), stale=stale)
        if len({result(decision, content) for decision in deciding}) > 1:
            return Outcome(DISPUTED, None, tuple(deciding), stale=stale)
    state, after, _ = result(deciding[0], content)
    return Outcome(state, after, tuple(deciding), deciding[0].role == ADJUDICATOR, stale)


def outcomes(
    contents: Mapping[str, Content], decisions: Iterable[Decision], *, required: int = 1
) -> dict[str, Outcome]:
    """Return the outcome of each item, from its id and content, in the order of the items."""
    found = standing(decisions)
    return {
        item: outcome(content, found.get(item, {}).values(), required=required) for item, content in contents.items()
    }


def final_candidate(candidate: Candidate, found: Outcome) -> Candidate | None:
    """Return a candidate as its outcome leaves it; None unless it is kept or modified.

    The ``source`` of a modified candidate has the content before the review under "original".
    """
    if found.state == KEPT:
        return candidate
    if found.state != MODIFIED or found.content is None or found.content.answer is None:
        return None
    before = {"question": candidate.question, "options": list(candidate.options), "answer": candidate.answer}
    return replace(
        candidate,
        question=found.content.question,
        options=found.content.options,
        answer=found.content.answer,
        source={**candidate.source, "original": before},
    )


@dataclass(frozen=True, slots=True)
class AppliedDecisions:
    """Candidates merged with decisions, in the order of the candidates."""

    final: tuple[Candidate, ...]  # the kept and the modified candidates
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)  # id of each candidate to its outcome
    unknown: int = 0  # number of decisions on ids that no candidate has

    def ids(self, state: str) -> list[str]:
        """Return the ids of the candidates in a state: one of `STATES`."""
        return [identifier for identifier, found in self.outcomes.items() if found.state == state]

    @property
    def counts(self) -> dict[str, int]:
        """The counts of Table 2 of Tong et al. (2025), then pending, disputed and stale ones."""
        return counts_of(self.outcomes.values())


def counts_of(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Return the number of items in each state, as `AppliedDecisions.counts` has them."""
    every = list(outcomes)
    found = Counter(each.state for each in every)
    return {
        "initial": len(every),
        **{state: found[state] for state in (KEPT, MODIFIED, DELETED)},
        "final": found[KEPT] + found[MODIFIED],
        **{state: found[state] for state in (PENDING, DISPUTED)},
        "stale": sum(each.stale for each in every),
    }


def apply_decisions(
    candidates: Iterable[Candidate], decisions: Sequence[Decision], *, required: int = 1
) -> AppliedDecisions:
    """Merge candidates with all decisions, undone ones too. Below ``required`` reviewers, a candidate is pending."""
    every = {candidate.id: candidate for candidate in candidates}
    contents = {identifier: content_of(candidate) for identifier, candidate in every.items()}
    found = outcomes(contents, decisions, required=required)
    after = (final_candidate(candidate, found[identifier]) for identifier, candidate in every.items())
    unknown = sum(len(of_item) for item, of_item in standing(decisions).items() if item not in every)
    return AppliedDecisions(tuple(each for each in after if each is not None), found, unknown)
