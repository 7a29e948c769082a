"""No output of a run contains the key, even if the endpoint repeats it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from known_unknowns.config import OpenAIModel
from known_unknowns.engines.endpoint.settings import ApiKey, EndpointSettings
from known_unknowns.errors import ConfigError, KnownUnknownsError
from tests.paths import ROOT, SOURCE
from tests.servers.client import engine, turn
from tests.servers.endpoint import Endpoint, Response, completion

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
def test_an_address_with_a_secret_is_refused_without_printing_it(address, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(ConfigError, match=r"models\.m\.base_url") as caught:
        settings(source="x")
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
