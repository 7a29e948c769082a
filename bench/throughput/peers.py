"""The loops of HumbleBench, lmms-eval and VLMEvalKit around the same model.

Two come from the package registry where ``--peers`` names a folder that has them (README.md says how to make it):
HumbleBench's data loader, and lmms-eval's whole ``generate_until``. What a package does not hold, or cannot import, is
reproduced here in its form: how images are read and resized, how prompts are batched, and how ``generate`` is called.
The sources that were read are named in each loop's ``note``.
"""

from __future__ import annotations

import base64
import pickle
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from PIL import Image as Pillow
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

from bench.throughput.loops import Loaded, Said, batched, generate
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
VLMEVALKIT = Limits(1280 * FACTOR**2, 16384 * FACTOR**2)
"""For Qwen2.5-VL in its config.py."""


def resize(image: Pillow.Image, limits: Limits) -> Pillow.Image:
    """As qwen_vl_utils 0.0.14 prepares an image: RGB, whole multiples of 28 pixels, bicubic."""
    rgb = image.convert("RGB")
    height, width = smart_resize(rgb.height, rgb.width, FACTOR, limits.least, limits.most)
    return rgb.resize((width, height))


def prompts(processor: Any, turns: Sequence[Turn], *, system: str | None = None) -> list[str]:
    """Each turn rendered by the chat template, with one place for its image."""
    before = [{"role": "system", "content": system}] if system else []
    return [
        processor.apply_chat_template(
            [*before, {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": turn.text}]}],
            tokenize=False,
            add_generation_prompt=True,
        )
        for turn in turns
    ]


class HumbleBench:
    """Its README's quick start: batches of 16 from the package's loader, each image read and encoded anew."""

    batch_size = 16

    def __init__(self, loaded: Loaded, limits: Limits | None = None) -> None:
        self.loaded, self.limits = loaded, limits or Limits.of(loaded.processor)
        self._loader = _humblebench_loader()
        self.name = "HumbleBench's loop" if self._loader else "form of HumbleBench's loop"
        source = "models/Qwen25_VL.py of github.com/maifoundations/HumbleBench at 6d33ea3"
        loader = "the package's DataLoader" if self._loader else "its DataLoader's form"
        self.note = f"{loader}, batch 16, around the form of {source}: pads left, generates up to 128 tokens"

    def __call__(self, turns: Sequence[Turn], folder: Path) -> Said:
        said = Said()
        samples = [{"question": turn, "image": {"path": str(folder / turn.images[0].source)}} for turn in turns]
        size = self.batch_size
        for batch in self._loader(dataset=samples, batch_size=size) if self._loader else batched(samples, size):
            self._infer(batch, said)
        return said

    def _infer(self, batch: Sequence[dict[str, Any]], said: Said) -> None:
        processor = self.loaded.processor
        texts = prompts(processor, [sample["question"] for sample in batch])
        images = [resize(Pillow.open(sample["image"]["path"]), self.limits) for sample in batch]
        inputs = processor(text=texts, images=images, padding=True, padding_side="left", return_tensors="pt")
        generate(self.loaded, inputs, said, max_new_tokens=128)


def _humblebench_loader() -> Any:
    try:
        from HumbleBench.utils.entity import DataLoader
    except ImportError:
        return None
    return DataLoader


class VLMEvalKit:
    """A question at a time; greedy by way of sampling from the likeliest token alone."""

    def __init__(self, loaded: Loaded, limits: Limits | None = None) -> None:
        self.loaded, self.limits = loaded, limits or Limits.of(loaded.processor)
        self.name = "form of VLMEvalKit's loop" + (", its own pixels" if limits else "")
        self.note = (
            "form of infer_data in vlmeval/inference.py at 0044c57 and of Qwen2VLChat in vlmeval/vlm/qwen2_vl/model.py "
            "at 515e530, both of github.com/open-compass/VLMEvalKit: batch 1, temperature 0.01, top_k 1, no repetition "
            "penalty, up to 2048 tokens, results pickled every 10 questions; it is not in the package registry"
        )

    def __call__(self, turns: Sequence[Turn], folder: Path) -> Said:
        said = Said()
        with tempfile.TemporaryDirectory() as results:
            for number, turn in enumerate(turns, start=1):
                self._ask(turn, folder, said)
                if number % 10 == 0:
                    Path(results, "out.pkl").write_bytes(pickle.dumps(said.texts))
        return said

    def _ask(self, turn: Turn, folder: Path, said: Said) -> None:
        processor = self.loaded.processor
        image = resize(Pillow.open(folder / turn.images[0].source), self.limits)
        inputs = processor(text=prompts(processor, [turn]), images=[image], padding=True, return_tensors="pt")
        sampling = {"do_sample": True, "top_p": 0.001, "top_k": 1, "temperature": 0.01, "repetition_penalty": 1.0}
        generate(self.loaded, inputs, said, max_new_tokens=2048, **sampling)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


class _LmmsEval:
    """What both kinds of lmms-eval's loop have in common: each image goes through a JPEG of quality 85 in base64."""

    note = ""
    system = "You are a helpful assistant."

    def __init__(self, loaded: Loaded, limits: Limits | None = None) -> None:
        self.loaded, self.limits = loaded, limits or Limits.of(loaded.processor)
        self._own = ", its own pixels" if limits else ""


class LmmsEvalForm(_LmmsEval):
    def __init__(self, loaded: Loaded, limits: Limits | None = None) -> None:
        super().__init__(loaded, limits)
        self.name = f"form of lmms-eval's loop{self._own}"
        self.note = (
            "form of Qwen2_5_VL.generate_until in lmms_eval 0.7.3 (models/simple/qwen2_5_vl.py): batch 1, longest "
            "prompt first, images as JPEG of quality 85 in base64, stops at the end token"
        )

    def __call__(self, turns: Sequence[Turn], folder: Path) -> Said:
        said, processor = Said(), self.loaded.processor
        order = sorted(range(len(turns)), key=lambda index: -len(processor.tokenizer.encode(turns[index].text)))
        for index in order:
            turn = turns[index]
            text = prompts(processor, [turn], system=self.system)
            url = _data_url(Pillow.open(folder / turn.images[0].source).convert("RGB"))
            inputs = processor(text=text, images=[_read_data_url(url, self.limits)], padding=True, return_tensors="pt")
            generate(self.loaded, inputs, said, max_new_tokens=turn.max_new_tokens, do_sample=False)
        texts = dict(zip(order, said.texts, strict=True))
        said.texts = [texts[index] for index in range(len(turns))]
        return said


def _data_url(image: Pillow.Image) -> str:
    data = BytesIO()
    image.save(data, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(data.getvalue()).decode()


def _read_data_url(url: str, limits: Limits) -> Pillow.Image:
    return resize(Pillow.open(BytesIO(base64.b64decode(url.partition("base64,")[2]))), limits)


class LmmsEval(_LmmsEval):
    """The package's own ``generate_until``, given our model instead of the one that it would load itself."""

    def __init__(self, loaded: Loaded, module: Any, limits: Limits | None = None) -> None:
        super().__init__(loaded, limits)
        self.name = f"lmms-eval's loop{self._own}"
        self.note = "Qwen2_5_VL.generate_until of the package lmms_eval 0.7.3, batch 1"
        if not module._has_qwen_vl:
            module.process_vision_info = _process_vision_info
            self.note += "; its qwen_vl_utils, which cannot be imported here (torchvision), replaced by its form"
        self._processor = _Counting(loaded.processor)
        self._loop = object.__new__(module.Qwen2_5_VL)
        least, most = self.limits.least, self.limits.most
        state = {"_model": loaded.model, "processor": self._processor, "_tokenizer": loaded.processor.tokenizer}
        state |= {"_device": loaded.model.device, "device_map": "cpu", "batch_size_per_gpu": 1, "use_cache": True}
        state |= {"min_pixels": least, "max_pixels": most, "system_prompt": self.system, "reasoning_prompt": None}
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


def _process_vision_info(conversations: Sequence[Sequence[dict[str, Any]]]) -> tuple[list[Pillow.Image], None]:
    """The form of qwen_vl_utils 0.0.14 for images in data URLs: (images, no videos)."""
    users = [message for conversation in conversations for message in conversation if message["role"] == "user"]
    parts = [part for message in users for part in message["content"] if part["type"] == "image"]
    return [_read_data_url(part["image"], Limits(part["min_pixels"], part["max_pixels"])) for part in parts], None


def lmms_eval(loaded: Loaded, limits: Limits | None = None) -> LmmsEval | LmmsEvalForm:
    """The package's loop, where the package imports."""
    try:
        from lmms_eval.models.simple import qwen2_5_vl
    except ImportError:
        return LmmsEvalForm(loaded, limits)
    return LmmsEval(loaded, qwen2_5_vl, limits)


def find_packages(folder: Path | None) -> None:
    """Let the packages in ``folder`` be imported, after all that this environment has."""
    if folder is not None:
        sys.path.append(str(folder))
