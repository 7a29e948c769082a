"""A running review: who reviews what, the queue of each reviewer, and what is decided."""

from __future__ import annotations

import re
import statistics
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from known_unknowns.errors import ConfigError, KnownUnknownsError
from known_unknowns_construction.review.decisions import (
    ADJUDICATOR,
    DELETE,
    DISPUTED,
    KEEP,
    MODIFY,
    PENDING,
    REVIEWER,
    TAG,
    UNDO,
    Content,
    Decision,
    DecisionLog,
    outcome,
    result,
    standing,
)
from known_unknowns_construction.review.items import ERRORS, QUESTIONS, Item, Source

TAGS = (
    "perception",
    "counting",
    "language prior",
    "over-refusal",
    "under-refusal",
    "annotation error",
    "parser",
    "other",
)
"""Kinds of wrong answers; docs/construction.md#review defines them."""
REASONS = (
    "question is unclear",
    "options are not sound",
    "several options are correct",
    "answerable without the image",
    "image does not show it",
    "trivial or duplicate",
)
"""Reasons for a deletion that the page offers."""
_ACTIONS = {QUESTIONS: (KEEP, MODIFY, DELETE), ERRORS: (TAG,)}
_NAME = re.compile(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]{0,62}[^\s\x00-\x1f\x7f])?")
_PACE_OVER, _LONGEST = 20, 600.0


Key = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Name = Annotated[str, Field(max_length=64)]


class RejectedRequest(KnownUnknownsError):
    """A request that the review cannot fulfil. ``status`` is that of HTTP."""

    def __init__(self, message: str, status: int = 422) -> None:
        super().__init__(message)
        self.status = status


class SentDecision(BaseModel):
    """A decision as the page sends it; `known_unknowns_construction.review.decisions.Decision` has the fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: Key
    reviewer: Name
    item: Annotated[int, Field(ge=0)]
    sha256: str
    action: str
    reason: Annotated[str, Field(max_length=2000)] = ""
    after: Content | None = None
    tag: str = ""
    seconds: Annotated[float, Field(ge=0, le=86_400)] | None = None


class SentUndo(BaseModel):
    """A request to undo the last decision."""

    key: Key
    reviewer: Name


class Review:
    """The items of a source, the decisions of a file, and the queues of reviewers.

    Several reviewers share the items between them, images being kept together; ``blind``, every reviewer gets all
    items, and sees no other's decision. With ``adjudicate``, the queue has the disputed items, and the decisions on
    them are shown; below ``required`` reviewers an item is not disputed. Decisions are appended to ``log``; ``others``
    are those of further files, which are not written.
    """

    def __init__(
        self,
        source: Source,
        log: DecisionLog,
        *,
        reviewers: Sequence[str],
        blind: bool = False,
        adjudicate: bool = False,
        required: int = 1,
        others: Sequence[Decision] = (),
    ) -> None:
        for name in reviewers:
            if not _NAME.fullmatch(name):
                raise ConfigError(f"{name!r} is not a name of 1 to 64 characters", path="--reviewer")
        if not reviewers or len(set(reviewers)) != len(reviewers):
            raise ConfigError("give different names, at least one", path="--reviewer")
        self.source, self.log = source, log
        self.reviewers, self.blind, self.required = tuple(sorted(reviewers)), blind, required
        self.role = ADJUDICATOR if adjudicate else REVIEWER
        self._lock = threading.Lock()
        self._by_id = {item.id: place for place, item in enumerate(source.items)}
        self._digests = [item.content.sha256 for item in source.items]
        self._others = others
        self._found = standing([*others, *log.decisions])
        self._queues = {name: dict.fromkeys(self._queue(name)) for name in self.reviewers}

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions that this kind of review has."""
        return _ACTIONS[self.source.kind]

    def queue(self, reviewer: str) -> list[int]:
        """Return the places of the reviewer's items in the source."""
        if reviewer not in self._queues:
            raise RejectedRequest(f"{reviewer!r} is not one of the reviewers: {', '.join(self.reviewers)}", 404)
        return list(self._queues[reviewer])

    def item(self, reviewer: str, place: int) -> Item:
        """Return an item of the reviewer's queue."""
        self.queue(reviewer)
        if place not in self._queues[reviewer]:
            raise RejectedRequest("this item is not in the reviewer's queue", 404)
        return self.source.items[place]

    def own(self, reviewer: str, place: int) -> Decision | None:
        """Return the decision of this reviewer that counts."""
        decision = self._found.get(self.source.items[place].id, {}).get((self.role, reviewer))
        return decision if decision is not None and decision.sha256 == self._digests[place] else None

    def state(self, reviewer: str, place: int) -> str:
        """Return what the reviewer's own decision makes of an item of the queue."""
        decision = self.own(reviewer, place)
        return PENDING if decision is None else result(decision, self.source.items[place].content)[0]

    def of_others(self, reviewer: str, place: int) -> list[Decision]:
        """Return the reviewers' decisions that an adjudicator sees; nothing for a reviewer."""
        if self.role != ADJUDICATOR:
            return []
        every = self._found.get(self.source.items[place].id, {}).values()
        return [d for d in every if d.role == REVIEWER and d.sha256 == self._digests[place]]

    def decide(self, request: SentDecision) -> Decision:
        """Check a decision and append it. When this returns, it is on the disk.

        Raises RejectedRequest if the decision is not possible, MachineError if it cannot be written.
        """
        item = self.item(request.reviewer, request.item)
        if request.sha256 != self._digests[request.item]:
            raise RejectedRequest("the question was changed since it was shown; load the page again", 409)
        after = checked(request, item, self.actions)
        if after is not None and self.source.needs_reason and not request.reason.strip():
            raise RejectedRequest("a correction of a published question needs a reason")
        decision = Decision(
            key=request.key,
            item=item.id,
            sha256=request.sha256,
            reviewer=request.reviewer,
            time=_now(),
            action=request.action,
            role=self.role,
            reason=request.reason.strip(),
            after=after,
            tag=request.tag,
            seconds=None if request.seconds is None else round(request.seconds, 1),
        )
        self._append(decision)
        return decision

    def undo(self, reviewer: str, key: str) -> int | None:
        """Withdraw the reviewer's last decision that counts, by an appended line.

        Returns the place of its item; None if there is no decision to undo.
        """
        self.queue(reviewer)
        with self._lock:
            lines = self.log.decisions
            sent = next((line for line in lines if line.key == key), None)  # the page sends again what it is unsure of
            if sent is not None:
                return self._by_id.get(sent.item)
            undone = {line.undoes for line in lines}
            last = next(
                (
                    line
                    for line in reversed(lines)
                    if (line.role, line.reviewer) == (self.role, reviewer)
                    and line.action != UNDO
                    and line.key not in undone
                    and self._by_id.get(line.item) in self._queues[reviewer]
                ),
                None,
            )
        if last is None:
            return None
        self._append(Decision(key, last.item, last.sha256, reviewer, _now(), UNDO, self.role, undoes=last.key))
        return self._by_id[last.item]

    def progress(self, reviewer: str) -> dict[str, Any]:
        """Return the number of items in each state, the pace, and the time left.

        The pace is the median time in seconds of the last 20 decisions without breaks; None before the first.
        """
        places = self.queue(reviewer)
        counts = Counter(self.state(reviewer, place) for place in places)
        own = (line.seconds for line in self.log.decisions if line.reviewer == reviewer)
        times = [seconds for seconds in own if seconds is not None and seconds <= _LONGEST][-_PACE_OVER:]
        pace = statistics.median(times) if times else None
        return {
            "total": len(places),
            "counts": dict(counts),
            "pace": pace,
            "seconds_left": None if pace is None else pace * counts[PENDING],
        }

    def _append(self, decision: Decision) -> None:
        with self._lock:
            if self.log.append(decision):
                self._found = standing([*self._others, *self.log.decisions])

    def _queue(self, reviewer: str) -> list[int]:
        items = self.source.items
        if self.role == ADJUDICATOR:
            return [place for place in range(len(items)) if self._is_disputed(place)]
        if self.blind or len(self.reviewers) == 1:
            return list(range(len(items)))
        assigned = shared_out([item.group for item in items], self.reviewers)
        return [
            place
            for place, name in enumerate(assigned)
            if self.own(reviewer, place) or (name == reviewer and not self._decided_by_another(reviewer, place))
        ]

    def _is_disputed(self, place: int) -> bool:
        """Whether reviewers differ on an item, adjudicated or not."""
        of_item = self._found.get(self.source.items[place].id, {}).values()
        by_reviewers = [decision for decision in of_item if decision.role == REVIEWER]
        return outcome(self.source.items[place].content, by_reviewers, required=self.required).state == DISPUTED

    def _decided_by_another(self, reviewer: str, place: int) -> bool:
        of_item = self._found.get(self.source.items[place].id, {})
        return any(
            role == REVIEWER and name != reviewer and decision.sha256 == self._digests[place]
            for (role, name), decision in of_item.items()
        )


