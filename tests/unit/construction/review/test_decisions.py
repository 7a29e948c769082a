"""Decisions: their file, undo, several reviewers, adjudication, and candidates merged with them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from known_unknowns.errors import DataError, MachineError
from known_unknowns_construction.candidates import Candidate, CandidateImage
from known_unknowns_construction.review.decisions import (
    Decision,
    DecisionLog,
    apply_decisions,
    content_of,
    decision_line,
    read_decisions,
    standing,
)

HOSTILE = '<img src=x onerror=alert(1)>\n"\u2028}'


def candidate(identifier: str = "c1", **changes) -> Candidate:
    image = CandidateImage("images/a.png", "a" * 64, 40, 30)
    values = {
        "id": identifier,
        "image": image,
        "question": "What color is the box?",
        "options": ("Red", "Blue", "None of the above"),
        "answer": "A",
        "kind": "attribute",
        "group": "image-1",
    }
    return Candidate(**values | changes)


def decision(item: Candidate, action: str, reviewer: str = "ann", key: str = "", **changes) -> Decision:
    content = content_of(item)
    if action == "modify":
        changes.setdefault("after", replace(content, answer="B"))
    key = key or f"{item.id}-{reviewer}-{action}"
    return Decision(key, item.id, content.sha256, reviewer, "2026-01-01T00:00:00.000Z", action, **changes)


def test_a_file_returns_what_was_appended(tmp_path):
    item = candidate(question=HOSTILE)
    first = decision(item, "modify", reason=HOSTILE, seconds=3.5, after=replace(content_of(item), question="Better?"))
    with DecisionLog(tmp_path / "new" / "d.jsonl") as log:
        assert log.append(first) and not log.append(first)
        assert log.append(decision(item, "undo", undoes=first.key))
    path = tmp_path / "new" / "d.jsonl"
    assert len(path.read_bytes().splitlines()) == 2
    found = read_decisions([path])
    assert found[0] == first
    assert standing(found) == {}


@pytest.mark.parametrize("kept_bytes", [1, 40, -1])
def test_a_torn_last_line_is_set_aside_and_nothing_else(tmp_path, kept_bytes):
    path = tmp_path / "d.jsonl"
    one, two, three = (decision(candidate(name), "keep") for name in ("c1", "c2", "c3"))
    path.write_bytes(decision_line(one) + decision_line(two)[:kept_bytes])
    assert read_decisions([path]) == [one]
    with DecisionLog(path) as log:
        assert log.decisions == [one]
        log.append(three)
    assert read_decisions([path]) == [one, three]
    assert (tmp_path / "d.jsonl.torn").read_bytes() == decision_line(two)[:kept_bytes] + b"\n"


def test_a_damaged_line_inside_the_file_stops_with_its_number(tmp_path):
    path = tmp_path / "d.jsonl"
    line = decision_line(decision(candidate(), "keep"))
    path.write_bytes(line + line.replace(b"keep", b"kept") + line)
    with pytest.raises(DataError, match=r"d\.jsonl, line 2: this decision is damaged"):
        DecisionLog(path)
    with pytest.raises(DataError, match="line 2"):
        read_decisions([path])


def test_a_second_writer_is_refused(tmp_path):
    with (
        DecisionLog(tmp_path / "d.jsonl"),
        pytest.raises(MachineError, match="another review is writing this file"),
    ):
        DecisionLog(tmp_path / "d.jsonl")
    DecisionLog(tmp_path / "d.jsonl").close()


@pytest.mark.parametrize(
    "values",
    [{"action": "drop"}, {"action": "keep", "tag": "counting"}, {"action": "undo"}, {"action": "keep", "role": "boss"}],
)
def test_impossible_decisions_are_refused(values):
    with pytest.raises(ValueError, match=r"action|role"):
        Decision("k", "c1", "0" * 64, "ann", "now", **values)


def test_an_undo_brings_the_earlier_decision_back():
    item = candidate()
    lines = [
        decision(item, "delete", key="1", reason="unclear"),
        decision(item, "keep", key="2"),
        decision(item, "undo", key="3", undoes="2"),
    ]
    assert apply_decisions([item], lines[:2]).ids("kept") == ["c1"]
    found = apply_decisions([item], lines)
    assert found.ids("deleted") == ["c1"] and found.outcomes["c1"].reasons == ("unclear",)
    again = [*lines, decision(item, "undo", key="4", undoes="1")]
    assert apply_decisions([item], again).ids("pending") == ["c1"]


def test_reviewers_who_differ_make_a_dispute_that_an_adjudicator_ends():
    item = candidate()
    lines = [decision(item, "keep"), decision(item, "modify", "bo")]
    assert apply_decisions([item], lines).ids("disputed") == ["c1"]
    lines.append(decision(item, "modify", "cem", role="adjudicator"))
    applied = apply_decisions([item], lines)
    assert applied.outcomes["c1"].adjudicated
    assert applied.final[0].answer == "B"
    assert applied.final[0].source["original"] == {
        "question": item.question, "options": ["Red", "Blue", "None of the above"], "answer": "A"
    }  # fmt: skip


def test_counts_are_those_of_the_papers_table():
    items = [candidate(f"c{i}") for i in range(7)]
    lines = [decision(items[0], "keep"), decision(items[1], "keep"), decision(items[2], "modify")]
    lines += [decision(items[3], "delete", reason="unclear"), decision(items[4], "keep")]
    lines += [decision(items[4], "delete", "bo", reason="unclear"), decision(items[5], "keep")]
    changed = [*items[:5], replace(items[5], question="Another text?"), items[6]]
    applied = apply_decisions(changed, [*lines, decision(candidate("gone"), "keep")])
    assert applied.counts == {
        "initial": 7, "kept": 2, "modified": 1, "deleted": 1, "final": 3, "pending": 2, "disputed": 1, "stale": 1
    }  # fmt: skip
    assert applied.unknown == 1
    assert [item.id for item in applied.final] == ["c0", "c1", "c2"]
