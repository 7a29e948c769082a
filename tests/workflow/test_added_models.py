"""One run with two added models: a model behind an HTTP endpoint, and imported replies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from known_unknowns import json_files, tables
from tests.servers.endpoint import MODEL, Endpoint, Response, completion
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
KEY = "sk-proj-0123456789abcdefSECRET"
RESULTS = "results/pocket"
TABLE = "humblebench/replies.parquet"


def telling(request):
    """An endpoint without log-probabilities that repeats the key of the request in every response."""
    told = request.headers["authorization"]
    changes = {"content": f"C. {told}", "reasoning": told, "system_fingerprint": told}
    return Response(200, completion(request.question or "q", logprobs=False, **changes))


def telling_page(request):
    """A page of the server beside its interface, such as vLLM's, that repeats the key."""
    told = request.headers["authorization"]
    return Response(200, {"version": told, "tokens": [1], "prompt": str(request.headers)})


REFUSING = {"seed": f"seed is not for Bearer {KEY}"}
PAGES = dict.fromkeys(("/version", "/tokenize", "/detokenize"), telling_page)


def add_hosted(params: dict[str, Any], url: str, source: str = MODEL) -> None:
    params["models"]["hosted"] = {"engine": "openai", "source": source, "base_url": url, "key_env": "A_KEY_OF_OURS"}
    params["editions"]["pocket"]["models"].append("hosted")


def add_imported(params: dict[str, Any], variant: str = "nota_only") -> None:
    params["models"]["theirs"] = {"engine": "imported", "cells": {"humblebench": {variant: [0]}}}
    params["editions"]["pocket"]["models"].append("theirs")


@dataclass(frozen=True)
class Changed:
    """A project after the run, what was there before it, and what the run printed."""

    project: Project
    before: dict[str, int]
    printed: str
    imported: str
    keys: set[str | None]


def import_replies(project: Project) -> str:
    """Import the replies of "uniform" to one variant as those of the model "theirs"."""
    program = "known-unknowns"
    files = ("--questions", "results/pocket/variants/humblebench/nota_only.parquet")
    files += ("--replies", f"{RESULTS}/replies/uniform/{TABLE}", "--variant", "nota_only")
    project.run(program, "export", *files, "--out", "theirs.jsonl")
    imported = ("--import", "theirs", "--benchmark", "humblebench", "--variant", "nota_only", "theirs.jsonl")
    return project.run(program, "rescore", *imported).stdout


@pytest.fixture(scope="module")
def changed(finished: tuple[Project, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Changed]:
    project = finished[0].twin(tmp_path_factory.mktemp("changed") / "project")
    endpoint = Endpoint(reply=telling, unsupported=REFUSING, pages=PAGES)
    with pytest.MonkeyPatch.context() as environment, endpoint as server:
        environment.setenv("A_KEY_OF_OURS", KEY)
        imported = import_replies(project)

        def change(params: dict[str, Any]) -> None:
            add_hosted(params, server.url)
            add_imported(params)

        project.change_params(change)
        before = project.made("results", "journal")
        printed = project.snakemake()
        keys = {request.headers.get("authorization") for request in server.log}
    yield Changed(project, before, printed, imported, keys)


def test_the_key_of_an_endpoint_is_in_no_file(changed):
    root = changed.project.root
    assert changed.keys == {f"Bearer {KEY}"}
    replies = root / RESULTS / "replies/hosted/humblebench"
    record = (replies / "engine.json").read_text(encoding="utf-8")
    spent = json.loads(record)["spent"]
    assert spent["replies"] > 0 and spent["input_tokens"] > 0
    assert "seed is not for Bearer [key]" in record
    assert {row.reply.text for row in tables.read_replies(replies / "replies.parquet")} == {"C. Bearer [key]"}
    (reference,) = json_files.read(root / "journal/hosted/humblebench.prompt.json").values()
    assert reference["versions"]["server"] == "Bearer [key]" and "[key]" in reference["rendered"]
    written = [path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]
    names = {path.name for path in written}
    assert {"mlflow.db", "index.html", "humblebench.jsonl", "hosted.json"} <= names
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
    assert KEY not in changed.printed


def test_an_imported_model_is_measured_beside_the_others(changed):
    root = changed.project.root
    assert "theirs: {engine: imported, cells: {humblebench: {nota_only: [0]}}}" in changed.imported
    replies = f"{RESULTS}/replies/theirs/{TABLE}"
    assert changed.project.made(f"{RESULTS}/replies")[replies] == changed.before[replies]
    assert not (root / "journal/theirs").exists()
    metrics = {
        model: {
            (m.parser, m.category, m.name): m.value
            for m in tables.read_metrics(root / RESULTS / "metrics" / model / "humblebench/metrics.parquet")
            if m.variant == "nota_only" and m.parser != "likelihood" and not m.name.endswith(".letters")
        }
        for model in ("uniform", "theirs")
    }
    assert metrics["theirs"] == metrics["uniform"]
    imported = tables.read_metrics(root / RESULTS / "metrics/theirs/humblebench/metrics.parquet")
    without_input = [
        m.value for m in imported if m.parser == "likelihood" and m.name not in ("chance", "constant_answer")
    ]
    assert without_input and set(without_input) == {None}  # the file has no log-probabilities
    runs = json.loads((root / RESULTS / "tracking.json").read_text(encoding="utf-8"))["runs"]
    assert [(run["benchmark"], run["seed"]) for run in runs if run["model"] == "theirs"] == [("humblebench", 0)]
    assert "theirs" in (root / RESULTS / "report/index.html").read_text(encoding="utf-8")


def test_missing_replies_and_a_model_that_is_not_served_are_found_before_inference(rerun, monkeypatch):
    rerun.change_params(lambda params: add_imported(params, variant="noise"))
    planned = rerun.snakemake("--dry-run", code=None)
    assert f"{RESULTS}/replies/theirs/{TABLE}" in planned  # a missing cell of imported replies is named

    monkeypatch.setenv("A_KEY_OF_OURS", KEY)
    with Endpoint() as server:
        rerun.change_params(lambda params: add_hosted(params, server.url, source="parrot-2"))
        said = rerun.snakemake(f"{RESULTS}/replies/hosted/humblebench/engine.json", code=None)
        assert not [request for request in server.log if request.method == "POST"]
    assert "parrot-2" in said
    assert not (rerun.root / "journal/hosted").exists()
