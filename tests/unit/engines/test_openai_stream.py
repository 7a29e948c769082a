"""Endpoints that send a reply in parts only. Real HTTP."""

from __future__ import annotations

import json

import pytest

from known_unknowns.errors import ConfigError
from tests.servers.client import ask, turn, turns
from tests.servers.endpoint import Endpoint, Response, answer_to, completion, error

EVENTS = {"content-type": "text/event-stream; charset=utf-8"}


def parts(request, *, size=1, end=b"data: [DONE]\n\n", **changes):
    """A completion as events with ``size`` characters each, the usage in an event of its own, as OpenAI sends it."""
    whole = completion(request.question, **changes)
    (choice,) = whole.pop("choices")
    usage, message = whole.pop("usage"), choice.pop("message")
    events = [{"choices": [{"index": 0, "delta": {"role": "assistant"}}]}]
    for name in ("reasoning_content", "content"):
        text = message.get(name) or ""
        events += [{"choices": [{"index": 0, "delta": {name: text[i : i + size]}}]} for i in range(0, len(text), size)]
    events[-1]["choices"][0]["logprobs"] = choice["logprobs"]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    events.append({"choices": [], "usage": usage})
    lines = [b"data: " + json.dumps(whole | event).encode() + b"\n\n" for event in events]
    return Response(200, b": a comment\n\n" + b"".join(lines) + end, headers=EVENTS)


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


def test_an_endpoint_that_only_streams_says_so():
    with Endpoint(reply=streaming) as server, pytest.raises(ConfigError, match="only supports stream mode"):
        ask(server.url, turns(20))
