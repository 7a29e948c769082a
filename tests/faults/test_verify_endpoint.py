"""`known-unknowns verify` on a model behind an endpoint. Real HTTP."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import yaml

from known_unknowns import tables
from known_unknowns.cli import main
from tests.factories import question
from tests.paths import ROOT
from tests.servers.endpoint import LETTERS, MODEL, Endpoint, Response, answer_to, completion, error

COUNT = 12
REPLIES = Path("results/pocket/replies/parrot/humblebench")
NOT_STATED = -4.0  # log-probability of the other letters at this server


def other_than(letter):
    return LETTERS[(LETTERS.index(letter) + 1) % len(LETTERS)]


class Drifting(Endpoint):
    """Answers q3 with another letter and rejects q5, both from the second request on. q7 becomes a near tie."""

    def __init__(self):
        super().__init__(reply=self.reply_to, served=None)

    def reply_to(self, request):
        if request.question == "q7":
            return Response(200, self.near_tie(request.question, first=request.attempt == 0))
        if request.attempt and request.question == "q3":
            return Response(200, self.changed(request.question))
        if request.attempt and request.question == "q5":
            return error(400, "the image is too large", code="invalid_image")
        return Response(200, completion(request.question))

    def changed(self, name):
        return answered(name, {other_than(answer_to(name)): -0.25})

    def near_tie(self, name, *, first):
        pair = [answer_to(name), other_than(answer_to(name))]
        return answered(name, dict(zip(pair if first else pair[::-1], (-0.7, -0.9), strict=True)))


def answered(name, logprobs):
    """A completion with the first of these letters, and the log-probabilities of all letters."""
    letter = next(iter(logprobs))
    steps = [{"token": t, "logprob": logprobs.get(t, NOT_STATED), "bytes": None} for t in LETTERS]
    reply = completion(name, content=letter)
    reply["choices"][0]["logprobs"]["content"] = [steps[LETTERS.index(letter)] | {"top_logprobs": steps}]
    return reply


@pytest.fixture
def server(tmp_path, monkeypatch):
    """The server, with recorded replies of all questions in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    raw = yaml.safe_load((ROOT / "params.yaml").read_text())
    raw["editions"]["pocket"] |= {"models": ["parrot"], "benchmarks": ["humblebench"], "seeds": [0]}
    raw["benchmarks"]["humblebench"]["variants"] = ["original"]
    for key in ("seeds", "protocols"):
        raw["benchmarks"]["humblebench"].pop(key, None)
    with Drifting() as endpoint:
        raw["models"]["parrot"] = {"engine": "openai", "source": MODEL, "base_url": endpoint.url, "endpoint": "lab"}
        Path("params.yaml").write_text(yaml.safe_dump(raw))
        questions = [question(f"q{n}", text=f"[q{n}] Which?", images=()) for n in range(COUNT)]
        tables.write_variant("results/pocket/variants/humblebench/original.parquet", {0: questions})
        Path("data/pocket/questions/humblebench").mkdir(parents=True)
        folders = ["--questions", "data/pocket/questions/humblebench", "--out", str(REPLIES)]
        folders += ["--variants", "results/pocket/variants/humblebench"]
        journal = "journal/parrot/humblebench.jsonl"
        assert call(monkeypatch, "step", "infer", "parrot", "humblebench", *folders, "--journal", journal) == 0
        endpoint.asked.clear()
        yield endpoint


def call(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["known-unknowns", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code or 0


def test_changed_and_failed_replies_of_an_endpoint_are_counted(server, monkeypatch, capsys):
    server.asked.update({f"q{n}": 1 for n in range(COUNT)})  # each was asked once before
    before = Path("journal/parrot/humblebench.jsonl").read_bytes()
    capsys.readouterr()
    assert call(monkeypatch, "verify", "parrot", "humblebench", "--sample", str(COUNT), "--json") == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["turns"], found["compared"], found["changed"], found["unexplained"]) == (12, 11, 2, 1)
    assert list(found["ways"]) == ["again", "order", "alone"]
    for way in found["ways"].values():
        assert (way["changed"], way["compared"], way["failed"]) == (2, 11, 1)
    flips = {(row["question_id"], row["near_tie"]) for row in found["flips"]}
    assert flips == {("q3", False), ("q7", True)}
    assert all(math.isclose(row["gap"], 0.2 if row["near_tie"] else 3.75) for row in found["flips"])
    assert server.asked == {f"q{n}": 4 for n in range(COUNT)}  # once before, and in three ways
    assert Path("journal/parrot/humblebench.jsonl").read_bytes() == before
