"""Settings of an endpoint's entry in the request, in the reply, and in a reply's key."""

from __future__ import annotations

import pytest

pytest.importorskip("openai")

from known_unknowns.config import OpenAIModel
from known_unknowns.engines.endpoint.settings import EndpointSettings
from tests.servers.client import ask, turn
from tests.servers.endpoint import MODEL, Endpoint, Response, completion


def facts(**entry) -> dict:
    return EndpointSettings.from_entry("parrot", OpenAIModel(engine="openai", source=MODEL, **entry)).facts()


def test_decoding_and_processor_settings_reach_the_request():
    decoding = {"temperature": 0.7, "top_p": 0.9, "top_k": 50, "repetition_penalty": 1.1, "stop": ["###"]}
    with Endpoint() as server:
        ask(server.url, [turn("q1")], decoding=decoding, processor={"max_pixels": 1000})
        (request,) = [request for request in server.log if request.question]
    wanted = decoding | {"mm_processor_kwargs": {"max_pixels": 1000}, "seed": 0}
    assert wanted.items() <= request.body.items()


def test_the_checkpoints_sampling_is_the_servers_default():
    with Endpoint() as server:
        ask(server.url, [turn("q1")], decoding={"sampling": "checkpoint", "top_k": 5})
        (request,) = [request for request in server.log if request.question]
    assert "temperature" not in request.body and request.body["top_k"] == 5


def test_the_marks_of_the_entry_set_reasoning_apart():
    said = "### Steps A? No. ### Answer B"
    with Endpoint(reply=lambda request: Response(200, completion("q1", content=said))) as server:
        (reply,) = ask(server.url, [turn("q1")], reasoning={"marks": ["### Steps", "### Answer"]})
        (plain,) = ask(server.url, [turn("q1")])
    assert (reply.text, reply.details["reasoning"]) == ("B", "A? No.")
    assert plain.text == said


@pytest.mark.parametrize(
    "settings",
    [
        {"decoding": {"top_k": 5}},
        {"decoding": {"repetition_penalty": 1.1}},
        {"decoding": {"stop": ["###"]}},
        {"decoding": {"sampling": "checkpoint"}},
        {"processor": {"max_pixels": 1000}},
        {"reasoning": {"marks": ["<info>", "</info>"]}},
    ],
)
def test_every_setting_is_part_of_a_replys_key(settings):
    assert facts(**settings) != facts()


def test_settings_of_the_turns_are_no_facts_and_a_job_is_none():
    """The turns' own texts are in every key, and what is kept changes no reply."""
    assert facts(prompt="{question}!", order="text_first", kept="is (.)", asked={}, job={"hours": 2}) == facts()


def test_the_facts_of_an_entry_without_new_settings_are_those_of_earlier_journals():
    assert facts()["decoding"].keys() == {"temperature", "top_p", "seed", "max_new_tokens"}
    assert "processor" not in facts()
