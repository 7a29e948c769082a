"""Memory requirements of models, and the machines that they fit."""

from __future__ import annotations

import json
import math
import struct

import pytest

from known_unknowns import engines
from known_unknowns.config import TransformersModel
from known_unknowns.engines import memory_needs
from known_unknowns.engines.memory_needs import ELSEWHERE, IN_RAM, ON_GPU, TOO_LARGE, Machine
from known_unknowns.errors import MachineError
from tests.factories import model_entry
from tests.paths import ROOT

LOCAL = {"source": "a/b", "revision": "main", "dtype": "bfloat16"}
CARD = {"family": "New", "licence": "MIT", "parameters": 7.0}
SEVEN = model_entry("transformers", **LOCAL, card=CARD)


def test_memory_is_the_weights_with_a_margin():
    gib = 7e9 / 2**30  # 6.519
    assert memory_needs.memory_gib(SEVEN) == pytest.approx(1.2 * 2 * gib + 2, abs=0.06)
    assert memory_needs.memory_gib(
        model_entry("transformers", **LOCAL | {"dtype": "float32"}, card=CARD)
    ) == pytest.approx(1.2 * 4 * gib + 2, abs=0.06)
    assert memory_needs.memory_gib(model_entry("openai", source="x")) is None


def test_where_a_model_fits():
    need = memory_needs.memory_gib(SEVEN)
    small, large = ("small", need - 0.1), ("large", need)
    assert Machine(64, (small, large)).fits(SEVEN) == ON_GPU
    assert Machine(64, (small, small)).fits(SEVEN) == IN_RAM  # a model is never split over GPUs
    assert Machine(need - 0.1, (small,)).fits(SEVEN) == TOO_LARGE
    assert Machine(64).fits(model_entry("openai", source="x", card=CARD)) == TOO_LARGE  # a local server needs a GPU
    assert Machine(64).fits(model_entry("openai", source="x")) == ELSEWHERE
    assert Machine(64).fits(model_entry("transformers", **LOCAL)) is None


def test_memory_of_the_machine_is_the_limit_of_its_container(tmp_path):
    limit = tmp_path / "memory.max"
    whole = memory_needs.this_machine(limit).ram_gib
    assert whole > 0
    limit.write_text("max\n")
    assert memory_needs.this_machine(limit).ram_gib == whole
    limit.write_text(f"{2**29}\n")
    assert memory_needs.this_machine(limit).ram_gib == 0.5


def test_a_model_that_does_not_fit_says_so_before_it_is_loaded(monkeypatch):
    """The pocket model's own weights; the numbers are those of its safetensors header."""
    pytest.importorskip("transformers")
    with (ROOT / "models/pocket/model.safetensors").open("rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    count = sum(math.prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")
    weights = 4 * count / 2**30
    entry = TransformersModel(
        engine="transformers", source=str(ROOT / "models/pocket"), revision="unpinned", dtype="float32", device="cpu"
    )
    monkeypatch.setattr(memory_needs, "free_gib", lambda device: weights * 0.9)
    with pytest.raises(
        MachineError, match=r"models.p: it does not fit into memory: its .* billion parameters"
    ) as error:
        engines.create("p", entry)
    assert f"{count / 1e9:.2f} billion" in str(error.value) and "are free on cpu" in str(error.value)


def test_free_memory_is_that_of_the_machine_within_the_containers_limit(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9999999 kB\nMemAvailable:    1048576 kB\n")
    assert memory_needs.free_gib("cpu", tmp_path / "meminfo") == 1.0
    assert memory_needs.free_gib("cpu", tmp_path / "none") is None
