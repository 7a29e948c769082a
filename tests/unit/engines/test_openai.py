"""The openai engine with a local server that produces faults on request."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from known_unknowns.config import OpenAIModel
from known_unknowns.engines.endpoint.settings import EndpointSettings
from known_unknowns.errors import ConfigError, DataError, MachineError
from known_unknowns.images import open_image, recipe_image
from known_unknowns.model_runs.probe import probe
from known_unknowns.records import Image
from tests.servers.client import ask, engine, turn, turns
from tests.servers.endpoint import MODEL, Endpoint, Response, answer_to, completion, error

HERE = Path()


def test_the_request_follows_the_entry_and_the_reply_is_parsed():
    with Endpoint() as server:
        entry = {"system": "Be brief.", "decoding": {"top_p": 0.5, "seed": 7, "max_new_tokens": 9}}
        (reply,) = ask(server.url, [turn("q1")], **entry)
        (request,) = [request for request in server.log if request.question]
    assert request.body == {
        "model": MODEL,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "[q1] Which?"}],
        "max_completion_tokens": 9,
        "temperature": 0.0,
        "top_p": 0.5,
        "seed": 7,
        "logprobs": True,
        "top_logprobs": 20,
    }
    letter = answer_to("q1")
    found = (reply.text, reply.finish, reply.error, reply.input_tokens, reply.output_tokens)
    assert found == (letter, "stop", None, 60, 2)
    assert reply.logprobs == {other: -0.25 if other == letter else -4.0 for other in "ABCDE"}


def test_every_setting_of_decoding_reaches_the_request():
    decoding = {"temperature": 0.7, "top_p": 0.9, "top_k": 50, "repetition_penalty": 1.1, "stop": ["###"]}
    with Endpoint() as server:
        ask(server.url, [turn("q1")], decoding=decoding, processor={"max_pixels": 1000})
        assert (decoding | {"mm_processor_kwargs": {"max_pixels": 1000}}).items() <= server.log[-1].body.items()
        ask(server.url, [turn("q1")], decoding={"sampling": "checkpoint", "top_k": 5})  # the server's default
        assert "temperature" not in server.log[-1].body and server.log[-1].body["top_k"] == 5


def test_variables_of_the_template_and_other_fields_reach_the_request():
    entry = {"template": {"enable_thinking": False}, "extra": {"provider": {"order": ["a"]}, "min_p": 0.1}}
    with Endpoint() as server:
        ask(server.url, [turn("q1")], **entry)
        body = server.log[-1].body
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert (body["provider"], body["min_p"]) == ({"order": ["a"]}, 0.1)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("temperature", "temperature is set otherwise: by decoding"),
        ("chat_template_kwargs", "by template"),
        ("messages", "by the engine"),
        ("api_key", "may be a secret"),
    ],
)
def test_fields_that_the_entry_has_are_none_of_the_others(name, told):
    with pytest.raises(ConfigError, match=told):
        engine("http://127.0.0.1:9/v1", extra={name: 1})


@pytest.mark.parametrize(("seed", "sent"), [(7, [7, 9]), (None, [None, None])])
def test_each_sample_has_another_seed(seed, sent):
    asked = [turn("q1"), turn("q2", seed=5, sample=2)]  # the shuffle 5 is none of the request's
    with Endpoint() as server:
        ask(server.url, asked, decoding={"temperature": 0.5, "seed": seed})
        bodies = {request.question: request.body for request in server.log if request.question}
    assert [bodies[name].get("seed") for name in ("q1", "q2")] == sent


def test_free_text_requests_no_log_probabilities_and_passes_a_schema():
    schema = {"type": "object", "properties": {"view": {"type": "integer"}}, "required": ["view"]}
    with Endpoint() as server:
        (reply,) = ask(server.url, [turn("q1", labels=None, json_schema=json.dumps(schema))])
        body = server.log[-1].body
    assert "logprobs" not in body and reply.logprobs is None
    assert body["response_format"]["json_schema"]["schema"] == schema


def test_reasoning_has_tokens_of_its_own_and_is_recorded_separately():
    def thinking(request):
        return Response(200, completion(request.question, content="B", reasoning="A? No: B."))

    with Endpoint(reply=thinking) as server:
        (reply,) = ask(server.url, [turn("q1")], reasoning={"effort": "low", "tokens": 4000})
        body = server.log[-1].body
    assert body["max_completion_tokens"] == 4016 and body["reasoning_effort"] == "low"
    assert reply.text == "B" and reply.details["reasoning"] == "A? No: B."
    said = "### Steps A? No. ### Answer B"
    with Endpoint(reply=lambda request: Response(200, completion("q1", content=said))) as server:
        (reply,) = ask(server.url, [turn("q1")], reasoning={"marks": ["### Steps", "### Answer"]})
    assert (reply.text, reply.details["reasoning"]) == ("B", "A? No.")

    def cut(request):
        return Response(200, completion(request.question, content="It may be A", finish_reason="length"))

    with Endpoint(reply=cut) as server:
        (reply,) = ask(server.url, [turn("q1")], reasoning={"opened": True})
        (as_text,) = ask(server.url, [turn("q1")])
    assert (reply.text, reply.raw, as_text.text) == ("", "It may be A", "It may be A")


def test_images_are_interleaved_with_text_and_recorded_as_sent():
    one, two = recipe_image("uniform-noise", 40, 30, 1), recipe_image("normal-noise", 30, 40, 2)
    asked = turn("q1", content=("First:", one, "then:", two, "[q1] Which?"))
    with Endpoint() as server:
        (reply,) = ask(server.url, [asked], image={"detail": "high"})
        parts = server.log[-1].body["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text", "image_url", "text"]
    assert [part["text"] for part in parts[::2]] == ["First:", "then:", "[q1] Which?"]
    sent = []
    for part, image in zip(parts[1::2], (one, two), strict=True):
        assert part["image_url"]["detail"] == "high"
        kind, _, data = part["image_url"]["url"].partition(",")
        assert kind == "data:image/png;base64"
        file = base64.b64decode(data)
        with Pillow.open(BytesIO(file)) as opened:
            assert np.array_equal(np.asarray(opened), np.asarray(open_image(image, HERE)))
        sent.append(sha256(file).hexdigest())
    assert reply.details["images"] == sent


def test_jpeg_is_smaller_and_similar():
    with Endpoint() as server:
        ask(server.url, [turn("q1", recipe_image("blank", 64, 64))], image={"format": "jpeg", "quality": 80})
        url = server.log[-1].body["messages"][0]["content"][0]["image_url"]["url"]
    kind, _, data = url.partition(",")
    with Pillow.open(BytesIO(base64.b64decode(data))) as opened:
        assert kind == "data:image/jpeg;base64" and opened.format == "JPEG"
        assert np.abs(np.asarray(opened).astype(int) - 128).max() <= 2


def test_an_unreadable_image_stops_the_run_after_the_answered_turns(tmp_path):
    asked = [*turns(3), turn("q3", Image("images/none.png", "a" * 64, 4, 4))]
    seen = []
    with Endpoint() as server, pytest.raises(DataError, match=r"none\.png"):
        for batch in engine(server.url).answer(asked, folder=tmp_path):
            seen += batch
    assert sorted(index for index, _ in seen) == [0, 1, 2]


TRANSIENT = {
    "429": "status 429",
    "500": "status 500",
    "reset": "the connection broke (RemoteProtocolError)",
    "hang": "no reply within 2 s",
    "drip": "no reply within 2 s",
    "truncated": "the reply is not JSON",
    "not_json": "a page; is base_url right?",
    "no_choice": "a completion without a choice",
    "choice_error": "Provider returned error",
    "wrong_model": "another model answered: 'cheaper-1'",
}


def test_a_transient_fault_is_retried_and_recorded():
    with Endpoint({fault: [fault] for fault in TRANSIENT}) as server:
        replies = ask(server.url, [turn("q0"), *map(turn, TRANSIENT)], timeout=2)
        assert server.asked == {"q0": 1} | dict.fromkeys(TRANSIENT, 2)
    assert "faults" not in replies[0].details
    for (fault, told), reply in zip(TRANSIENT.items(), replies[1:], strict=True):
        assert (reply.text, reply.details["attempts"]) == (answer_to(fault), 2)
        (recorded,) = reply.details["faults"]
        assert told in recorded


def test_retry_after_is_respected():
    with Endpoint({"q1": ["429_after"]}) as server:
        ask(server.url, [turn("q1")])
        first, second = [request.at for request in server.log if request.question]
    assert second - first >= 0.8  # without it the client waits for half a second at most


FINAL = {
    "empty": ("empty", None),
    "refusal": ("refusal", "I will not say B."),
    "filtered_answer": ("content_filter", "stopped the answer"),
    "filtered_question": ("content_filter", "stopped the question: flagged"),
    "flagged": ("content_filter", "stopped the question: Your input was flagged"),
    "rejected": ("rejected", "status 400: the image is too large"),
    "length": ("length", None),
    "no_logprobs": ("stop", None),
    "no_usage": ("stop", None),
}


def test_a_final_outcome_is_recorded_and_not_retried():
    with Endpoint({name: [name] for name in FINAL}) as server:
        replies = ask(server.url, [turn("q0"), *map(turn, FINAL)])
        assert set(server.asked.values()) == {1}
    for (finish, told), reply in zip(FINAL.values(), replies[1:], strict=True):
        assert reply.finish == finish
        assert reply.error is None if told is None else told in reply.error


def test_a_question_that_always_fails_is_recorded_with_its_reason():
    with Endpoint({"q1": ["500"] * 99, "q2": ["truncated"] * 99}) as server:
        replies = ask(server.url, turns(30), max_retries=1)
        assert server.asked["q1"] == 6 and server.asked["q2"] == 3  # three rounds
    assert (replies[1].finish, replies[1].error) == ("error", "status 500: oh no")
    assert replies[2].finish == "error" and "not JSON" in replies[2].error
    assert sum(reply.error is None for reply in replies) == 28


def test_a_dead_endpoint_stops_the_run_and_fails_no_question(capsys):
    with Endpoint() as server:
        answering = engine(server.url, patience=1.5, max_retries=2, concurrency=8)
        seen = []
        with pytest.raises(MachineError, match=r"answered nothing for .* s \(last: status 503: down\)"):
            for batch in answering.answer(turns(200), folder=HERE):
                seen += batch
                server.down = len(seen) >= 20
        assert 20 <= len(seen) < 30 and all(reply.error is None for _, reply in seen)
        assert sum(request.at > 0 and bool(request.question) for request in server.log) < 100
    assert "pausing" in capsys.readouterr().err
    with pytest.raises(MachineError, match=r"models\.parrot: .*cannot be reached \(ConnectError\)"):
        ask("http://127.0.0.1:9/v1", [turn("q1")], max_retries=0)


@pytest.mark.parametrize(
    ("fault", "kind", "told"),
    [
        ("no_key", ConfigError, r"models\.parrot\.key_env: .*OPENAI_API_KEY"),
        ("quota", MachineError, "quota is spent"),
        ("wrong_model", ConfigError, "answers_as: cheaper-1"),
    ],
)
def test_an_error_of_every_question_stops_the_run_immediately(fault, kind, told):
    with Endpoint(lambda question, attempt: fault) as server:
        with pytest.raises(kind, match=told):
            ask(server.url, turns(50), max_retries=0)
        assert sum(server.asked.values()) == 1
        if fault == "wrong_model":
            assert ask(server.url, turns(2), answers_as="cheaper-1")[0].text == answer_to("q0")


def test_the_last_questions_of_a_run_may_all_be_rejected():
    with Endpoint(lambda question, attempt: "rejected") as server:
        assert [reply.finish for reply in ask(server.url, turns(3))] == ["rejected"] * 3


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"error": {"message": f"The model `{MODEL}` does not exist"}}, "parrot.source: the endpoint does not know"),
        ({"detail": "Not Found"}, r"parrot.base_url: .*/v1/chat/completions is not found \(status 404: Not Found\)"),
        (b"<html>404 Not Found</html>", r"parrot.base_url: .*/v1/chat/completions is not found"),
    ],
)
def test_a_question_that_is_not_found_names_the_model_or_the_address(body, told):
    with Endpoint(reply=lambda request: Response(404, body)) as server, pytest.raises(ConfigError, match=told):
        ask(server.url, [turn("q1")])


def test_concurrent_requests_stay_within_the_limit():
    with Endpoint(latency=0.05) as server:
        ask(server.url, turns(50), concurrency=7)
        assert server.most_under_way == 7


def test_requests_per_minute_include_retries():
    """12 requests at 600 a minute take 1.1 s; the six first ones alone, and half a second to wait, 1.0 s."""
    with Endpoint(lambda question, attempt: "500" if attempt == 0 else "ok") as server:
        ask(server.url, turns(6), requests_per_minute=600, concurrency=6)
        at = [request.at for request in server.log if request.question]
    assert len(at) == 12 and max(at) - min(at) > 1.05


def test_a_model_that_is_not_served_is_named_with_the_closest_one():
    with Endpoint(served=["parrot-2", "crow"]) as server:
        with pytest.raises(ConfigError, match=r"models\.parrot\.source: .*'parrot-1'; it serves parrot-2 and 1 more"):
            ask(server.url, [turn("q1")])
        assert not server.asked
        before = len(server.log)
        assert len(ask(server.url, [turn("q1")], check_served=False)) == 1
        assert len(server.log) == before + 1  # the question, and no list of models


def test_a_revision_is_part_of_the_served_name():
    with Endpoint(served=["org/parrot@abc123"]) as server:
        with pytest.raises(
            ConfigError, match="vllm serve org/parrot --revision def456 --served-model-name org/parrot@def456"
        ):
            ask(server.url, [turn("q1")], source="org/parrot", revision="def456")
        answering = engine(server.url, source="org/parrot", revision="abc123", answers_as=MODEL)
        list(answering.answer([turn("q1")], folder=HERE))
        assert server.log[-1].body["model"] == "org/parrot@abc123"
        assert answering.about["served"]["id"] == "org/parrot@abc123"


@pytest.mark.parametrize(("status", "warned"), [(404, ""), (500, "cannot list its models (status 500)")])
def test_an_endpoint_without_a_list_of_models_is_used(status, warned, capsys):
    with Endpoint(served=None) as server:
        server.models_status = status
        answering = engine(server.url)
        assert len(list(answering.answer([turn("q1")], folder=HERE))) == 1
        assert answering.about["served"] == {"listed": None}
    told = capsys.readouterr().err
    assert warned in told and bool(warned) == bool(told)


@pytest.mark.parametrize(
    ("status", "message", "told"),
    [
        (401, "who are you", "key_env: .*does not take the key .*who are you"),
        (403, "no access", "key_env: .*refuses access with the key .*no access"),
        (400, "No connected db.", "source: .*rejects a question .*No connected db."),  # LiteLLM without a database
    ],
)
def test_a_wrong_key_is_reported_although_the_list_of_models_needs_none(status, message, told):
    with Endpoint(sight=lambda request: error(status, message)) as server:
        entry = OpenAIModel(engine="openai", source=MODEL, base_url=server.url)
        with pytest.raises(ConfigError, match=f"models.parrot.{told}"):
            probe("parrot", entry)


def facts(**entry):
    return EndpointSettings.from_entry("m", OpenAIModel(**{"engine": "openai", "source": "x"} | entry)).facts()


@pytest.mark.parametrize(
    "changes",
    [
        {"source": "y"},
        {"revision": "abc"},
        {"base_url": "http://localhost:1/v1"},
        {"system": "Be brief."},
        *(
            {"decoding": {name: value}}
            for name, value in {
                "temperature": 1.0,
                "seed": 1,
                "top_p": 0.5,
                "max_new_tokens": 5,
                "top_k": 5,
                "repetition_penalty": 1.1,
                "stop": ["###"],
                "sampling": "checkpoint",
            }.items()
        ),
        {"processor": {"max_pixels": 1000}},
        {"template": {"enable_thinking": False}},
        {"extra": {"min_p": 0.1}},
        {"reasoning": {"effort": "low"}},
        {"reasoning": {"marks": ["<info>", "</info>"]}},
        {"reasoning": {"opened": True}},
        {"image": {"format": "jpeg"}},
        {"image": {"detail": "low"}},
        {"top_logprobs": 0},
    ],
)
def test_what_changes_a_reply_changes_the_key(changes):
    assert turn("q1").key(facts(**changes)) != turn("q1").key(facts())


def test_what_does_not_change_a_reply_does_not_change_the_key():
    pace = {"concurrency": 3, "requests_per_minute": 5, "timeout": 9, "max_retries": 1, "max_cost": {"tokens": 5}}
    ours = {"published": "GPT-4o", "images": "many", "check_served": False, "job": {"hours": 2}}
    of_turns = {"prompt": "{question}!", "order": "text_first", "kept": "is (.)", "asked": {}}
    more = {"key_env": "X", "patience": 5, "stream": True, "tokens_per_minute": 7}
    assert facts(**pace, **ours, **of_turns, **more) == facts()
    named = {"endpoint": "the lab's server"}
    assert facts(base_url="http://a/v1", **named) == facts(base_url="http://b/v1", **named)
    assert turn("q1", json_schema="{}").key(facts()) != turn("q1").key(facts())
    assert facts()["decoding"].keys() == {"temperature", "top_p", "seed", "max_new_tokens"}  # as in earlier journals
