"""Functions of wildcards: the inputs and parameters that they give a job."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from known_unknowns.workflow import configuration, rule_functions
from known_unknowns.workflow.rule_functions import RuleFunctions, Targets, any_of
from tests.factories import params_from
from tests.paths import ROOT


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RuleFunctions:
    """The functions of the pocket edition, in an empty folder."""
    params = configuration.load(ROOT / "params.yaml")
    monkeypatch.chdir(tmp_path)
    return RuleFunctions(params, "data/pocket")


SCRIPTS = ROOT / "rules/scripts"


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
    raw = functions.params.file.plain()
    entry = raw["benchmarks"]["humblebench"]
    source = {"source": "scenes", "seed": 1, "images": 4, "questions_per_image": 1, "revision": "unpinned"}
    raw["benchmarks"] = raw["benchmarks"] | {"humblebench": entry | {"data": {"pocket": source}}}
    assert functions.own_questions(of(benchmark="humblebench")) == []
    released = functions.params.file.plain()["benchmarks"]["humblebench"]["data"]["released"]
    raw["benchmarks"]["humblebench"]["data"]["pocket"] = released | {"questions": "mine"}
    functions = RuleFunctions(params_from(raw), "data/pocket")
    assert functions.own_questions(of(benchmark="humblebench")) == []
    Path("mine").mkdir()
    Path("mine/questions.parquet").write_bytes(b"")
    assert functions.own_questions(of(benchmark="humblebench")) == ["mine/questions.parquet"]


def test_only_rendered_data_depend_on_code(functions: RuleFunctions) -> None:
    assert len(functions.code_of_source(of(benchmark="humblebench"))) == 16
    full = configuration.load(ROOT / "params.yaml", edition="full")
    assert RuleFunctions(full, "data/full").code_of_source(of(benchmark="humblebench")) == ""


def test_an_imported_model_needs_the_variants_that_it_answered(functions: RuleFunctions) -> None:
    raw = functions.params.file.plain()
    raw["models"]["oracle"] = {"engine": "imported", "cells": {"humblebench": {"noise": [0]}}}
    functions = RuleFunctions(params_from(raw), "data/pocket")
    noise = "<results>/variants/humblebench/noise.parquet"
    assert functions.answered_variants(of(benchmark="humblebench", model="oracle")) == [noise]
    every = Targets(functions.params).variant_tables("humblebench")
    assert noise in every and len(every) == 8
    assert functions.answered_variants(of(benchmark="humblebench", model="always_a")) == every


def test_the_code_of_an_engine_reruns_its_own_models_only():
    functions = RuleFunctions(configuration.load(ROOT / "params.yaml"), "data/pocket", scripts=SCRIPTS)
    code_of = functions.code_of_asking("infer.py")
    code = {name: code_of(of(model=name, benchmark="mmsap")) for name in ("oracle", "uniform", "pocket")}
    assert code["oracle"] == code["uniform"] != code["pocket"]


def test_the_files_of_a_model_are_those_of_its_folder_and_of_its_own_adapter(tmp_path):
    params = configuration.load(ROOT / "params.yaml")
    files = {
        "model.safetensors",
        "one/adapter_config.json",
        "one/weights",
        "two/adapter_config.json",
        "templates/a.jinja",
    }
    for file in files:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("")
    base = params.file.plain()["models"]["pocket"] | {"source": str(tmp_path)}
    raw = params.file.plain() | {"models": {"plain": base, "adapted": base | {"adapter": "one"}}}
    found = {name: rule_functions.weights(params_from(raw), name) for name in ("plain", "adapted")}
    shared = {str(tmp_path / file) for file in ("model.safetensors", "templates/a.jinja")}
    assert set(found["plain"]) == shared
    assert set(found["adapted"]) == shared | {
        str(tmp_path / "one" / file) for file in ("adapter_config.json", "weights")
    }


RAW = {
    "edition": "mine",
    "editions": {"mine": {"benchmarks": ["one", "two"], "models": ["a", "b"], "seeds": [0, 3]}},
    "benchmarks": {
        "one": {"protocol": "p", "variants": ["x"], "seeds": {"x": [5]}},
        "two": {"protocol": "p", "protocols": ["p"], "variants": ["x"]},
    },
    "variants": {"x": {}},
    "protocols": {"p": {}},
    "models": {
        "a": {"engine": "respondent", "behaviour": "oracle"},
        "b": {"engine": "imported", "cells": {"two": {"p": [3]}}},
    },
}
TARGETS = Targets(params_from(RAW))


def test_models_with_imported_replies_have_their_cells_only():
    assert TARGETS.asked_models == ["a"]
    assert TARGETS.pairs == [("a", "one"), ("a", "two"), ("b", "two")]
    assert TARGETS.per_pair("{model}/{benchmark}") == ["a/one", "a/two", "b/two"]


def test_each_variant_has_one_table_with_all_seeds():
    assert TARGETS.variant_tables("two") == ["<results>/variants/two/p.parquet", "<results>/variants/two/x.parquet"]
    assert TARGETS.variant_tables() == ["<results>/variants/one/x.parquet", *TARGETS.variant_tables("two")]


def test_names_become_one_regular_expression():
    assert any_of(["qwen2.5", "b"]) == r"qwen2\.5|b"
    assert not re.fullmatch(any_of([]), "")  # an empty constraint would be none
