"""Endpoints that send a reply in parts only. Real HTTP."""

from __future__ import annotations

import json

import pytest

from known_unknowns.errors import ConfigError
from tests.servers.client import ask, turn, turns
from tests.servers.endpoint import EVENTS, Endpoint, Response, answer_to, error, parts


def streaming(request, **changes):
    if not request.body.get("stream"):
        return error(400, "This model only supports stream mode")
    assert request.body["stream_options"] == {"include_usage": True}
    return parts(request, **changes)


def test_a_reply_in_parts_equals_a_whole_one():
    with Endpoint(reply=streaming) as server, Endpoint() as other:
        asked, expected = ask(server.url, turns(6), stream=True), ask(other.url, turns(6))
    for reply, whole in zip(asked, expected, strict=True):
        assert (reply.text, reply.finish, reply.logprobs) == (whole.text, whole.finish, whole.logprobs)
        assert (reply.input_tokens, reply.output_tokens) == (whole.input_tokens, whole.output_tokens)


def test_texts_of_several_parts_are_joined():
    changes = {"content": "The answer is \u00e9", "reasoning_content": "Hm.\nB?", "finish_reason": "length"}
    with Endpoint(reply=lambda request: streaming(request, **changes)) as server:
        (reply,) = ask(server.url, [turn("q1")], stream=True)
    assert (reply.text, reply.details["reasoning"], reply.finish) == ("The answer is \u00e9", "Hm.\nB?", "length")


def test_a_stream_that_breaks_off_is_asked_again():
    def reply(request):
        if request.question == "q1" and not request.attempt:
            response = parts(request, content="The answer", end=b"")
            cut = response.body.index(b'"finish_reason"')
            return Response(200, response.body[: response.body.rindex(b"data", 0, cut)], headers=EVENTS)
        return streaming(request)

    with Endpoint(reply=reply) as server:
        first, second = ask(server.url, turns(2), stream=True)
        assert server.asked["q1"] == 2
    assert (first.text, second.text) == (answer_to("q0"), answer_to("q1"))


def test_only_line_feeds_and_carriage_returns_end_an_event():
    """As https://html.spec.whatwg.org/multipage/server-sent-events.html has it. JSON may hold U+2028 as it is."""
    text = "A\u2028B\u2029C\x85D\x0bE\x0cF\x1cG"

    def with_ends(request):
        ends = {"q0": b"\n", "q1": b"\r\n", "q2": b"\r"}
        return parts(request, content=text, size=4, ascii_only=False, line_end=ends[request.question])

    with Endpoint(reply=with_ends) as server:
        replies = ask(server.url, turns(3), stream=True)
        assert set(server.asked.values()) == {1}
    assert [reply.text for reply in replies] == [text] * 3


def test_content_as_a_list_of_parts_is_read_as_in_a_whole_reply():
    """As Mistral's models that reason send it: https://github.com/prism-php/prism/pull/862."""
    contents = [
        [{"type": "thinking", "thinking": [{"type": "text", "text": "A is blue. "}]}],
        [{"type": "thinking", "thinking": [{"type": "text", "text": "So B."}]}],
        [{"type": "text", "text": "The answer "}],
        "is B.",
    ]
    deltas = [{"content": content} for content in contents]
    with Endpoint(reply=lambda request: parts(request, deltas=deltas)) as server:
        (reply,) = ask(server.url, [turn("q1")], stream=True)
        assert server.asked == {"q1": 1}
    assert (reply.text, reply.details["reasoning"]) == ("The answer is B.", "A is blue. So B.")


MALFORMED = {
    "choices": {"choices": 3},
    "delta": {"choices": [{"delta": ["B"], "finish_reason": "stop"}]},
}


@pytest.mark.parametrize("event", MALFORMED.values(), ids=MALFORMED)
def test_an_event_that_is_no_part_of_a_completion_is_a_fault_of_the_question(event):
    def reply(request):
        if request.question == "q1":
            return Response(200, f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode(), headers=EVENTS)
        return streaming(request)

    with Endpoint(reply=reply) as server:
        first, second = ask(server.url, turns(2), stream=True)
    assert first.text == answer_to("q0")
    assert second.finish == "error" and "no part of a chat completion" in second.error


@pytest.mark.parametrize("logprobs", [[1], {"content": 3}, "none"])
def test_log_probabilities_of_another_form_are_left_out(logprobs):
    event = {"choices": [{"delta": {"content": "B"}, "logprobs": logprobs, "finish_reason": "stop"}]}
    body = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode()
    with Endpoint(reply=lambda request: Response(200, body, headers=EVENTS)) as server:
        (reply,) = ask(server.url, [turn("q1")], stream=True)
    assert (reply.text, reply.finish, reply.logprobs) == ("B", "stop", None)


def test_an_endpoint_that_only_streams_says_so():
    with Endpoint(reply=streaming) as server, pytest.raises(ConfigError, match="only supports stream mode"):
        ask(server.url, turns(20))
