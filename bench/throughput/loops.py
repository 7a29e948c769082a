"""What is compared: this project's engine, and loops that a user would run instead. All answer the same turns.

A loop is made once and called with a question set; what it returns has one entry for each turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from transformers import AutoModelForImageTextToText, AutoProcessor

from known_unknowns.config import TransformersModel
from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.images import open_image
from known_unknowns.records import Turn


@dataclass(slots=True)
class Said:
    """Each turn's reply, its visual tokens, and the gap between its two likeliest letters' log-probabilities."""

    texts: list[str] = field(default_factory=list)
    visual_tokens: list[int | None] = field(default_factory=list)
    gaps: list[float | None] = field(default_factory=list)


class Loop(Protocol):
    name: str
    note: str
    """Where the loop comes from, and what it does that matters here."""

    def __call__(self, turns: Sequence[Turn], folder: Path) -> Said: ...


@dataclass(slots=True)
class Settings:
    """What all loops share. ``entry`` goes into the engine's entry (``batch_size``, ...)."""

    checkpoint: Path
    device: str
    dtype: str
    entry: dict[str, Any] = field(default_factory=dict)


class Ours:
    """The engine, through its public face."""

    def __init__(self, settings: Settings, *, name: str, sharing: str, note: str) -> None:
        self.name, self.note = name, note
        self.engine = TransformersEngine(
            "bench",
            TransformersModel(
                **{
                    "engine": "transformers",
                    "source": str(settings.checkpoint),
                    "revision": "unpinned",
                    "dtype": settings.dtype,
                    "device": settings.device,
                    "sharing": sharing,
                    **settings.entry,
                }
            ),
        )

    def __call__(self, turns: Sequence[Turn], folder: Path) -> Said:
        replies = {index: reply for batch in self.engine.answer(turns, folder=folder) for index, reply in batch}
        said = Said()
        for index in range(len(turns)):
            reply = replies[index]
            if reply.error:
                raise RuntimeError(f"{self.name}: {turns[index].question_id}: {reply.error}")
            said.texts.append(reply.text)
            said.visual_tokens.append(reply.visual_tokens)
            said.gaps.append(_gap(reply.logprobs))
        return said


def _gap(logprobs: Any) -> float | None:
    if not logprobs:
        return None
    first, second, *_ = sorted(logprobs.values(), reverse=True)
    return round(first - second, 6)


@dataclass(slots=True)
class Loaded:
    """A model with a processor, as transformers loads them."""

    model: Any
    processor: Any

    def image_token(self) -> int:
        return self.model.config.image_token_id


def load_model(settings: Settings) -> Any:
    dtype = getattr(torch, settings.dtype)
    model = AutoModelForImageTextToText.from_pretrained(settings.checkpoint, dtype=dtype, local_files_only=True)
    return model.to(settings.device).eval()


def load_processor(settings: Settings) -> Any:
    """A processor of its own for each loop: some change it."""
    return AutoProcessor.from_pretrained(settings.checkpoint, backend="pil", local_files_only=True)


class Plain:
    """transformers as its documentation shows it: chat template, then ``generate`` until the end token."""

    def __init__(self, loaded: Loaded, *, batch_size: int) -> None:
        self.loaded, self.batch_size = loaded, batch_size
        self.name = f"plain loop, batch {batch_size}"
        self.note = "transformers' chat template and generate, which stops at the end token"

    def __call__(self, turns: Sequence[Turn], folder: Path) -> Said:
        said = Said()
        for batch in batched(turns, self.batch_size):
            conversations = [self._conversation(turn, folder) for turn in batch]
            inputs = self.loaded.processor.apply_chat_template(
                conversations,
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
                processor_kwargs={"padding": True, "padding_side": "left"},
            )
            generate(self.loaded, inputs, said, max_new_tokens=batch[0].max_new_tokens, do_sample=False)
        return said

    @staticmethod
    def _conversation(turn: Turn, folder: Path) -> list[dict[str, Any]]:
        images = [{"type": "image", "image": open_image(image, folder)} for image in turn.images]
        return [{"role": "user", "content": [*images, {"type": "text", "text": turn.text}]}]


@torch.inference_mode()
def generate(loaded: Loaded, inputs: Any, said: Said, **settings: Any) -> None:
    """Generate for a batch of prompts and add what was said."""
    inputs = inputs.to(loaded.model.device, dtype=loaded.model.dtype)
    out = loaded.model.generate(**inputs, **settings)
    new = out[:, inputs["input_ids"].shape[1] :]
    said.texts += loaded.processor.tokenizer.batch_decode(new, skip_special_tokens=True)
    said.visual_tokens += (inputs["input_ids"] == loaded.image_token()).sum(dim=1).tolist()
    said.gaps += [None] * len(new)


def batched(turns: Sequence[Turn], size: int) -> Iterator[Sequence[Turn]]:
    for start in range(0, len(turns), size):
        yield turns[start : start + size]
