from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from known_unknowns.data.provenance import dvc_hash
from known_unknowns.errors import DataError
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
