"""An image that a checkpoint's processor cannot prepare fails its own questions, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from known_unknowns.errors import ConfigError
from known_unknowns.images import recipe_image
from known_unknowns.records import Turn
from tests.unit.engines import tiny
from tests.unit.engines.tiny import answers

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
THIN = recipe_image("normal-noise", 300, 1)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints")
    tiny.build("qwen2.5-vl", folder / "qwen2.5-vl")
    return lambda name, **entry: tiny.engine(name, folder / name, **entry)


def turn(name: str, image=None) -> Turn:
    shown = image or recipe_image("normal-noise", 32, 24, len(name) % 3)
    return Turn(name, "answer", (shown, f"What is it ({name})?"), ("A", "B"), max_new_tokens=4)


@pytest.mark.parametrize("sharing", ["on", "off"])
@pytest.mark.parametrize("place", [0, 3])
def test_only_the_questions_about_the_image_are_rejected(sharing, place, checkpoints):
    turns = [turn(f"q{number}") for number in range(4)]
    turns[place:place] = [turn("thin1", THIN), turn("thin2", THIN)]
    replies = answers(checkpoints("qwen2.5-vl", batch_size=2, sharing=sharing), turns)
    for index, asked in enumerate(turns):
        if asked.question_id.startswith("thin"):
            assert replies[index].finish == "rejected" and "aspect ratio" in replies[index].error
            assert asked.question_id in replies[index].error and THIN.source in replies[index].error
        else:
            assert replies[index].error is None


def test_a_processor_that_prepares_no_image_is_the_fault_of_the_checkpoint(checkpoints, monkeypatch):
    engine = checkpoints("qwen2.5-vl")
    monkeypatch.setattr(engine._prompts, "build_batch", lambda *_: 1 / 0)
    monkeypatch.setattr(engine._prompts, "build", lambda *_: 1 / 0)
    with pytest.raises(ConfigError, match=r"gives no reply to a question with an image \(ZeroDivisionError"):
        list(engine.answer([turn("q1")], folder=Path()))


def test_a_run_that_begins_with_many_such_questions_goes_on(checkpoints):
    """The rejected replies come together with the first answer, so that the run does not stop for them."""
    turns = [*(turn(f"thin{number}", THIN) for number in range(12)), turn("q1")]
    first = next(iter(checkpoints("qwen2.5-vl").answer(turns, folder=Path())))
    assert [reply.error is None for _, reply in first] == [False] * 12 + [True]
