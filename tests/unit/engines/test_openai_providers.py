"""Endpoints of providers, rebuilt from their documents and from errors that users of them have published. Real HTTP.

The probe, and then three questions, whose requests are compared with what is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from known_unknowns import json_files
from known_unknowns.config import OpenAIModel
from known_unknowns.engines.endpoint.refused_defaults import FILE
from known_unknowns.errors import ConfigError
from known_unknowns.model_runs import lazy_engine
from known_unknowns.model_runs.probe import TEXT, probe
from known_unknowns.records import Reply
from tests.servers.client import turns
from tests.servers.endpoint import Endpoint, Request, Response, answer_to, completion, error, parts, seeing

NO_TEMPERATURE = (
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
)
NO_LOGPROBS = "You are not allowed to request logprobs from this model"
ONLY_STREAM = "This model only support stream mode, please enable the stream parameter to access the model. "
NO_CLAUDE_TEMPERATURE = "`temperature` is deprecated for this model."
NO_GEMINI_LOGPROBS = "Logprobs is not enabled for models/gemini-2.5-flash"
NO_GEMINI_SEED = 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'
RESPONSES_ONLY = "This model is only supported in v1/responses and not in v1/chat/completions."

ALL = {"max_completion_tokens": 16, "temperature": 0.0, "seed": 0, "logprobs": True, "top_logprobs": 20}
"""The parameters of a question of which an endpoint refuses none."""


def without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in ALL.items() if name not in names}


def answered(request: Request, model: str, **changes: Any) -> Response:
    """A reply of the model, to the probe's question or another one."""
    if TEXT.encode() in request.raw:
        body = seeing(request).body | {"model": model}
        return Response(200, body)
    return Response(200, completion(request.question, model=model, **changes))


def o_series(request: Request, *, model: str = "o4-mini-2025-04-16", first: str = "temperature") -> Response:
    """Status 403 for logprobs: https://github.com/confident-ai/deepeval/pull/2184."""
    refusals = {"temperature": error(400, NO_TEMPERATURE), "logprobs": error(403, NO_LOGPROBS)}
    for name in sorted(refusals, key=lambda each: each != first):
        if name in request.body:
            return refusals[name]
    return answered(request, model, logprobs=False)


def anthropic(request: Request) -> Response:
    """https://platform.claude.com/docs/en/api/openai-sdk: seed, logprobs and top_logprobs are ignored."""
    return answered(request, "claude-opus-4-6", logprobs=False)


def anthropic_without_sampling(request: Request) -> Response:
    """https://platform.claude.com/docs/en/about-claude/models/migration-guide: status 400 for another temperature."""
    if request.body.get("temperature", 1.0) != 1.0:
        return error(400, NO_CLAUDE_TEMPERATURE, type="invalid_request_error")
    return answered(request, "claude-opus-4-7", logprobs=False)


def dashscope(request: Request) -> Response:
    """https://www.alibabacloud.com/help/en/model-studio/error-code."""
    if not request.body.get("stream"):
        return error(400, ONLY_STREAM, code="invalid_parameter_error")
    if TEXT.encode() in request.raw:
        whole = seeing(request).body
        content = whole["choices"][0]["message"]["content"]
        return parts(request, content=content, reasoning_content="Hm.", model="qvq-max", usage=whole["usage"])
    return parts(request, reasoning_content="Hm.", model="qvq-max", logprobs=False)


def gemini(request: Request) -> Response:
    """Refuse two defaults. The second question is a recitation.

    https://discuss.ai.google.dev/t/openai-compatibility-not-fully-implemented/95991,
    https://github.com/mscraftsman/generative-ai/issues/135.
    """
    refusals = {"seed": NO_GEMINI_SEED, "logprobs": NO_GEMINI_LOGPROBS}
    for message in (refusals[name] for name in refusals if name in request.body):
        return Response(400, [{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}])
    finish = "RECITATION" if request.question == "q1" else "stop"
    return answered(request, "gemini-2.5-flash", logprobs=False, finish_reason=finish)


@dataclass(frozen=True)
class Provider:
    """An endpoint, what it lists, and what is expected."""

    source: str
    reply: Callable[[Request], Response]
    left_out: Mapping[str, Any]
    sent: Mapping[str, Any]
    served: Sequence[str] | None = None
    models_status: int = 404
    requested: str | None = None
    warning: str = ""
    failures: Mapping[str, str] = field(default_factory=dict)


