"""Recorded failures are listed at the end of a run, and `retry` asks them and only them again. Real HTTP."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from known_unknowns import tables
from known_unknowns.cli import main
from known_unknowns.config import load
from known_unknowns.workflow import run
from tests.asked_and_measured import infer
from tests.factories import question
from tests.paths import ROOT
from tests.servers.endpoint import MODEL, Endpoint, Response, answer_to, completion, error

COUNT = 12
BROKEN = {"q2": "flagged", "q5": "rejected", "q7": "rejected"}
REPLIES = Path("results/pocket/replies/parrot/humblebench")


class Server(Endpoint):
    """Knows a question by its text, and fails for those in `BROKEN` until it is repaired."""

    repaired = ()
    broken = BROKEN

    def __init__(self):
        super().__init__(reply=self.reply_to, served=None)

    def reply_to(self, request):
        fault = self.broken.get(request.question)
        if request.question == "q9":
            return Response(200, completion("q9", content=None, reasoning="Hmm", finish_reason="length"))
        if fault is None or request.question in self.repaired:
            return Response(200, completion(request.question))
        if fault == "empty":
            return Response(200, completion(request.question, content=" "))
        return error(400, "flagged", code="content_filter") if fault == "flagged" else error(400, "too large")


@pytest.fixture
def project(tmp_path, monkeypatch, request):
    """A folder with a configuration and questions, and a server; the replies of its model have failures."""
    monkeypatch.chdir(tmp_path)
    raw = yaml.safe_load((ROOT / "params.yaml").read_text())
    raw["editions"]["pocket"] |= {"models": ["parrot"], "benchmarks": ["humblebench"], "seeds": [0]}
    benchmark = raw["benchmarks"]["humblebench"]
    benchmark["variants"] = ["original"]
    for key in ("seeds", "protocols"):
        benchmark.pop(key, None)
    with Server() as server:
        server.broken = getattr(request, "param", BROKEN)
        raw["models"]["parrot"] = {"engine": "openai", "source": MODEL, "base_url": server.url, "endpoint": "lab"}
        Path("params.yaml").write_text(yaml.safe_dump(raw))
        questions = [question(f"q{n}", text=f"[q{n}] Which?", images=()) for n in range(COUNT)]
        tables.write_variant("results/pocket/variants/humblebench/original.parquet", {0: questions})
        infer(
            load("params.yaml"),
            "parrot",
            "humblebench",
            questions=Path("data/pocket/questions/humblebench"),
            variants=Path("results/pocket/variants/humblebench"),
            out=REPLIES,
            journal=Path("journal/parrot/humblebench.jsonl"),
        )
        server.asked.clear()
        yield server


def call(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["known-unknowns", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def texts():
    rows = tables.read_replies(REPLIES / "replies.parquet")
    return {row.question_id: row.reply.text for row in rows}


def test_failures_are_listed_and_only_they_are_asked_again(project, monkeypatch, capsys):
    message = run.closing_message(load("params.yaml"), "results/pocket", 1.0)
    assert "No text    parrot humblebench: 4 of 12 replies (1 content_filter, 1 length, 2 rejected)" in message
    assert re.search(r"\n +Ask them again: \S*known-unknowns retry parrot --edition pocket\n", message)
    assert (
        "rejected: the message says what is not taken" in message
    )  # the most frequent kind; a third is more than a few

    project.repaired = ("q2", "q5")
    assert call(monkeypatch, "retry", "parrot", "humblebench", "--finish", "rejected") == 0
    assert project.asked == {"q5": 1, "q7": 1}
    assert "humblebench: 2 asked again, 1 of them failed again" in capsys.readouterr().out
    assert json.loads((REPLIES / "engine.json").read_text())["failures"] == {
        "rejected": 1,
        "content_filter": 1,
        "length": 1,
    }
    assert texts()["q5"] == answer_to("q5") and texts()["q2"] == texts()["q7"] == ""

    project.asked.clear()
    project.repaired = tuple(BROKEN)
    assert call(monkeypatch, "retry", "parrot") == 0
    assert project.asked == {"q2": 1, "q7": 1}
    assert texts() == {f"q{n}": answer_to(f"q{n}") for n in range(COUNT)} | {"q9": ""}
    message = run.closing_message(load("params.yaml"), "results/pocket", 1.0)
    assert "No text    parrot humblebench: 1 of 12 replies (1 length)\n" in message
    assert " retry " not in message and "length: " not in message  # one is a number, and no advice

    project.asked.clear()
    assert call(monkeypatch, "retry", "parrot") == 0
    assert not project.asked


EMPTY = {f"q{n}": "empty" for n in range(1, 8)}


@pytest.mark.parametrize("project", [EMPTY], indirect=True)
def test_empty_replies_are_named_and_can_be_asked_again(project, monkeypatch):
    message = run.closing_message(load("params.yaml"), "results/pocket", 1.0)
    assert "parrot humblebench: 8 of 12 replies (7 empty, 1 length)" in message
    assert "empty: see what the model writes" in message

    project.repaired = ("q1", "q2")
    assert call(monkeypatch, "retry", "parrot", "humblebench", "--finish", "empty") == 0
    assert project.asked == dict.fromkeys(EMPTY, 1)
    message = run.closing_message(load("params.yaml"), "results/pocket", 1.0)
    assert "6 of 12 replies (5 empty, 1 length)" in message


def test_mistakes_are_named(project, monkeypatch, capsys):
    assert call(monkeypatch, "retry", "parrot", "--finish", "stop") == 2
    assert "--finish: stop is none of error, rejected, " in capsys.readouterr().err
    assert call(monkeypatch, "retry", "crow") == 2
    assert "MODEL: edition pocket: 'crow' is not known; known are parrot" in capsys.readouterr().err
    assert call(monkeypatch, "retry", "parrot", "mmsap") == 2
