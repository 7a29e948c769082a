"""Decisions of reviewers, and what they make of the questions.

A decision file has one JSON object on each line (`known_unknowns_construction.review.log`). Lines are only appended:
an undo is a line that names the decision that it withdraws.

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

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from known_unknowns.errors import DataError
from known_unknowns_construction.candidates import Candidate
from known_unknowns_construction.review.log import read_log
from known_unknowns_construction.review.records import (
    ADJUDICATOR,
    DELETE,
    KEEP,
    MODIFY,
    REVIEWER,
    TAG,
    UNDO,
    Content,
    Decision,
)

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
