"""bench/throughput on a tiny model: all loops give the same replies."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bench.throughput import data, loops, model


@pytest.fixture(scope="module")
def settings(tmp_path_factory) -> loops.Settings:
    folder = model.ensure(tmp_path_factory.mktemp("bench"), "tiny", dtype="float32", device="cpu")
    return loops.Settings(folder, "cpu", "float32")


@pytest.fixture(scope="module")
def loaded(settings) -> loops.Loaded:
    return loops.Loaded(loops.load_model(settings), loops.load_processor(settings))


@pytest.fixture(scope="module")
def asked(tmp_path_factory) -> data.QuestionSet:
    return data.five_questions(tmp_path_factory.mktemp("images"), images=2, seed=7)


@pytest.fixture(scope="module")
def plain(loaded, asked) -> loops.Said:
    return loops.Plain(loaded, batch_size=1)(asked.turns, asked.folder)


@pytest.mark.parametrize(
    "make",
    [
        lambda loaded, settings: loops.Ours(settings, name="ours", sharing="on", note=""),
        lambda loaded, settings: loops.Plain(loaded, batch_size=4),
    ],
)
def test_all_loops_give_the_same_replies(make, loaded, settings, asked, plain):
    said = make(loaded, settings)(asked.turns, asked.folder)
    assert said.texts == plain.texts
    assert said.visual_tokens == plain.visual_tokens == [357] * 5 + [391] * 5
