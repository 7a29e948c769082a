"""Memory requirements of models, and the machines that they fit."""

from __future__ import annotations

import pytest

from known_unknowns.engines import memory_needs
from known_unknowns.engines.memory_needs import ELSEWHERE, IN_RAM, ON_GPU, TOO_LARGE, Machine

SEVEN = {"engine": "transformers", "dtype": "bfloat16", "card": {"parameters": 7.0}}


def test_memory_is_the_weights_with_a_margin():
    gib = 7e9 / 2**30  # 6.519
    assert memory_needs.memory_gib(SEVEN) == pytest.approx(1.2 * 2 * gib + 2, abs=0.06)
    assert memory_needs.memory_gib(SEVEN | {"dtype": "float32"}) == pytest.approx(1.2 * 4 * gib + 2, abs=0.06)
    assert memory_needs.memory_gib({"engine": "openai"}) is None


def test_where_a_model_fits():
    need = memory_needs.memory_gib(SEVEN)
    small, large = ("small", need - 0.1), ("large", need)
    assert Machine(64, (small, large)).fits(SEVEN) == ON_GPU
    assert Machine(64, (small, small)).fits(SEVEN) == IN_RAM  # a model is never split over GPUs
    assert Machine(need - 0.1, (small,)).fits(SEVEN) == TOO_LARGE
    assert Machine(64).fits(SEVEN | {"engine": "openai"}) == TOO_LARGE  # a local server needs a GPU
    assert Machine(64).fits({"engine": "openai"}) == ELSEWHERE
    assert Machine(64).fits({"engine": "transformers"}) is None


def test_memory_of_the_machine_is_the_limit_of_its_container(tmp_path):
    limit = tmp_path / "memory.max"
    whole = memory_needs.this_machine(limit).ram_gib
    assert whole > 0
    limit.write_text("max\n")
    assert memory_needs.this_machine(limit).ram_gib == whole
    limit.write_text(f"{2**29}\n")
    assert memory_needs.this_machine(limit).ram_gib == 0.5
