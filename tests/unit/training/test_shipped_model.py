"""The model that the repository ships: sound, small, offline, and better than chance on pictures it never saw."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from known_unknowns.engines._checkpoint import weights_sha256
from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.training.evaluation import tally
from known_unknowns.variants import noise

FOLDER = Path(__file__).parents[3] / "models" / "pocket"
SEED, IMAGES = 77, 40  # 200 questions; the edition's own pictures have another seed
MOST_BYTES = 8_000_000
FLOOR, ATTRIBUTE_FLOOR, NOISE_FLOOR = 0.26, 0.3, 0.9
"""Chance, and always answering E, are 0.2 on these questions (0.2 and 1 on noise)."""


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


def test_it_sees(engine):
    found = tally(engine, seed=SEED, images=IMAGES)
    right, asked = (sum(pair[k] for pair in found.values()) for k in (0, 1))
    assert asked == 5 * IMAGES
    assert right / asked >= FLOOR
    attributes, of = found["Attribute"]
    assert attributes / of >= ATTRIBUTE_FLOOR


def test_it_refuses_noise(engine):
    found = tally(engine, seed=SEED, images=4, vary=partial(noise, noise_seed=3720))
    right, asked = (sum(pair[k] for pair in found.values()) for k in (0, 1))
    assert right / asked >= NOISE_FLOOR
