"""Functions of wildcards: the inputs and parameters that they give a job."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from known_unknowns.workflow import configuration, rule_parameters, selection
from known_unknowns.workflow.rule_functions import RuleFunctions
from tests.paths import ROOT


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RuleFunctions:
    """The functions of the pocket edition, in an empty folder."""
    params = configuration.load(ROOT / "params.yaml")
    monkeypatch.chdir(tmp_path)
    return RuleFunctions(params, "data/pocket")


def of(**wildcards: str) -> SimpleNamespace:
    return SimpleNamespace(**wildcards)


def test_a_pin_is_an_input_if_it_exists(functions: RuleFunctions) -> None:
    wildcards = of(benchmark="humblebench")
    assert functions.pin(wildcards) == []
    pin = Path("data/pocket/raw/humblebench.dvc")
    pin.parent.mkdir(parents=True)
    pin.write_text("outs: []\n")
    (found,) = functions.pin(wildcards)
    assert found == pin.as_posix()


def test_released_replies_get_the_benchmarks_own_questions_if_they_exist(functions: RuleFunctions) -> None:
    raw = dict(functions.params.raw)
    entry = raw["benchmarks"]["humblebench"]
    source = {"source": "scenes", "seed": 1, "images": 4, "questions_per_image": 1, "revision": "unpinned"}
    raw["benchmarks"] = raw["benchmarks"] | {"humblebench": entry | {"data": {"pocket": source}}}
    assert functions.own_questions(of(benchmark="humblebench")) == []
    released = functions.params.raw["benchmarks"]["humblebench"]["data"]["released"]
    raw["benchmarks"]["humblebench"]["data"]["pocket"] = released | {"questions": "mine"}
    functions = RuleFunctions(type(functions.params)(raw), "data/pocket")
    assert functions.own_questions(of(benchmark="humblebench")) == []
    Path("mine").mkdir()
    Path("mine/questions.parquet").write_bytes(b"")
    assert functions.own_questions(of(benchmark="humblebench")) == ["mine/questions.parquet"]


def test_only_rendered_data_depend_on_code(functions: RuleFunctions) -> None:
    assert len(functions.code_of_source(of(benchmark="humblebench"))) == 16
    full = configuration.load(ROOT / "params.yaml", edition="full")
    assert RuleFunctions(full, "data/full").code_of_source(of(benchmark="humblebench")) == ""


def test_an_imported_model_needs_the_variants_that_it_answered(functions: RuleFunctions) -> None:
    raw = functions.params.raw | {"models": dict(functions.params.raw["models"])}
    raw["models"]["oracle"] = {"engine": "imported", "cells": {"humblebench": {"noise": [0]}}}
    functions = RuleFunctions(type(functions.params)(raw), "data/pocket")
    noise = "<results>/variants/humblebench/noise.parquet"
    assert functions.answered_variants(of(benchmark="humblebench", model="oracle")) == [noise]
    every = functions.variants(of(benchmark="humblebench"))
    assert noise in every and len(every) == 8
    assert functions.answered_variants(of(benchmark="humblebench", model="always_a")) == every


def test_models_and_attempts_of_a_job(functions: RuleFunctions) -> None:
    assert functions.of_model(rule_parameters.threads)(of(model="pocket")) == 1
    doubled = functions.of_attempt(lambda params, model, attempt: f"{model} {attempt}")
    assert doubled(of(model="pocket"), 2) == "pocket 2"
    assert functions.probe(of(model="oracle")) == []
    assert functions.probe(of(model="pocket")) == ["<results>/probe/pocket.json"]


def test_what_is_compared_follows_from_the_wildcards(functions: RuleFunctions) -> None:
    wildcards = {"model": "oracle", "benchmark": "humblebench", "shard": "1"}
    found = functions.read("infer")(wildcards)
    assert found == selection.compared(functions.params, "infer", model="oracle", benchmark="humblebench")
