"""Tiny random checkpoints of every architecture that the engine's shared prefixes are held to.

Each has 65 to 140 thousand parameters, a real image processor (PIL; a made-up one for Phi-4), the shared tokenizer with
its architecture's own tokens, and a chat template. `build` writes one to a folder; `engine` opens it, whatever its
processor needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from known_unknowns.config import TransformersModel
from known_unknowns.engines import _processors
from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.records import Reply, Turn
from tests.unit.engines.tiny import llava, others, phi, qwen, tiles

_SEED = 0


@dataclass(frozen=True)
class Tiny:
    """``parts`` gives the model and its processor. ``least`` to ``most`` images stand in one prompt.

    ``from_folder``: the processor loads without torchvision. ``control_tokens``: the processor can keep one in a
    question as text. ``shares``: a prefix can be shared at all.
    """

    parts: Callable[[], tuple[Any, Any]]
    least: int = 0
    most: int = 3
    from_folder: bool = True
    control_tokens: bool = True
    shares: bool = True

    def make(self) -> tuple[Any, Any]:
        """The model and its processor, always the same: some weights (class embeddings, SigLIP's biases) are drawn by
        the model's constructor, from torch's own generator, and stay as they are."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_SEED)
            return self.parts()


CHECKPOINTS: Mapping[str, Tiny] = {
    "qwen2-vl": Tiny(qwen.qwen2_vl, from_folder=False),
    "qwen2.5-vl": Tiny(qwen.qwen2_5_vl, from_folder=False),
    "qwen2.5-vl-sliding": Tiny(qwen.qwen2_5_vl_sliding, from_folder=False),
    "qwen3-vl": Tiny(qwen.qwen3_vl, from_folder=False),
    "qwen3.5": Tiny(qwen.qwen3_5, from_folder=False),
    "glm-4v": Tiny(qwen.glm4v, from_folder=False),
    "llava": Tiny(llava.llava),
    "llava-sliding": Tiny(llava.llava_sliding),
    "llava-next": Tiny(llava.llava_next),
    "llava-onevision": Tiny(llava.llava_onevision, from_folder=False),
    "idefics3": Tiny(tiles.idefics3, control_tokens=False),
    "smolvlm": Tiny(tiles.smolvlm, from_folder=False),
    "internvl": Tiny(tiles.internvl, from_folder=False),
    "mistral3": Tiny(tiles.mistral3, from_folder=False),
    "aya-vision": Tiny(tiles.aya_vision),
    "gemma3": Tiny(others.gemma3),
    "mllama": Tiny(others.mllama),
    "phi-4-multimodal": Tiny(phi.phi4_multimodal, from_folder=False),
    "paligemma": Tiny(others.paligemma, least=1, control_tokens=False, shares=False),
    "blip-2": Tiny(others.blip2, least=1, most=1, from_folder=False, shares=False),
}


def build(name: str, folder: Path) -> None:
    """Write the checkpoint's weights, and its processor where it can be loaded again, to ``folder``."""
    model, processor = CHECKPOINTS[name].make()
    model.save_pretrained(folder)
    if CHECKPOINTS[name].from_folder:
        processor.save_pretrained(folder)


def entry(folder: Path, **changes: Any) -> TransformersModel:
    """The entry of a checkpoint in ``folder``, on the CPU, in float32. The clock does not decide how it is asked."""
    base = {
        "engine": "transformers",
        "source": str(folder),
        "revision": "unpinned",
        "dtype": "float32",
        "sharing": "on",
    }
    return TransformersModel(**base | {"device": "cpu"} | changes)


def engine(name: str, folder: Path, **changes: Any) -> TransformersEngine:
    """The engine of the checkpoint in ``folder``; ``changes`` are to its entry."""
    if CHECKPOINTS[name].from_folder:
        return TransformersEngine(name, entry(folder, **changes))
    processor = CHECKPOINTS[name].make()[1]
    with mock.patch.object(_processors.AutoProcessor, "from_pretrained", lambda *_, **__: processor):
        return TransformersEngine(name, entry(folder, **changes))


def answers(engine: Any, turns: Sequence[Turn], folder: Path = Path()) -> list[Reply]:
    """The replies in the order of the turns, each turn answered once, without the seconds."""
    pairs = sorted((pair for batch in engine.answer(turns, folder=folder) for pair in batch), key=lambda pair: pair[0])
    assert [index for index, _ in pairs] == list(range(len(turns)))
    return [replace(reply, seconds=0.0) for _, reply in pairs]
