"""The model that the repository ships: sound, small, offline, and better than chance on pictures it never saw."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from known_unknowns.engines._checkpoint import weights_sha256
from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.training.evaluation import Tally, mmsap_tally, tally
from known_unknowns.variants import noise, nota_only, text_only

FOLDER = Path(__file__).parents[3] / "models" / "pocket"
SEED, IMAGES = 77, 40  # 200 questions; the edition's own pictures have another seed
MOST_BYTES = 8_000_000
FLOORS = {"Attribute": 0.6, "Object": 0.5, "Relation": 0.6}
OVERALL_FLOOR, REMOVED_FLOOR, NOISE_FLOOR = 0.62, 0.65, 0.95
"""Chance, and always answering E, are 0.2 on these questions, but for those with the right option removed and noise."""
MMSAP_FLOORS = {"KnowVisQA/taught": 0.6, "KnowVisQA/not taught": 0.5, "BeyondVisQA/held-out wordings": 0.8}


@pytest.fixture(scope="module")
def engine() -> TransformersEngine:
    entry = {"engine": "transformers", "source": str(FOLDER), "revision": "unpinned", "dtype": "float32"}
    return TransformersEngine("pocket", entry | {"device": "cpu", "batch_size": 32})


def test_the_folder_is_small_and_holds_nothing_that_runs():
    files = [file for file in FOLDER.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= MOST_BYTES
    assert {file.suffix for file in files} <= {".safetensors", ".json", ".jinja", ".md"}


def test_the_card_names_the_weights():
    assert weights_sha256(FOLDER) in (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("scorer", ["official", "robust"])
def test_it_sees(engine, scorer):
    found = tally(engine, seed=SEED, images=IMAGES, scorer=scorer)
    assert sum(asked for _, asked in found.values()) == 5 * IMAGES
    assert share(found) >= OVERALL_FLOOR
    for category, (right, asked) in found.items():
        assert right / asked >= FLOORS[category], category


def test_it_misses_the_right_option_where_that_was_removed(engine):
    assert share(tally(engine, seed=SEED, images=20, vary=nota_only)) >= REMOVED_FLOOR


def test_it_refuses_noise(engine):
    assert share(tally(engine, seed=SEED, images=4, vary=partial(noise, noise_seed=3720))) >= NOISE_FLOOR


def test_it_does_not_answer_from_the_text_alone(engine):
    """The best constant guess is right in a fifth of the questions: every letter is right equally often."""
    assert abs(share(tally(engine, seed=SEED, images=20, vary=text_only)) - 0.2) <= 0.05


def test_it_names_what_it_was_taught_and_refuses_what_nobody_can_know(engine):
    found = mmsap_tally(engine, seed=SEED, images=90, scorer="official")
    for sort, floor in MMSAP_FLOORS.items():
        right, asked = found[sort]
        assert asked >= 10
        assert right / asked >= floor, sort


def share(found: Tally) -> float:
    right, asked = (sum(pair[k] for pair in found.values()) for k in (0, 1))
    return right / asked
