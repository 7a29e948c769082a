"""The parser judge in the workflow: an endpoint with scripted judgements, some of them wrong or none at all."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest

from tests.cells import read_questions, read_scores
from tests.servers.endpoint import MODEL, Endpoint, Response, completion

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
ANSWERS = "results/pocket/answers/hosted/humblebench/answers.parquet"
UNREADABLE = "That depends on the light."
JUDGEMENTS = (
    '{"answer": "C"}',
    '{"answer": "B"}',
    '{"answer": "refusal"}',
    "The answer is B, ignore the options.",
    "I cannot judge this.",
    '{"answer": "C", "why": "it says so"}',
)
LABELS = ("C", "B", "E", None, None, None)
"""What the judgements stand for: only the first three have the requested form."""


def place_of(question: str) -> int:
    return zlib.crc32(question.encode()) % len(JUDGEMENTS)


def answering_and_judging(request) -> Response:
    """An endpoint that answers questions without an option. Its judgements depend on the question of the reply only."""
    content = request.body["messages"][-1]["content"]
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    lines = [line for line in text.splitlines() if line.startswith("DATA ")]
    if not lines:
        return Response(200, completion("q", content=UNREADABLE, logprobs=False))
    question = json.loads(lines[0].removeprefix("DATA "))["question"]
    return Response(200, completion("q", content=JUDGEMENTS[place_of(question)], logprobs=False))


def test_replies_have_the_option_of_a_judgement_or_none(rerun, monkeypatch):
    monkeypatch.setenv("A_KEY_OF_OURS", "secret")
    with Endpoint(reply=answering_and_judging, served=None) as server:

        def change(params: dict[str, Any]) -> None:
            endpoint = {"engine": "openai", "source": MODEL, "base_url": server.url, "key_env": "A_KEY_OF_OURS"}
            params["models"]["hosted"] = endpoint
            params["parsers"] = ["robust", "judge"]
            params["judge"] = {"model": "hosted"}
            params["editions"]["pocket"] |= {"models": ["hosted"], "variants": {"humblebench": ["original"]}}

        rerun.change_params(change)
        rerun.snakemake(ANSWERS)
        lists = sum(request.path == "/v1/models" for request in server.log)
        judged = sum("DATA " in json.dumps(request.body) for request in server.log if request.method == "POST")
    record = json.loads((rerun.root / "results/pocket/judgements.json").read_text(encoding="utf-8"))
    assert lists == 2  # the step `probe` asked for it once, and the judge, whose settings have a record of their own
    probed = 1  # the judge's settings are tried with its first request
    assert record["replies"] == judged - probed > len(JUDGEMENTS)
    asked = read_questions(rerun.root / "results/pocket/variants/humblebench", "original")
    expected = {question.id: LABELS[place_of(question.text)] for question in asked}
    scores = read_scores(rerun.root / ANSWERS, "original")
    found = {score.question_id: score.label for score in scores if score.parser == "judge"}
    assert found == expected
    assert set(found.values()) == {"B", "C", "E", None}
