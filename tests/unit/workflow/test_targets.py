"""Lists of files that follow from the configuration."""

from __future__ import annotations

import re

from known_unknowns.config import Params
from known_unknowns.workflow.targets import Targets, any_of

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


def test_each_variant_has_one_table_with_all_seeds():
    assert TARGETS.variant_tables("two") == ["<results>/variants/two/p.parquet", "<results>/variants/two/x.parquet"]
    assert TARGETS.variant_tables() == ["<results>/variants/one/x.parquet", *TARGETS.variant_tables("two")]


def test_names_become_one_regular_expression():
    assert any_of(["qwen2.5", "b"]) == r"qwen2\.5|b"
    assert not re.fullmatch(any_of([]), "")  # an empty constraint would be none
