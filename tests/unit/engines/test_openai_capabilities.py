"""Features that an endpoint does not support are detected once, logged once, recorded and not used."""

from __future__ import annotations

from pathlib import Path

from known_unknowns.records import AnsweredTurn
from known_unknowns.scoring import has_input
from tests.servers.client import ask, engine, turns
from tests.servers.endpoint import Endpoint, Response, completion, error

HERE = Path()


DECLINED = {
    "seed": "Unrecognized request argument supplied: seed",
    "temperature": "Unsupported value: 'temperature' does not support 0 with this model.",
    "top_logprobs": "logprobs are not supported by this model",
    "max_completion_tokens": "Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead.",
}


def test_an_unsupported_parameter_is_detected_and_logged_once_and_recorded(capsys):
    with Endpoint(unsupported=DECLINED, latency=0.002) as server:
        answering = engine(server.url, concurrency=16)
        replies = [row for batch in answering.answer(turns(40), folder=HERE) for row in batch]
        requests = [request for request in server.log if request.question]
    assert len(replies) == 40 and all(reply.error is None for _, reply in replies)
    assert len(requests) == 40 + len(DECLINED)
    assert set(requests[-1].body) == {"model", "messages", "max_tokens"}
    declined = {"seed", "temperature", "logprobs", "top_logprobs", "max_completion_tokens"}
    assert set(answering.about["declined"]) == declined
    assert set(replies[-1][1].details["declined"]) == declined
    told = capsys.readouterr().err
    assert [told.count(f"not take {name} ") for name in ("seed", "temperature", "max_completion_tokens")] == [1, 1, 1]


def test_fewer_log_probabilities_are_tried_before_none_and_a_validation_error_of_pydantic_is_parsed():
    def strict(request):
        if request.body.get("top_logprobs", 0) > 5:
            return error(400, "top_logprobs must be at most 5", param="top_logprobs")
        if "seed" in request.body:
            row = {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}
            return Response(422, {"detail": [row | {"input": {"temperature": 0}}]})
        return Response(200, completion(request.question))

    with Endpoint(reply=strict) as server:
        replies = ask(server.url, turns(3))
        assert "seed" not in server.log[-1].body and "temperature" in server.log[-1].body
        assert server.log[-1].body["top_logprobs"] == 5 and all(reply.logprobs for reply in replies)


def test_an_ignored_token_limit_is_sent_under_its_old_name():
    def talkative(request):
        tokens = min(request.body.get("max_tokens", 500), 500)
        usage = {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": 10 + tokens}
        return Response(200, completion(request.question, content="word " * tokens, usage=usage))

    with Endpoint(reply=talkative) as server:
        replies = ask(server.url, turns(3))
        assert sum(server.asked.values()) == 4
    assert [reply.output_tokens for reply in replies] == [16] * 3


def test_log_probabilities_that_are_requested_and_not_returned_count_as_declined(capsys, tmp_path):
    """As by transformers serve and LiteLLM. No likelihood is computed from them."""
    with Endpoint(reply=lambda request: Response(200, completion(request.question, logprobs=False))) as server:
        answering = engine(server.url, concurrency=1)
        replies = [row for batch in answering.answer(turns(8), folder=HERE) for row in batch]
        asked = ["logprobs" in request.body for request in server.log if request.question]
    assert asked == [True] * 3 + [False] * 5
    assert answering.about["declined"]["logprobs"] == "requested, and in none of the first 3 replies"
    assert capsys.readouterr().err.count("does not take logprobs") == 1
    rows = [AnsweredTurn(str(i), 0, "answer", "", (), tuple("ABCDE"), "k", reply) for i, reply in replies]
    assert not has_input("likelihood", rows)
