"""A model behind an HTTP endpoint in the whole workflow. Its key is in no output."""

from __future__ import annotations

import json

import pytest

from tests.servers.endpoint import MODEL, Endpoint, Response, completion

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
KEY = "sk-proj-0123456789abcdefSECRET"
pytest.importorskip("openai")


def telling(request):
    """An endpoint that repeats the key of the request in every response."""
    told = request.headers["authorization"]
    return Response(200, completion(request.question or "q", content=f"C. {told}", reasoning=told))


def add_model(params, url, source=MODEL):
    params["models"]["hosted"] = {"engine": "openai", "source": source, "base_url": url, "key_env": "A_KEY_OF_OURS"}
    params["editions"]["pocket"]["models"] = ["oracle", "hosted"]


def test_a_whole_run_writes_the_key_to_no_file(rerun, monkeypatch):
    monkeypatch.setenv("A_KEY_OF_OURS", KEY)
    with Endpoint(reply=telling) as server:
        rerun.change_params(lambda params: add_model(params, server.url))
        said = rerun.snakemake()
        assert {request.headers.get("authorization") for request in server.log} == {f"Bearer {KEY}"}
    spent = json.loads((rerun.root / "results/pocket/replies/hosted/humblebench/engine.json").read_text())["spent"]
    assert spent["replies"] > 0 and spent["input_tokens"] > 0
    written = [path for path in rerun.root.rglob("*") if path.is_file() and ".git" not in path.parts]
    names = {path.name for path in written}
    assert {"mlflow.db", "index.html", "humblebench.jsonl", "hosted.json"} <= names
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
    assert KEY not in said


def test_a_model_that_is_not_served_is_found_before_inference(rerun, monkeypatch):
    monkeypatch.setenv("A_KEY_OF_OURS", KEY)
    with Endpoint() as server:
        rerun.change_params(lambda params: add_model(params, server.url, source="parrot-2"))
        said = rerun.snakemake(code=None)
        assert not [request for request in server.log if request.method == "POST"]
    assert "parrot-2" in said
    assert not (rerun.root / "journal/pocket/hosted").exists()
