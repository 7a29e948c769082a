"""The records of a review: the content of a question, and a decision on it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter

from known_unknowns.variants.corrections import content_sha256

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
