"""Queues, progress and undo of a running review."""

from __future__ import annotations

from dataclasses import replace

import pytest

from known_unknowns.errors import ConfigError
from known_unknowns_construction.review.decisions import DecisionLog, content_of
from known_unknowns_construction.review.items import ERRORS, QUESTIONS, Item, Source
from known_unknowns_construction.review.session import RejectedRequest, Review, SentDecision

from .test_decisions import candidate, decision

GROUPS = ("i1", "i1", "i1", "i2", "i2", "i3", "i4", "i4")
CANDIDATES = [candidate(f"c{place}", group=group) for place, group in enumerate(GROUPS)]


@pytest.fixture
def log(tmp_path):
    with DecisionLog(tmp_path / "d.jsonl") as opened:
        yield opened


def source(**changes) -> Source:
    items = [Item(c.id, c.group, c.kind, content_of(c), ()) for c in CANDIDATES]
    return replace(Source("test", QUESTIONS, items), **changes)


def request(place: int, action: str = "keep", reviewer: str = "ann", **changes) -> SentDecision:
    digest = content_of(CANDIDATES[place]).sha256
    values = {"key": f"{place:032d}", "reviewer": reviewer, "item": place, "sha256": digest, "action": action}
    return SentDecision(**values | changes)


def test_several_reviewers_have_separate_queues(log):
    review = Review(source(), log, reviewers=["bo", "ann"])
    assert review.queue("ann") == [0, 1, 2, 6, 7] and review.queue("bo") == [3, 4, 5]
    with pytest.raises(RejectedRequest, match="not in the reviewer's queue"):
        review.decide(request(3))


def test_a_third_reviewer_gets_only_what_nobody_decided(log):
    review = Review(source(), log, reviewers=["ann"])
    for place in (0, 3):
        review.decide(request(place))
    later = Review(source(), log, reviewers=["ann", "bo"])
    assert later.queue("ann") == [0, 1, 2, 3, 6, 7] and later.queue("bo") == [4, 5]


def test_an_adjudicator_gets_what_is_disputed(log):
    for line in (
        decision(CANDIDATES[0], "keep"),
        decision(CANDIDATES[0], "modify", "bo"),
        decision(CANDIDATES[1], "keep"),
    ):
        log.append(line)
    further = [decision(CANDIDATES[1], "delete", "cem", reason="unclear")]
    review = Review(source(), log, reviewers=["dee"], adjudicate=True, others=further)
    assert review.queue("dee") == [0, 1]
    assert [d.reviewer for d in review.of_others("dee", 1)] == ["cem", "ann"]
    review.decide(request(0, reviewer="dee"))
    assert review.queue("dee") == [0, 1] and review.state("dee", 0) == "kept"


def test_progress_and_time_left(log):
    review = Review(source(), log, reviewers=["ann"])
    assert review.progress("ann") == {"total": 8, "counts": {"pending": 8}, "pace": None, "seconds_left": None}
    for place, seconds in enumerate([4.0, 10.0, 900.0, 6.0]):  # 900 s: a break
        review.decide(request(place, seconds=seconds))
    assert review.progress("ann") == {
        "total": 8, "counts": {"pending": 4, "kept": 4}, "pace": 6.0, "seconds_left": 24.0
    }  # fmt: skip
    again = Review(source(), log, reviewers=["ann"])
    assert again.progress("ann") == review.progress("ann")
    assert review.undo("ann", "f" * 32) == 3
    assert review.progress("ann")["counts"] == {"pending": 5, "kept": 3}


def test_a_correction_of_a_published_question_needs_a_reason(log):
    review = Review(source(needs_reason=True), log, reviewers=["ann"])
    after = replace(content_of(CANDIDATES[0]), answer="B")
    with pytest.raises(RejectedRequest, match="needs a reason"):
        review.decide(request(0, "modify", after=after))
    review.decide(request(0, "modify", after=after, reason="it is blue"))
    assert review.state("ann", 0) == "modified"


@pytest.mark.parametrize("names", [[], ["ann", "ann"], [""], [" ann"], ["a\nb"], ["x" * 65]])
def test_names_of_reviewers(log, names):
    with pytest.raises(ConfigError, match="--reviewer"):
        Review(source(), log, reviewers=names)


def test_wrong_answers_are_tagged_and_nothing_else(log):
    review = Review(source(kind=ERRORS), log, reviewers=["ann", "bo"], blind=True)
    for bad in (request(0), request(0, "delete", reason="unclear"), request(0, "tag", tag="laziness")):
        with pytest.raises(RejectedRequest, match=r"this review has tag|give one of perception"):
            review.decide(bad)
    review.decide(request(0, "tag", tag="counting"))
    assert review.state("ann", 0) == "tagged" and log.decisions[0].tag == "counting"
    review.decide(request(0, "tag", "bo", tag="perception", key="e" * 32))
    judge = Review(source(kind=ERRORS), log, reviewers=["cem"], adjudicate=True)
    assert judge.queue("cem") == [0]  # other tags are a dispute