def checked(request: SentDecision, item: Item, actions: Iterable[str]) -> Content | None:
    """Return the changed content of a request, or None.

    Raises RejectedRequest if the action is not one of ``actions``, or what it needs is missing or not sound.
    """
    if request.action not in actions:
        raise RejectedRequest(f"the action is {request.action!r}; this review has {', '.join(actions)}")
    if request.action == TAG and request.tag not in TAGS:
        raise RejectedRequest(f"the tag is {request.tag!r}; give one of {', '.join(TAGS)}")
    if request.action == DELETE and not request.reason.strip():
        raise RejectedRequest("a deletion needs a reason")
    if request.action != MODIFY:
        return None
    before, after = item.content, request.after
    if after is None or after == before:
        raise RejectedRequest("nothing is changed: choose another answer or edit a text")
    if after.labels != before.labels:
        raise RejectedRequest("the labels and the number of options cannot be changed")
    if after.answer is None and before.answer is not None:
        raise RejectedRequest("choose an answer")
    if not all(text.strip() for text in (after.question, *after.options)):
        raise RejectedRequest("the question and each option need a text")
    repeated = {text.strip().casefold() for text in after.options}
    if len(repeated) < len(after.options) and after.options != before.options:
        raise RejectedRequest("two options have the same text")
    for old, new in zip((before.question, *before.options), (after.question, *after.options), strict=True):
        if len(new.splitlines()) > max(1, len(old.splitlines())):
            raise RejectedRequest("a text has a new line break")
    return after


def shared_out(groups: Sequence[str], reviewers: Sequence[str]) -> list[str]:
    """Return the reviewer of each item: whole groups, in order, each to the one with the fewest items so far."""
    sizes = Counter(groups)
    load = dict.fromkeys(reviewers, 0)
    owner = {}
    for group, size in sizes.items():
        owner[group] = min(load, key=lambda name: load[name])
        load[owner[group]] += size
    return [owner[group] for group in groups]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
