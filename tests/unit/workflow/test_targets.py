"""Lists of files that follow from the configuration."""

from __future__ import annotations

from functools import partial

from known_unknowns.config import Params
from known_unknowns.workflow.targets import Targets, any_of, plot_file

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
TARGETS = Targets(Params(RAW))


def test_models_with_imported_replies_have_their_cells_only():
    assert TARGETS.asked_models == ["a"]
    assert TARGETS.pairs == [("a", "one"), ("a", "two"), ("b", "two")]
    assert TARGETS.per_pair("{model}/{benchmark}") == ["a/one", "a/two", "b/two"]


def test_files_of_question_sets_and_cells():
    pattern = "<data>/{benchmark}/{variant}/{seed}/{model}"
    assert TARGETS.per_question_set(pattern, "one") == ["<data>/one/x/5/{model}"]
    assert TARGETS.per_question_set("{variant}{seed}", "two") == ["p0", "p3", "x0", "x3"]
    assert TARGETS.per_cell("{model}-{benchmark}-{variant}{seed}") == [
        *("a-one-x5", "a-two-p0", "a-two-p3", "a-two-x0", "a-two-x3"),
        "b-two-p3",
    ]


def test_a_path_without_the_model_is_listed_once():
    assert TARGETS.per_cell("{benchmark}-{variant}{seed}") == ["one-x5", "two-p0", "two-p3", "two-x0", "two-x3"]


def test_names_become_one_regular_expression():
    assert any_of(["qwen2.5", "b"]) == r"qwen2\.5|b"


def test_the_plot_is_named_after_the_benchmark_that_defines_it():
    """dvc.yaml names the file."""
    assert plot_file("plots/{benchmark}.csv") == "plots/humblebench.csv"


def test_only_deleted_tables_are_targets(tmp_path, monkeypatch):
    """Not those of a model whose tables were never made, and not those that exist."""
    monkeypatch.chdir(tmp_path)
    found = partial(TARGETS.deleted, "{model}-{benchmark}-{variant}{seed}", made="{model}-{benchmark}")
    assert found() == []
    (tmp_path / "a-two").touch()
    every = ["a-two-x0", "a-two-x3", "a-two-p0", "a-two-p3"]
    assert sorted(found()) == sorted(every)
    (tmp_path / "a-two-x3").touch()
    assert sorted(found()) == sorted(set(every) - {"a-two-x3"})
