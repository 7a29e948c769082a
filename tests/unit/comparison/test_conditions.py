"""Whether the conditions of a run are the published ones."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

from known_unknowns import config
from known_unknowns.benchmark import registry
from known_unknowns.comparison import load
from known_unknowns.comparison.conditions import conditions_of
from known_unknowns.config import Params
from known_unknowns.data import lock_file
from known_unknowns.data.lock_file import data_revision
from tests.factories import data_entry
from tests.paths import ROOT

COMMIT = "0ff007b870b7156be7c95aa17ee1fc1b6bd7d8c6"


def params(**changes: object) -> Params:
    raw = deepcopy(dict(config.load(ROOT / "params.yaml", edition="full").raw))
    raw["protocols"] |= changes
    return Params(raw)


@pytest.mark.parametrize("name", [name for name in registry.names() if registry.get(name).published])
def test_the_configuration_asks_by_the_published_protocols(name: str):
    assert conditions_of(params(), name, {}).other_protocols == {}
    variants = {cell.variant for cell in load(name)}
    assert variants & set(registry.get(name).published_protocols)


def test_a_changed_argument_of_a_protocol_is_named():
    found = conditions_of(params(zooming={"split": 6, "max_new_tokens": 200}), "actiview", {})
    reason = "zooming is asked with the protocol's split 6 instead of 4"
    assert found.other_protocols == dict.fromkeys(("zooming", "average", "average_of_two"), reason)


def test_rendered_data_are_not_the_published_questions():
    pocket = config.load(ROOT / "params.yaml", edition="pocket")
    assert "rendered questions" in conditions_of(pocket, "mmsap", {}).other_questions
    assert conditions_of(params(), "mmsap", {}).other_questions == ""


def test_the_revision_is_that_of_the_lock_or_of_the_entry(tmp_path: Path):
    lock = tmp_path / "params.lock.yaml"
    assert data_revision("b", data_entry("hub"), lock) == ""  # a branch that is not locked
    assert data_revision("b", data_entry("hub", revision=COMMIT), lock) == COMMIT
    lock_file.write({"hub:datasets/a/b@main": lock_file.LockEntry(COMMIT, {})}, lock)
    assert data_revision("b", data_entry("hub"), lock) == COMMIT
    assert data_revision("b", data_entry("scenes"), lock) == ""
