"""Default settings that an endpoint refuses are found by the probe, recorded, and part of the identity. Real HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from known_unknowns import json_files
from known_unknowns.config import OpenAIModel
from known_unknowns.engines.endpoint.refused_defaults import FILE
from known_unknowns.errors import ConfigError, DataError, MachineError
from known_unknowns.model_runs import lazy_engine
from known_unknowns.model_runs.probe import probe
from tests.servers.client import ask, engine, turn, turns
from tests.servers.endpoint import MODEL, Endpoint, Response, answer_to, completion, error, seeing

REFUSED = {
    "seed": "Unrecognized request argument supplied: seed",
    "temperature": "Unsupported value: 'temperature' does not support 0 with this model.",
    "logprobs": "not for this model",
    "max_completion_tokens": "Extra inputs are not permitted",
}
"""Parameters and messages, not all of which name the parameter."""


def hosted(server, **settings):
    return OpenAIModel(**{"engine": "openai", "source": MODEL, "base_url": server.url, "max_retries": 0} | settings)


def facts(entry, journals):
    return lazy_engine.engine("parrot", entry, journals / "humblebench.jsonl").facts


def questions(server):
    return [request for request in server.log if request.question]


@pytest.mark.parametrize("names", [["temperature"], ["seed", "logprobs"], ["max_completion_tokens"], list(REFUSED)])
def test_refused_defaults_are_left_out_recorded_and_part_of_the_identity(names, tmp_path, capsys):
    with Endpoint(unsupported={name: REFUSED[name] for name in names}) as server:
        found = probe("parrot", hosted(server), tmp_path)
        settings = {"logprobs": "top_logprobs", "max_completion_tokens": "limit_name"}
        assert set(found["left_out"]) == {settings.get(name, name) for name in names}
        assert all(REFUSED[name] in found["left_out"][settings.get(name, name)]["message"] for name in names)
        assert capsys.readouterr().err.count("does not take the default") == len(names)
        answering = lazy_engine.engine("parrot", hosted(server), tmp_path / "humblebench.jsonl")
        replies = [row for batch in answering.answer(turns(4), folder=tmp_path) for row in batch]
        (sent,) = {frozenset(request.body) for request in questions(server)}
    assert all(reply.error is None for _, reply in replies) and not sent & set(names)
    assert len(sent) == 7 - sum({"logprobs": 2, "max_completion_tokens": 0}.get(name, 1) for name in names)
    asked = {"temperature": None, "seed": None, "top_logprobs": 0, "limit_name": "max_tokens"}
    expected = facts(hosted(server), tmp_path / "none")
    for name in names:
        setting = settings.get(name, name)
        place = expected["decoding"] if setting in ("temperature", "seed") else expected
        place[setting] = asked[setting]
    assert facts(hosted(server), tmp_path) == expected


def test_nothing_changes_while_questions_are_asked():
    """As a message that quotes a question with the names of parameters (vllm#49239)."""
    quoted = "cannot parse 'at which temperature does seed germinate? max_completion_tokens'"

    def reply(request):
        return error(400, quoted) if request.question == "q3" else Response(200, completion(request.question))

    with Endpoint(reply=reply) as server:
        replies = ask(server.url, turns(30))
        assert server.asked == {f"q{number}": 1 for number in range(30)}
        assert {frozenset(request.body) for request in questions(server)} == {frozenset(questions(server)[0].body)}
    assert [reply.finish for reply in replies] == ["stop"] * 3 + ["rejected"] + ["stop"] * 26
    assert quoted in replies[3].error


def test_five_log_probabilities_are_tried_before_none(tmp_path):
    def few(request):
        if request.body.get("top_logprobs", 0) > 5:
            return error(400, "too many")
        return seeing(request)

    with Endpoint(sight=few) as server:
        found = probe("parrot", hosted(server), tmp_path)
    assert found["left_out"] == {"top_logprobs": {"value": 5, "message": "status 400: too many"}}
    assert facts(hosted(server), tmp_path)["top_logprobs"] == 5


def test_an_ignored_limit_is_sent_under_its_old_name(tmp_path):
    def talkative(request):
        tokens = min(request.body.get("max_tokens", 500), 500)
        usage = {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": 10 + tokens}
        return Response(200, completion(request.question, content="word " * tokens, usage=usage))

    with Endpoint(reply=talkative) as server:
        assert probe("parrot", hosted(server), tmp_path)["left_out"]["limit_name"]["value"] == "max_tokens"
        answering = lazy_engine.engine("parrot", hosted(server), tmp_path / "humblebench.jsonl")
        ((_, reply),) = next(answering.answer([turn("q1")], folder=tmp_path))
    assert reply.output_tokens == 16


WRITTEN = {
    "decoding.temperature": ({"decoding": {"temperature": 0}}, "temperature"),
    "decoding.seed": ({"decoding": {"seed": 3}}, "seed"),
    "decoding.top_k": ({"decoding": {"top_k": 5}}, "top_k"),
    "reasoning": ({"reasoning": {"effort": "low"}}, "reasoning_effort"),
    "processor": ({"processor": {"max_pixels": 9}, "system": "Be brief."}, "mm_processor_kwargs"),
    "top_logprobs": ({"top_logprobs": 20}, "logprobs"),
}


@pytest.mark.parametrize("path", WRITTEN)
def test_a_refused_value_of_the_entry_stops_the_run_with_its_key(path, tmp_path):
    settings, parameter = WRITTEN[path]
    with Endpoint(unsupported={parameter: "no, thanks", "max_completion_tokens": "no"}) as server:
        with pytest.raises(ConfigError, match=rf"models\.parrot\.{path}: .*refuses this value .*no, thanks"):
            probe("parrot", hosted(server, **settings), tmp_path)
        assert not (tmp_path / FILE).exists()
        probe("parrot", hosted(server), tmp_path)
        with pytest.raises(ConfigError, match=rf"models\.parrot\.{path}: "):
            probe("parrot", hosted(server, **settings), tmp_path)


def test_a_limit_that_the_context_does_not_hold_stops_the_run(tmp_path):
    def small(request):
        limit = request.body.get("max_completion_tokens", request.body.get("max_tokens"))
        return error(400, "the context is 4096 tokens") if limit > 4000 else seeing(request)

    with (
        Endpoint(sight=small) as server,
        pytest.raises(ConfigError, match=r"parrot\.decoding\.max_new_tokens.*4096 tokens"),
    ):
        probe("parrot", hosted(server, decoding={"max_new_tokens": 8000}), tmp_path)


def test_the_settings_of_single_benchmarks_are_sent_as_well(tmp_path):
    with Endpoint(unsupported={"top_k": "unknown"}) as server, pytest.raises(ConfigError, match=r"top_k.*unknown"):
        probe("parrot", hosted(server, asked={"humblebench": {"decoding": {"top_k": 3}}}), tmp_path)


def test_what_was_found_stays_until_it_is_asked_for_again(tmp_path):
    with Endpoint(unsupported={"temperature": "no"}) as server:
        assert set(probe("parrot", hosted(server), tmp_path)["left_out"]) == {"temperature"}
        server._unsupported.clear()
        assert set(probe("parrot", hosted(server), tmp_path)["left_out"]) == {"temperature"}
        assert probe("parrot", hosted(server), tmp_path, again=True)["left_out"] == {}
        server._unsupported["seed"] = "no"
        with pytest.raises(ConfigError, match=r"probe parrot --again"):
            probe("parrot", hosted(server), tmp_path)


def test_a_default_that_the_entry_writes_later_is_sent(tmp_path):
    with Endpoint(unsupported={"temperature": "no"}) as server:
        probe("parrot", hosted(server), tmp_path)
    assert facts(hosted(server, decoding={"temperature": 0.5}), tmp_path)["decoding"]["temperature"] == 0.5
    assert facts(hosted(server, decoding={"sampling": "checkpoint"}), tmp_path)["decoding"]["temperature"] is None


def test_a_file_that_was_edited_is_named(tmp_path):
    with Endpoint() as server:
        probe("parrot", hosted(server), tmp_path)
        (name,) = json_files.read(tmp_path / FILE)
        json_files.write(tmp_path / FILE, {name: {"temperature": {"value": 0.5}}})
        with pytest.raises(DataError, match=r"endpoint_settings\.json.*remove this file"):
            facts(hosted(server), tmp_path)


def test_an_endpoint_that_fails_leaves_nothing_out(tmp_path):
    with Endpoint(sight=lambda request: error(503, "temperature too high")) as server, pytest.raises(MachineError):
        probe("parrot", hosted(server), tmp_path)
    assert not (tmp_path / FILE).exists()


def test_a_judge_is_asked_without_a_schema_if_its_endpoint_takes_none(tmp_path):
    from known_unknowns.model_runs.probe import before_first_turn

    asked = turn("q1", labels=None, json_schema=json.dumps({"type": "object"}))
    journal = tmp_path / "judge" / "parrot.jsonl"
    with Endpoint(unsupported={"response_format": "no schema here"}) as server:
        before_first_turn("parrot", hosted(server), journal, asked, tmp_path)
        answering = lazy_engine.engine("parrot", hosted(server), journal)
        ((_, reply),) = next(answering.answer([asked], folder=tmp_path))
        assert "response_format" not in questions(server)[-1].body
    assert reply.text == answer_to("q1") and answering.facts["structured"] is False


def test_an_engine_without_a_file_leaves_nothing_out():
    with Endpoint(unsupported={"temperature": "no"}) as server:
        (reply,) = ask(server.url, [turn("q1")])
        assert engine(server.url).facts["decoding"]["temperature"] == 0.0
    assert reply.finish == "rejected"


KEYS = {
    "ad42edf203e55cc98fde82c76fcda90c85f88710447c89acb13c97d251f809bd": {},
    "71423839e06d394959d9d03504a5921d7910059f6f4735ed543d1cec6bd8e98d": {
        "base_url": "http://localhost:8000/v1",
        "revision": "abc",
    },
    "5c7701a3ba87463c022ad4eeeac9acdab1ce2b25b21294f1b536d0f395dcbc76": {
        "decoding": {"temperature": 0.7, "top_p": 0.9, "seed": 3, "max_new_tokens": 64, "top_k": 5, "stop": ["###"]}
    },
    "380dff216dcaffcc4959ca2d91ad5c69fb2f1c7ed0324332a1e1b20a62a45984": {
        "decoding": {"temperature": None, "seed": None}
    },
    "57a882d4d712b766b7b3f4b29287c1bd76ebe49c3e3a60f220f852d90c03475f": {
        "reasoning": {"effort": "low", "tokens": 4000},
        "top_logprobs": 0,
    },
    "397716a6308adc7a44313fe39fea60b7a4c3b602489fe2133cf77682a12bd20d": {
        "image": {"format": "jpeg", "quality": 90, "detail": "high"},
        "processor": {"max_pixels": 1000},
        "system": "Be brief.",
    },
    "6334a03a426a0ca5e89965d01c60bf413722de6ab2f523f4496e092c6b44aee8": {"endpoint": "the lab's server"},
}
"""Keys of one turn in journals that were written before defaults were left out."""


@pytest.mark.parametrize(("key", "settings"), KEYS.items())
def test_a_journal_written_before_keeps_its_replies(key, settings, monkeypatch, tmp_path):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    entry = OpenAIModel(**{"engine": "openai", "source": "gpt-4o"} | settings)
    assert turn("q1").key(facts(entry, Path(tmp_path))) == key
