from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from known_unknowns.config import load
from known_unknowns.data.provenance import dvc_hash
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.yaml_reader import parse_yaml

HOSTILE = ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "outs: " + "[" * 100_000 + "]" * 100_000]


@pytest.mark.parametrize("text", HOSTILE, ids=["sequences", "mappings", "block", "closed"])
def test_deep_nesting_is_an_error_of_yaml(text):
    with pytest.raises(yaml.YAMLError, match="more than 50 levels"):
        parse_yaml(text)


def test_fifty_levels_are_read():
    value = parse_yaml("[" * 50 + "]" * 50)
    for _ in range(49):
        (value,) = value
    assert value == []


def test_a_key_given_twice_is_an_error():
    with pytest.raises(yaml.YAMLError, match="'a' is given twice"):
        parse_yaml("a: 1\na: 2")
    assert parse_yaml("x: &x {a: 1, b: 2}\ny: {<<: *x, a: 3}") == {"x": {"a": 1, "b": 2}, "y": {"a": 3, "b": 2}}


def test_a_hostile_pin_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / "raw.dvc").write_text(HOSTILE[0])
    with pytest.raises(DataError, match=r"raw\.dvc: not a DVC pin"):
        dvc_hash(tmp_path / "raw")


VALUES = {
    "a day that is none": "2025-02-30",
    "a month that is none": "2025-13-01",
    "an hour that is none": "2025-01-01T99:00:00Z",
    "an integer without end": "9" * 4301,
    "a text as an integer": "!!int x",
    "a text as a float": "!!float x",
    "a text as a boolean": "!!bool x",
    "a text as a date": "!!timestamp x",
    "a list in itself": "&a [1, *a]",
    "a mapping in itself": "&a {b: {c: *a}}",
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_that_is_none_is_an_error_with_its_place(name, tmp_path):
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        parse_yaml(f"revision: 1\nkey: {VALUES[name]}")
    assert caught.value.problem_mark.line == 1
    (tmp_path / "params.yaml").write_text(f"edition: full\nkey: {VALUES[name]}")
    with pytest.raises(ConfigError, match=r"params\.yaml is not valid YAML: .* \(line 2, column \d+\)"):
        load(tmp_path / "params.yaml")


def test_an_anchor_can_be_used_beside_its_collection():
    assert parse_yaml("a: &a [1]\nb: [*a, *a]\nc: &c x\nd: *c") == {"a": [1], "b": [[1], [1]], "c": "x", "d": "x"}


def test_aliases_that_multiply_are_an_error_with_its_place():
    levels = [f"a{level}: &a{level} [{', '.join(['*a' + str(level - 1)] * 10)}]" for level in range(1, 8)]
    with pytest.raises(yaml.MarkedYAMLError, match="more than 1,000,000 values") as caught:
        parse_yaml("\n".join(["a0: &a0 [x]", *levels]))
    assert caught.value.problem_mark.line == 6
