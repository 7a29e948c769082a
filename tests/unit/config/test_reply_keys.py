"""What identifies a stored reply: the entry of its model, as the file has it. A change here asks every model again."""

from __future__ import annotations

import pytest

from known_unknowns import config, engines
from known_unknowns.config import catalogue, typed_model
from known_unknowns.records import Turn
from known_unknowns.yaml_reader import parse_yaml
from tests.paths import ROOT

OWN = parse_yaml((ROOT / "params.yaml").read_text(encoding="utf-8"))
ENTRIES = catalogue.entries() | OWN["models"]


def test_every_entry_keeps_the_keys_and_values_of_its_file():
    """Also as a part of the whole configuration."""
    editions = {name: edition | {"models": list(ENTRIES)} for name, edition in OWN["editions"].items()}
    named = {section: catalogue.entries(section) | OWN[section] for section in ("variants", "protocols")}
    data = catalogue.entries("benchmarks")
    benchmarks = {name: entry | data.get(name, {}) for name, entry in OWN["benchmarks"].items()}
    whole = config.parse(OWN | named | {"editions": editions}).file
    assert {name: entry.plain() for name, entry in whole.models.items()} == ENTRIES
    assert whole.plain() == OWN | named | {"editions": editions, "benchmarks": benchmarks, "models": ENTRIES}


@pytest.mark.parametrize("name", ENTRIES)
def test_keys_that_change_no_reply_are_left_out_and_those_of_a_benchmark_override(name):
    entry = typed_model(name, ENTRIES[name])
    deciding = {key: value for key, value in ENTRIES[name].items() if key not in entry.not_in_the_reply}
    assert entry.reply_keys() == deciding
    for benchmark, settings in ENTRIES[name].get("asked", {}).items():
        merged = config.merged({key: value for key, value in deciding.items() if key != "asked"}, settings)
        assert entry.asked_in(benchmark).reply_keys() == merged


HOSTED = {
    "engine": "openai",
    "source": "parrot",
    "base_url": "http://127.0.0.1:9/v1",
    "system": "Be brief.",
    "decoding": {"temperature": 0.5, "top_p": None, "max_new_tokens": 7, "stop": ["###"]},
    "image": {"format": "jpeg", "quality": 80},
    "extra": {"provider": {"order": ["a"]}},
    "reasoning": {"effort": "low", "tokens": 100},
    "asked": {"mmsap": {"order": "images_first", "decoding": {"seed": None}}},
    "concurrency": 3,
}


@pytest.mark.parametrize(
    ("benchmark", "key"),
    [
        ("humblebench", "b3717db0930c4b5825f791d6484eca6b7152facbe11754e92587014fc8cd80df"),
        ("mmsap", "4a00cb3173d02899670a83af75a48dae724530a751d3aebeb12f7877f1172751"),
    ],
)
def test_the_replies_in_existing_journals_are_found(benchmark, key):
    """The keys are those that an earlier version wrote."""
    pytest.importorskip("openai")
    entry = typed_model("parrot", HOSTED).asked_in(benchmark)
    turn = Turn("q1", "answer", ("Which? A. Red B. Blue",), ("A", "B"))
    assert turn.key(engines.create("parrot", entry).facts) == key
