"""Processors that need torchvision for their videos, where there is none."""

from __future__ import annotations

import inspect
import json
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from known_unknowns.engines import _processors  # noqa: E402
from known_unknowns.engines.transformers import TransformersEngine  # noqa: E402
from known_unknowns.images import drawn  # noqa: E402
from known_unknowns.records import Turn  # noqa: E402
from tests.unit.engines import tiny  # noqa: E402


def save(processor, folder: Path) -> None:
    """The parts of a processor as a repository holds them; the whole cannot be saved without the part for videos."""
    for part in (processor.tokenizer, processor.image_processor):
        part.save_pretrained(folder)
    (folder / "chat_template.jinja").write_text(processor.chat_template)
    names = inspect.signature(type(processor).__init__).parameters
    settings = {name: vars(processor).get(name) for name in names if isinstance(vars(processor).get(name), (int, str))}
    (folder / "processor_config.json").write_text(json.dumps(settings))


@pytest.mark.skipif(find_spec("torchvision") is not None, reason="with torchvision, nothing is missing")
@pytest.mark.parametrize("name", ["qwen2-vl", "qwen2.5-vl", "qwen3-vl", "glm-4v", "internvl", "llava-onevision"])
def test_a_model_is_loaded_without_the_part_for_videos(name, tmp_path):
    """As it lies on the hub, without a word of ours. Its prompts are those of the processor that is made by hand."""
    tiny.build(name, tmp_path)
    made = tiny.CHECKPOINTS[name].make()[1]
    save(made, tmp_path)
    entry = {"source": str(tmp_path), "revision": "unpinned", "dtype": "float32", "device": "cpu"}
    loaded, by_hand = TransformersEngine(name, entry), tiny.engine(name, tmp_path)
    asked = Turn("q", "answer", (drawn("normal-noise", 32, 48, 1), "What colour?\nA. Red"), ("A",), max_new_tokens=4)
    replies = [
        [reply.text for batch in engine.answer([asked], folder=tmp_path) for _, reply in batch]
        for engine in (loaded, by_hand)
    ]
    assert replies[0] == replies[1]
    assert type(loaded.checkpoint.processor).__name__ == type(made).__name__


def test_what_is_missing_otherwise_is_said():
    """Another package, or torchvision for the pictures themselves."""
    for message in ("needs num2words", "needs torchvision"):
        with (
            mock.patch.object(_processors.AutoProcessor, "from_pretrained", side_effect=ImportError(message)),
            mock.patch.object(_processors, "_kind", return_value=None),
            pytest.raises(ImportError, match=message),
        ):
            _processors.load("somewhere", "pil", {})