O_SERIES = {
    "source": "o4-mini-2025-04-16",
    "served": ["o4-mini-2025-04-16"],
    "left_out": {"temperature": None, "top_logprobs": 0},
    "sent": without("temperature", "logprobs", "top_logprobs"),
}
PROVIDERS = {
    "OpenAI's o-series": Provider(reply=o_series, **O_SERIES),
    "OpenAI's o-series, 403 first": Provider(reply=lambda request: o_series(request, first="logprobs"), **O_SERIES),
    "Anthropic": Provider(
        source="claude-opus-4-6",
        reply=anthropic,
        left_out={},
        sent=ALL,
        models_status=401,
        warning="warning: the endpoint cannot list its models (status 401)",
    ),
    "Anthropic, models without sampling": Provider(
        source="claude-opus-4-7",
        reply=anthropic_without_sampling,
        left_out={"temperature": None},
        sent=without("temperature"),
        models_status=401,
        warning="warning: the endpoint cannot list its models (status 401)",
    ),
    "DashScope": Provider(
        source="qvq-max",
        reply=dashscope,
        left_out={"stream": True},
        sent=ALL | {"stream": True, "stream_options": {"include_usage": True}},
    ),
    "Gemini": Provider(
        source="gemini-2.5-flash",
        reply=gemini,
        left_out={"seed": None, "top_logprobs": 0},
        sent=without("seed", "logprobs", "top_logprobs"),
        served=["models/gemini-2.5-flash"],
        requested="models/gemini-2.5-flash",
        failures={"q1": "content_filter"},
    ),
}


def served(provider: Provider) -> Endpoint:
    server = Endpoint(reply=provider.reply, sight=provider.reply, served=provider.served)
    server.models_status = provider.models_status
    return server


def entry_of(provider: Provider, server: Endpoint, **settings: Any) -> OpenAIModel:
    keys = {"engine": "openai", "source": provider.source, "base_url": server.url, "max_retries": 0}
    return OpenAIModel(**keys | settings)


def lists(server: Endpoint) -> int:
    return sum(request.path == "/v1/models" for request in server.log)


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)
def test_a_provider_is_asked_as_recorded(provider, tmp_path, capsys):
    with served(provider) as server:
        entry = entry_of(provider, server)
        found = probe("m", entry, tmp_path)
        assert found["checked"] == "endpoint" and found["sees_images"]
        assert {name: row["value"] for name, row in found["left_out"].items()} == provider.left_out
        assert lists(server) == 1
        told = capsys.readouterr().err
        assert provider.warning in told and ("warning" in told) == bool(provider.warning)

        engine = lazy_engine.engine("m", entry, tmp_path / "humblebench.jsonl")
        replies: dict[int, Reply] = {}
        asked = turns(3)
        for part in (asked[:1], asked[1:]):  # as the turns of a dialogue
            for rows in engine.answer(part, folder=tmp_path):
                replies |= {asked.index(part[index]): reply for index, reply in rows}
        sent = [request.body for request in server.log if request.question]
        # The job does not ask again for a list that failed.
        assert lists(server) == (1 if provider.served is None else 2)
    requested = provider.requested or provider.source
    for body in sent:
        assert body.pop("model") == requested
        assert body.pop("messages")[0]["role"] == "user"
    assert sent == [provider.sent] * 3
    for index, reply in replies.items():
        question = f"q{index}"
        assert reply.finish == provider.failures.get(question, "stop")
        assert reply.text == answer_to(question)

    assert engine.about["requested_model"] == requested and engine.about["left_out"] == found["left_out"]
    assert engine.facts["source"] == provider.source
    for name in ("temperature", "seed"):
        assert engine.facts["decoding"][name] == provider.sent.get(name)
    assert engine.facts["top_logprobs"] == provider.sent.get("top_logprobs", 0)
    assert "stream" not in engine.facts


def test_a_model_of_the_responses_api_only_is_named_with_the_way_to_ask_it(tmp_path):
    """https://github.com/n8n-io/n8n/issues/18352."""
    model = Provider("o3-pro", lambda request: error(404, RESPONSES_ONLY, param="model"), {}, {}, served=["o3-pro"])
    with (
        served(model) as server,
        pytest.raises(ConfigError, match=r"m\.source: .*Responses API only.*inspect_ai.*dialogues cannot be asked"),
    ):
        probe("m", entry_of(model, server), tmp_path)
    assert not (tmp_path / FILE).exists()


def test_a_wrong_key_is_named_after_a_list_that_takes_none(tmp_path):
    refused = error(401, "invalid x-api-key")
    model = Provider("claude-opus-4-6", lambda request: refused, {}, {}, models_status=401)
    told = r"m\.key_env: .*does not take the key .*invalid x-api-key"
    with served(model) as server, pytest.raises(ConfigError, match=told):
        probe("m", entry_of(model, server), tmp_path)


def test_a_value_of_the_entry_that_is_refused_with_403_is_named_by_its_key(tmp_path):
    model = PROVIDERS["OpenAI's o-series"]
    told = rf"m\.top_logprobs: .*refuses this value \(status 403: {NO_LOGPROBS}"
    with served(model) as server, pytest.raises(ConfigError, match=told):
        probe("m", entry_of(model, server, top_logprobs=5), tmp_path)


