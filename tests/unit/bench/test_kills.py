"""The comparison of a killed run with an undisturbed one."""

from __future__ import annotations

import json

import pytest

from bench.kills import compare


def journal(root, *replies):
    path = root / "journal/a/humblebench.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"key": key, "reply": reply}) + "\n" for key, reply in replies]
    path.write_text("".join(lines), encoding="utf-8")


def test_journals_are_compared_without_order_and_seconds(tmp_path):
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    journal(calm, ("k1", {"text": "A"}), ("k2", {"text": "B", "seconds": 0.2}))  # zero seconds are left out
    journal(killed, ("k2", {"text": "B"}), ("k1", {"text": "A", "seconds": 0.1}))
    assert compare.journals(calm) == compare.journals(killed)
    journal(killed, ("k2", {"text": "B"}), ("k1", {"text": "C"}))
    assert compare.journals(calm) != compare.journals(killed)


def test_a_question_that_was_asked_twice_is_named(tmp_path):
    journal(tmp_path, ("k1", {"text": "A"}), ("k1", {"text": "A"}))
    with pytest.raises(ValueError, match="1 questions were asked twice"):
        compare.journals(tmp_path)
