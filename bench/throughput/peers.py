"""Other tools' own code around the same model: HumbleBench's data loader, and lmms-eval's ``generate_until``.

Both come from the package registry; ``--peers`` names a folder that has them (README.md says how to make it).
HumbleBench's package has no models, so that what its loader feeds here is our own call of ``generate``. Each loop's
``note`` names its source and version.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from PIL import Image as Pillow
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

from bench.throughput.loops import Loaded, Said, generate
from known_unknowns.records import Turn

FACTOR = 28
"""Pixels a side of what becomes one visual token."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The least and the most pixels that an image is resized to."""

    least: int
    most: int

    @classmethod
    def of(cls, processor: Any) -> Limits:
        """The checkpoint's."""
        size = processor.image_processor.size
        return cls(size["shortest_edge"], size["longest_edge"])


LMMS_EVAL = Limits(256 * FACTOR**2, 1605632)
SYSTEM = "You are a helpful assistant."
"""lmms-eval's default."""


def resize(image: Pillow.Image, limits: Limits) -> Pillow.Image:
    """As qwen_vl_utils 0.0.14 prepares an image: RGB, whole multiples of 28 pixels, bicubic."""
    rgb = image.convert("RGB")
    height, width = smart_resize(rgb.height, rgb.width, FACTOR, limits.least, limits.most)
    return rgb.resize((width, height))


def prompts(processor: Any, turns: Sequence[Turn]) -> list[str]:
    """Each turn rendered by the chat template, with one place for its image."""
    return [
        processor.apply_chat_template(
            [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": turn.text}]}],
            tokenize=False,
            add_generation_prompt=True,
        )
        for turn in turns
    ]


class HumbleBench:
    """Batches of 16 from the package's loader, as in its README's quick start; each image is read and encoded anew."""

    batch_size = 16

    def __init__(self, loaded: Loaded, limits: Limits | None = None) -> None:
        self.loaded, self.limits = loaded, limits or Limits.of(loaded.processor)
        from HumbleBench.utils.entity import DataLoader

        self._loader = DataLoader
        self.name = "HumbleBench's loader, batch 16"
        self.note = (
            "DataLoader of the package humblebench 1.0.2, batch 16, around our own call: pads left, up to 128 tokens"
        )

    def __call__(self, turns: Sequence[Turn], folder: Path) -> Said:
        said = Said()
        samples = [{"question": turn, "image": {"path": str(folder / turn.images[0].source)}} for turn in turns]
        for batch in self._loader(dataset=samples, batch_size=self.batch_size):
            self._infer(batch, said)
        return said

    def _infer(self, batch: Sequence[dict[str, Any]], said: Said) -> None:
        processor = self.loaded.processor
        texts = prompts(processor, [sample["question"] for sample in batch])
        images = [resize(Pillow.open(sample["image"]["path"]), self.limits) for sample in batch]
        inputs = processor(text=texts, images=images, padding=True, padding_side="left", return_tensors="pt")
        generate(self.loaded, inputs, said, max_new_tokens=128)


class LmmsEval:
    """The package's own ``generate_until``, given our model instead of the one that it would load itself.

    Each image goes through a JPEG of quality 85 in base64.
    """

    def __init__(self, loaded: Loaded, limits: Limits | None = None) -> None:
        from lmms_eval.models.simple import qwen2_5_vl as module

        self.loaded, self.limits = loaded, limits or Limits.of(loaded.processor)
        self.name = "lmms-eval's loop" + (", its own pixels" if limits else "")
        self.note = "Qwen2_5_VL.generate_until of the package lmms_eval 0.7.3, batch 1"
        if not module._has_qwen_vl:
            module.process_vision_info = _process_vision_info
            self.note += "; its qwen_vl_utils, which cannot be imported here (torchvision), replaced by its form"
        self._processor = _Counting(loaded.processor)
        self._loop = object.__new__(module.Qwen2_5_VL)
        least, most = self.limits.least, self.limits.most
        state = {"_model": loaded.model, "processor": self._processor, "_tokenizer": loaded.processor.tokenizer}
        state |= {"_device": loaded.model.device, "device_map": "cpu", "batch_size_per_gpu": 1, "use_cache": True}
        state |= {"min_pixels": least, "max_pixels": most, "system_prompt": SYSTEM, "reasoning_prompt": None}
        state |= {"interleave_visuals": False, "max_num_frames": 32, "fps": None, "_rank": 0, "_world_size": 1}
        state |= {"cache_hook": SimpleNamespace(add_partial=lambda *_: None)}
        vars(self._loop).update(state)

    def __call__(self, turns: Sequence[Turn], folder: Path) -> Said:
        from lmms_eval.api.instance import Instance

        self._loop.task_dict = {"bench": {"test": turns}}
        self._processor.visual_tokens.clear()
        settings = {"max_new_tokens": turns[0].max_new_tokens, "temperature": 0.0, "do_sample": False}

        def image(turn: Turn) -> list[Pillow.Image]:
            return [Pillow.open(folder / turn.images[0].source).convert("RGB")]

        requests = [
            Instance(
                request_type="generate_until",
                arguments=(turn.text, dict(settings), image, number, "bench", "test"),
                idx=number,
                metadata={"task": "bench", "doc_id": number, "repeats": 1},
            )
            for number, turn in enumerate(turns)
        ]
        with torch.inference_mode():
            texts = self._loop.generate_until(requests)
        return Said(list(texts), list(self._processor.visual_tokens), [None] * len(turns))


class _Counting:
    """A processor that counts the visual tokens of what it makes."""

    def __init__(self, processor: Any) -> None:
        self._processor = processor
        self.visual_tokens: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._processor, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        inputs = self._processor(*args, **kwargs)
        self.visual_tokens += (inputs["input_ids"] == self._processor.image_token_id).sum(dim=1).tolist()
        return inputs


def _read_data_url(url: str, limits: Limits) -> Pillow.Image:
    return resize(Pillow.open(BytesIO(base64.b64decode(url.partition("base64,")[2]))), limits)


def _process_vision_info(conversations: Sequence[Sequence[dict[str, Any]]]) -> tuple[list[Pillow.Image], None]:
    """The form of qwen_vl_utils 0.0.14 for images in data URLs: (images, no videos)."""
    users = [message for conversation in conversations for message in conversation if message["role"] == "user"]
    parts = [part for message in users for part in message["content"] if part["type"] == "image"]
    return [_read_data_url(part["image"], Limits(part["min_pixels"], part["max_pixels"])) for part in parts], None


def find_packages(folder: Path | None) -> None:
    """Let the packages in ``folder`` be imported, after all that this environment has."""
    if folder is not None:
        sys.path.append(str(folder))
