"""The review in Chromium: decisions by keyboard, a killed server, two reviewers, hostile texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from known_unknowns_construction.candidates import read_candidates
from known_unknowns_construction.review.decisions import apply_decisions, read_decisions
from tests.browser import CHROMIUM, Browser, violations

from .demo import HOSTILE, write
from .review_server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)")
COUNT = 14


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("review")
    write(folder, COUNT)
    return folder


@pytest.fixture(scope="module")
def ann() -> Iterator[Browser]:
    with Browser(server=True) as browser:
        yield browser


@pytest.fixture(scope="module")
def server(folder: Path, ann: Browser) -> Iterator[Server]:
    running = Server("candidates.jsonl", "--blind", "--reviewer", "ann", "--reviewer", "bo", folder=folder)
    yield running
    running.stop()


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "candidates.decisions.jsonl").read_bytes().splitlines()]


def show(browser: Browser, server: Server, reviewer: str, **arguments) -> None:
    browser.open(f"{server.address}?token={server.token}&reviewer={reviewer}", **arguments)
    at(browser, None)


def at(browser: Browser, place: int | None) -> None:
    """Wait until the question of this place is shown."""
    start = "" if place is None else f"{place + 1} of"
    browser.wait_for(f"document.getElementById('where').textContent.startsWith('Question {start}')")


def press(browser: Browser, *keys: str) -> None:
    for key in keys:
        browser.press(key)


def test_decisions_by_keyboard_while_the_server_is_killed(ann, server, folder):
    show(ann, server, "ann")
    before = "document.getElementById('where').textContent"
    for place in range(12):
        at(ann, place)
        if place == 6:
            server.kill()
            press(ann, "k")
            ann.wait_for("document.getElementById('saved').textContent.startsWith('Not saved yet')")
            assert len(lines(folder)) == 6 and " 7 of " in ann.evaluate(before)
            server.start()
        elif place % 10 == 3:
            press(ann, "d", "2")
        elif place % 10 == 7:
            press(ann, "5", "Enter")
        else:
            press(ann, "k")
    at(ann, 12)
    ann.wait_for("document.getElementById('saved').textContent.startsWith('Saved')")
    assert ann.evaluate("document.getElementById('counts').textContent") == (
        "12 of 14 decided · 10 kept · 1 deleted · 1 modified"
    )
    written = lines(folder)
    assert [line["item"] for line in written] == [f"q{place + 1}" for place in range(12)]
    assert len({line["key"] for line in written}) == 12
    actions = ["delete" if p % 10 == 3 else "modify" if p % 10 == 7 else "keep" for p in range(12)]
    assert [line["action"] for line in written] == actions
    counts = apply_decisions(
        read_candidates(folder / "candidates.jsonl"), read_decisions([folder / "candidates.decisions.jsonl"])
    ).counts
    assert (counts["kept"], counts["modified"], counts["deleted"], counts["pending"]) == (10, 1, 1, 2)


def test_a_browser_that_dies_loses_no_decision(ann, server, folder):
    show(ann, server, "ann")
    at(ann, 12)
    press(ann, "2")
    server.kill()
    press(ann, "Enter")
    ann.wait_for("document.getElementById('saved').textContent.startsWith('Not saved yet')")
    ann.open("about:blank")
    server.start()
    show(ann, server, "ann")
    at(ann, 13)
    assert [lines(folder)[-1][name] for name in ("item", "action")] == ["q13", "modify"]
    unsent = {"key": "e" * 32, "reviewer": "ann", "item": 13, "sha256": "0" * 64, "action": "keep"}
    left = json.dumps({"address": "api/decision", "body": unsent})
    name = "review outbox candidates.decisions.jsonl candidates.jsonl ann"
    ann.evaluate(f"localStorage.setItem({json.dumps(name)}, {json.dumps(left)})")
    show(ann, server, "ann")
    ann.wait_for("document.getElementById('message').textContent.includes('changed since it was shown')")


def test_hostile_texts_stay_text(ann, server):
    show(ann, server, "ann")
    at(ann, 13)
    assert ann.evaluate("document.getElementById('question').textContent") == HOSTILE
    assert ann.evaluate("document.querySelector('#options .text').textContent") == HOSTILE
    assert HOSTILE in ann.evaluate("document.getElementById('flags').textContent")
    assert HOSTILE in ann.evaluate("document.getElementById('legend').textContent")
    press(ann, "m")
    ann.evaluate(
        "(() => { const e = document.getElementById('edit-question'); e.value = '<b>' + e.value;"
        " e.dispatchEvent(new Event('input')); })()"
    )
    assert ann.evaluate("document.querySelector('#change ins').textContent").startswith("<b><img")
    assert ann.evaluate("document.querySelectorAll('main img').length") == 1
    assert ann.evaluate("document.title") == "Review of candidates.jsonl"
    assert ann.errors == []
    press(ann, "Escape")


def test_undo_brings_the_question_back(ann, server, folder):
    show(ann, server, "ann")
    at(ann, 13)
    before = len(lines(folder))
    press(ann, "u")
    at(ann, 12)
    ann.wait_for("document.getElementById('where').textContent.endsWith('undecided')")
    assert [line["action"] for line in lines(folder)[before:]] == ["undo"]
    press(ann, "2", "Enter")
    at(ann, 13)


def test_two_reviewers_in_two_browsers_and_an_adjudicator(ann, server, folder):
    with Browser(server=True) as bo:
        show(bo, server, "bo")
        assert "q1" in bo.evaluate("document.getElementById('facts').textContent")
        shown = bo.evaluate("document.body.innerText")
        assert "undecided" in shown and "ann" not in shown  # blind
        for place, keys in enumerate([("k",), ("3", "Enter"), ("d", "1"), ("d", "2")]):
            at(bo, place)
            press(bo, *keys)
            if place == 1:
                show(ann, server, "ann")
                at(ann, 13)
                press(ann, "k")
                ann.wait_for("document.getElementById('message').textContent.startsWith('All 14 questions')")
        at(bo, 4)
        assert violations(bo) == []
        bo.resize(390, 844)
        assert bo.overflow() == 0
        assert bo.errors == []
    assert server.stop() == 0
    judge = Server("candidates.jsonl", "--adjudicate", "--reviewer", "cem", folder=folder)
    try:
        ann.open(f"{judge.address}?token={judge.token}")
        at(ann, None)
        assert "1 of 2 ·" in ann.evaluate("document.getElementById('where').textContent")  # q2 and q3 differ
        assert "bo: modify" in ann.evaluate("document.getElementById('others').innerText")
        press(ann, "b")
        at(ann, 1)
        press(ann, "k")
        ann.wait_for("document.getElementById('message').textContent.startsWith('All 2 questions')")
    finally:
        judge.stop()
    applied = apply_decisions(
        read_candidates(folder / "candidates.jsonl"), read_decisions([folder / "candidates.decisions.jsonl"])
    )
    assert applied.ids("disputed") == [] and applied.ids("pending") == []
    assert [applied.outcomes[name].state for name in ("q1", "q2", "q3", "q4")] == [
        "kept", "modified", "kept", "deleted"
    ]  # fmt: skip
