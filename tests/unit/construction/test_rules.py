"""Parameters of the rules of the construction."""

from __future__ import annotations

import os

import pytest

from known_unknowns.config import Params
from known_unknowns.workflow import configuration
from known_unknowns_construction import rules as construction_rules
from known_unknowns_construction.scripted_endpoint import if_scripted
from tests.factories import params_from, with_keys
from tests.paths import ROOT


@pytest.fixture(scope="module")
def params() -> Params:
    raw = configuration.load(ROOT / "params.yaml").file.plain()
    raw["construction"]["photos"] = {
        "benchmark": "humblebench",
        "psg": {"path": "data/full/raw/psg", "images": 10},
        "generators": {"figure_a1": {"model": "uniform"}},
    }
    return params_from(raw)


def test_inputs_follow_from_the_entry(params):
    assert params.constructions == ["pocket", "photos"]
    assert construction_rules.annotation(params, "pocket") == []
    assert construction_rules.annotation(params, "photos") == ["data/full/raw/psg/psg.json"]
    assert construction_rules.graphs(params, "pocket") == "construction/pocket/described.jsonl"
    assert construction_rules.graphs(params, "photos") == "construction/photos/graphs.jsonl"


def test_a_step_depends_on_its_own_keys_and_the_models_that_they_name(params):
    generation = construction_rules.settings(params, "pocket", "generators", "seed")
    assert generation.keys() == {"benchmark", "generators", "scripted_endpoint"}
    asked = construction_rules.asked_models
    assert asked(params, "pocket", "generators").keys() == {"scripted-constructor"}
    assert asked(params, "pocket", "filters").keys() == {"always_a", "scripted-constructor", "uniform"}
    assert asked(params, "photos", "attributes") == {}


def test_a_key_of_a_model_that_changes_no_reply_runs_no_step_again(params):
    def asked(**keys):
        changed = with_keys(params, **{f"models__scripted-constructor__{key}": value for key, value in keys.items()})
        return construction_rules.asked_models(changed, "pocket", "generators")

    assert asked(concurrency=7) == asked(concurrency=8)
    assert asked(source="one") != asked(source="other")


def test_only_entries_that_ask_for_it_use_the_scripted_endpoint(params, monkeypatch):
    monkeypatch.setattr("os.environ", {})
    with if_scripted(params.construction("photos")):
        assert os.environ == {}
    with if_scripted(params.construction("pocket")):
        assert os.environ["OPENAI_BASE_URL"].startswith("http://127.0.0.1:")


def test_the_closing_message_has_the_numbers_of_questions(tmp_path):
    counts = tmp_path / "construction/pocket/filters.json"
    counts.parent.mkdir(parents=True)
    counts.write_text('{"candidates": 115, "kept": 102, "dropped": 13, "flagged": 8}')
    message = construction_rules.closing_message(["pocket"], tmp_path)
    assert "Questions  102 of 115 candidates; the filters dropped 13 and flagged 8" in message
    assert "Candidate" not in message and "Release" not in message  # a run to the filtered questions makes none
    (counts.parent / "release_candidate").mkdir()
    message = construction_rules.closing_message(["pocket"], tmp_path)
    assert "Candidate  construction/pocket/release_candidate/README.md" in message and "Release " in message
    assert "known-unknowns review start construction/pocket/filtered.jsonl" in message
