"""No output of a run contains the key, even if the endpoint repeats it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from known_unknowns import tables
from known_unknowns.config import OpenAIModel
from known_unknowns.data.questions import normalise, vary
from known_unknowns.engines.endpoint.settings import ApiKey, EndpointSettings
from known_unknowns.errors import ConfigError, KnownUnknownsError
from known_unknowns.model_runs.model_run import infer
from known_unknowns.model_runs.probe import probe
from tests.factories import params_from, published_row, variant_entry, write_published
from tests.paths import ROOT, SOURCE
from tests.servers.client import engine, turn
from tests.servers.endpoint import MODEL, Endpoint, Response, completion, error

KEY = "sk-proj-0123456789abcdefSECRET"


def settings(**entry) -> EndpointSettings:
    return EndpointSettings.from_entry("m", OpenAIModel(engine="openai", **entry))


def run(folder, server, count=12, **entry):
    """Run in a new process with the client's debug logging; return the output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    environment |= {"OPENAI_LOG": "debug", "PYTHONPATH": os.pathsep.join([str(ROOT), str(SOURCE.parent)])}
    if not (folder / ".env").exists():
        environment["OPENAI_API_KEY"] = KEY
    arguments = [str(folder / "journal.jsonl"), str(count), server.url, json.dumps(entry)]
    program = [sys.executable, "-m", "tests.servers.client", *arguments]
    done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def written(folder):
    return {path.name: path.read_text() for path in folder.rglob("*") if path.is_file() and path.name != ".env"}


@pytest.mark.parametrize("in_file", [False, True], ids=["key in the environment", "key in .env"])
def test_the_key_reaches_only_the_endpoint(tmp_path, in_file):
    if in_file:
        (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    faults = {"q1": ["tell_key"], "q2": ["tell_key_500"] * 99, "q3": ["reset"], "q4": ["429", "tell_key_500"]}
    with Endpoint(faults) as server:
        said = run(tmp_path, server, max_retries=1)
        assert {request.headers["authorization"] for request in server.log if request.headers} == {f"Bearer {KEY}"}
    files = written(tmp_path)
    assert "you sent Bearer [key]" in files["journal.jsonl"]
    assert "could not forward Bearer [key]" in files["journal.jsonl"]
    assert KEY not in said and "HTTP Request" in said
    assert not [name for name, text in files.items() if KEY in text]


def test_the_key_is_not_in_tables_and_facts(tmp_path, monkeypatch):
    """All files of the step `infer`: journal, tables of replies, engine.json."""
    monkeypatch.setenv("THE_KEY", KEY)
    write_published(tmp_path / "raw", [published_row(number) for number in range(10)])
    normalise("humblebench", tmp_path / "raw", tmp_path / "questions")
    original = tmp_path / "variants" / "original.parquet"
    vary(variant_entry("original"), tmp_path / "questions" / "questions.parquet", original, seeds=[0])

    def talkative(request):
        if "seed" in request.body:
            return error(400, f"seed is not for {request.headers['authorization']}")
        told = request.headers["authorization"]
        return Response(200, completion("q1", content=told, reasoning=told, system_fingerprint=told))

    with Endpoint(reply=talkative, sight=talkative) as server:
        entry = {"engine": "openai", "source": MODEL, "base_url": server.url, "key_env": "THE_KEY"}
        entry["check_served"] = False
        params = params_from(
            {
                "edition": "pocket",
                "editions": {"pocket": {"benchmarks": ["humblebench"], "models": ["parrot"], "seeds": [0]}},
                "benchmarks": {"humblebench": {"protocol": "single_turn", "variants": ["original"]}},
                "variants": {"original": {}},
                "protocols": {"single_turn": {"max_new_tokens": 16}},
                "models": {"parrot": entry},
                "parsers": ["official", "robust", "likelihood"],
            }
        )
        places = {name: tmp_path / name for name in ("questions", "variants", "out")}
        places["journal"] = tmp_path / "journal.jsonl"
        probe("parrot", params.model("parrot"), tmp_path)
        infer(params, "parrot", "humblebench", **places)
    (row, *_) = tables.read_replies(tmp_path / "out" / "replies.parquet")
    assert row.reply.text == "Bearer [key]"
    assert "seed is not for Bearer [key]" in (tmp_path / "out" / "engine.json").read_text()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_the_key_is_not_in_errors(tmp_path):
    with Endpoint(lambda question, attempt: "no_key") as server:
        said = run(tmp_path, server, max_retries=0, patience=0.5)
    assert "Error: " in said and KEY not in said
    assert not [name for name, text in written(tmp_path).items() if KEY in text]


@pytest.mark.parametrize("place", ["error", "finish_reason", "model"])
def test_the_key_is_not_in_the_error_of_replies_with_status_200(tmp_path, place, monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def reply(request):
        body = completion(request.question)
        (body["choices"][0] if place == "finish_reason" else body)[place] = f"bad {KEY}"
        return Response(200, body)

    with Endpoint(reply=reply) as server, pytest.raises(KnownUnknownsError, match=r"\[key\]") as raised:
        list(engine(server.url).answer([turn(f"q{number}") for number in range(20)], folder=tmp_path))
    assert KEY not in str(raised.value) and KEY not in capsys.readouterr().err


def test_a_missing_key_is_named(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigError, match=r"models\.m\.key_env: .*OPENAI_API_KEY.*never into params\.yaml"):
        settings(source="gpt-4o").key()
    with pytest.raises(ConfigError, match="THEIR_KEY"):
        settings(source="x", base_url="http://localhost:1/v1", key_env="THEIR_KEY").key()
    assert settings(source="x", base_url="http://localhost:1/v1").key().reveal() == "none"
    engine("http://localhost:1/v1", key_env="THEIR_KEY")  # no key is needed before there is a question


@pytest.mark.parametrize("address", ["http://me:secret@host/v1", "http://host/v1?key=secret"])
@pytest.mark.parametrize("variable", [True, False])
def test_an_address_with_a_secret_is_refused_without_printing_it(address, variable, monkeypatch):
    if variable:
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        entry = OpenAIModel(engine="openai", source="x")
    else:  # also an address that the configuration would not accept
        entry = OpenAIModel(engine="openai", source="x").model_copy(update={"base_url": address})
    with pytest.raises(ConfigError, match=r"models\.m\.base_url") as caught:
        EndpointSettings.from_entry("m", entry)
    assert "secret" not in str(caught.value)


def test_scrubbing_covers_every_text():
    key = ApiKey(KEY)
    assert key.redact({"a": [f"x{KEY}", 1, None], KEY: {"b": KEY}}) == {
        "a": ["x[key]", 1, None],
        "[key]": {"b": "[key]"},
    }
    assert KEY not in repr(key) and KEY not in f"{key}"
    assert ApiKey("EMPTY").redact("EMPTY") == "EMPTY"
    assert key.redact("half a pair \ud83d") == "half a pair ?" and key.redact("whole \U0001f600") == "whole \U0001f600"
