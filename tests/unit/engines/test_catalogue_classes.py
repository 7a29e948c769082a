"""Every class of the catalogue loads in this environment, from a folder that transformers' own classes wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from bench.architectures.build import build
from known_unknowns.config import TransformersModel, catalogue
from known_unknowns.engines.transformers import TransformersEngine
from tests.unit.engines import tiny
from tests.unit.engines.test_processors import replies, save
from tests.unit.engines.tiny import entry
from tests.unit.engines.tiny.idefics2 import idefics2
from tests.unit.engines.tiny.instructblip import instructblip


def gemma4() -> tuple[Any, Any]:
    model, processor = build("gemma4")
    return model, processor()


CLASSES: dict[str, Callable[[], tuple[Any, Any]]] = {
    "gemma3": tiny.CHECKPOINTS["gemma3"].make,
    "gemma4": gemma4,
    "glm4v": tiny.CHECKPOINTS["glm-4v"].make,
    "idefics2": idefics2,
    "idefics3": tiny.CHECKPOINTS["idefics3"].make,
    "instructblip": instructblip,
    "internvl": tiny.CHECKPOINTS["internvl"].make,
    "llava": tiny.CHECKPOINTS["llava"].make,
    "llava_next": tiny.CHECKPOINTS["llava-next"].make,
    "llava_onevision": tiny.CHECKPOINTS["llava-onevision"].make,
    "mllama": tiny.CHECKPOINTS["mllama"].make,
    "qwen2_5_vl": tiny.CHECKPOINTS["qwen2.5-vl"].make,
    "qwen2_vl": tiny.CHECKPOINTS["qwen2-vl"].make,
    "qwen3_5": tiny.CHECKPOINTS["qwen3.5"].make,
    "qwen3_vl": tiny.CHECKPOINTS["qwen3-vl"].make,
    "smolvlm": tiny.CHECKPOINTS["smolvlm"].make,
}


def test_there_is_a_folder_for_every_class():
    """Those that say what they need (packages, or code from their repositories) may have none."""
    entries = [model for model in catalogue.models().values() if isinstance(model, TransformersModel)]
    cards = [model.card for model in entries if model.card and model.card.model_type]
    alone = {card.model_type for card in cards if not card.needs and not card.remote_code}
    assert alone <= CLASSES.keys() <= {card.model_type for card in cards}


@pytest.mark.parametrize("model_type", CLASSES)
def test_the_class_loads_and_answers(model_type, tmp_path: Path):
    model, processor = CLASSES[model_type]()
    assert model.config.model_type == model_type
    model.save_pretrained(tmp_path)
    if "video_processor" in vars(processor):
        save(processor, tmp_path)
    else:
        processor.save_pretrained(tmp_path)
    template = {} if processor.chat_template else {"prompt_template": "{prompt}"}
    engine = TransformersEngine(model_type, entry(tmp_path, **template))
    assert len(replies(engine)) == 1 and replies(engine)[0]
