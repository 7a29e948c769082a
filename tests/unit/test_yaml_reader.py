from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from known_unknowns.data.provenance import dvc_hash
from known_unknowns.errors import DataError
from known_unknowns.yaml_reader import parse_strict_yaml, parse_yaml

HOSTILE = ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "outs: " + "[" * 100_000 + "]" * 100_000]


@pytest.mark.parametrize("parse", [parse_yaml, parse_strict_yaml])
@pytest.mark.parametrize("text", HOSTILE, ids=["sequences", "mappings", "block", "closed"])
def test_deep_nesting_is_an_error_of_yaml(parse, text):
    """Without the limit, the C loader overflows the stack and the process dies."""
    with pytest.raises(yaml.YAMLError, match="more than 50 levels"):
        parse(text)


@pytest.mark.parametrize("parse", [parse_yaml, parse_strict_yaml])
def test_fifty_levels_are_read(parse):
    value = parse("[" * 50 + "]" * 50)
    for _ in range(49):
        (value,) = value
    assert value == []


def test_key_given_twice_is_an_error_only_where_a_person_wrote_it():
    assert parse_yaml("a: 1\na: 2") == {"a": 2}
    with pytest.raises(yaml.YAMLError, match="'a' is given twice"):
        parse_strict_yaml("a: 1\na: 2")


def test_a_hostile_pin_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / "raw.dvc").write_text(HOSTILE[0])
    with pytest.raises(DataError, match=r"raw\.dvc: not a DVC pin"):
        dvc_hash(tmp_path / "raw")