def by_effort(request: Request) -> Response:
    """Temperature and log-probabilities are taken without reasoning only."""
    reasons = request.body.get("reasoning_effort", "none") != "none"
    return o_series(request, model="gpt-5.1") if reasons else answered(request, "gpt-5.1")


EFFORT = Provider("gpt-5.1", by_effort, {}, {}, served=["gpt-5.1"])
AGAIN = "`known-unknowns models probe m --again`"


def test_what_is_refused_is_recorded_for_the_effort_with_which_it_was_found(tmp_path, capsys):
    high, none = {"reasoning": {"effort": "high"}}, {"reasoning": {"effort": "none"}}
    with served(EFFORT) as server:

        def left_out(**settings: Any) -> set[str]:
            return set(probe("m", entry_of(EFFORT, server, **settings), tmp_path)["left_out"])

        assert left_out(**high) == {"temperature", "top_logprobs"}
        assert AGAIN not in capsys.readouterr().err  # it was asked just now
        assert left_out(**none) == set()
        assert "does not take" not in capsys.readouterr().err
        assert left_out(**high) == {"temperature", "top_logprobs"}
        assert capsys.readouterr().err.count(AGAIN) == 2
        facts = [
            lazy_engine.engine("m", entry_of(EFFORT, server, **settings), tmp_path / "humblebench.jsonl").facts
            for settings in (high, none)
        ]
    assert [each["decoding"]["temperature"] for each in facts] == [None, 0.0]


def test_settings_of_a_benchmark_have_a_record_of_their_own(tmp_path):
    with served(EFFORT) as server:
        entry = entry_of(EFFORT, server, asked={"mmsap": {"reasoning": {"effort": "high"}}})
        assert probe("m", entry, tmp_path)["left_out"] == {}
        assert lists(server) == 1
        facts = {
            benchmark: lazy_engine.engine("m", entry.asked_in(benchmark), tmp_path / f"{benchmark}.jsonl").facts
            for benchmark in ("humblebench", "mmsap")
        }
    assert facts["humblebench"]["decoding"]["temperature"] == 0.0
    assert facts["mmsap"]["decoding"]["temperature"] is None


OLD = "what it said in an earlier version"


@pytest.mark.parametrize(("effort", "left_out"), [("high", {"temperature", "top_logprobs"}), ("none", set())])
def test_a_record_of_an_earlier_version_is_probed_anew_and_keeps_the_replies_of_its_journal(
    effort, left_out, tmp_path, capsys
):
    """It has the model alone. It was made with the effort "high"."""
    refused = {"temperature": {"value": None, "message": OLD}, "top_logprobs": {"value": 0, "message": OLD}}
    with served(EFFORT) as server:
        json_files.write(tmp_path / FILE, {f"gpt-5.1 at {server.url}": refused})
        entry = entry_of(EFFORT, server, reasoning={"effort": effort})

        def facts() -> Mapping[str, Any]:
            return lazy_engine.engine("m", entry, tmp_path / "humblebench.jsonl").facts

        before = facts()
        assert before["decoding"]["temperature"] is None and before["top_logprobs"] == 0
        assert set(probe("m", entry, tmp_path)["left_out"]) == left_out
        assert OLD not in capsys.readouterr().err
        assert (facts() == before) == bool(left_out)
        assert facts()["decoding"]["temperature"] == (None if left_out else 0.0)


def test_a_list_that_fails_is_asked_once_for_all_jobs_until_the_next_probe(tmp_path):
    model = PROVIDERS["Anthropic"]
    with served(model) as server:
        entry = entry_of(model, server)

        def run_jobs(*benchmarks: str) -> None:
            for benchmark in benchmarks:
                engine = lazy_engine.engine("m", entry, tmp_path / f"{benchmark}.jsonl")
                assert len(list(engine.answer(turns(2), folder=tmp_path))) == 2
                assert engine.about["served"]["listed"] == server._served

        probe("m", entry, tmp_path)
        run_jobs("humblebench", "mmsap")
        assert lists(server) == 1
        server._served = ["claude-opus-4-7"]
        with pytest.raises(ConfigError, match="does not serve 'claude-opus-4-6'"):
            probe("m", entry, tmp_path)
        assert lists(server) == 2


def test_a_question_that_is_refused_however_it_is_asked_is_no_case_for_another_probe(tmp_path):
    refused = error(400, "no such thing")
    model = Provider("m-1", lambda request: refused, {}, {}, served=["m-1"])
    with served(model) as server, pytest.raises(ConfigError, match="rejects a question with an image") as raised:
        probe("m", entry_of(model, server), tmp_path)
    assert "--again" not in str(raised.value)
