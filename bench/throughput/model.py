"""The checkpoint of a random Qwen2.5-VL (`random_model`) with the processor that goes with it."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers import models as tokenizer_models
from transformers import (
    AutoProcessor,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    Qwen2_5_VLProcessor,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from bench.throughput import data, random_model
from bench.throughput.random_model import Tokens
from known_unknowns.images import open_image
from known_unknowns.records import Turn

LETTERS = "ABCDE"
PIXELS = {"shortest_edge": 56 * 56, "longest_edge": 16384 * 28 * 28}
"""The least and the most of a resized image, as published."""
_END, _PAD = "<|im_end|>", "<|endoftext|>"
_IMAGE_TOKENS = ("<|vision_start|>", "<|image_pad|>", "<|vision_end|>")
_SPECIAL = [_PAD, "<|im_start|>", _END, *_IMAGE_TOKENS, "<|video_pad|>"]
_TEMPLATE = (
    "{% if messages[0]['role'] != 'system' %}<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for c in m['content'] %}"
    "{{ '" + "".join(_IMAGE_TOKENS) + "' if c['type'] == 'image' else c['text'] }}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class ImageOnlyProcessor(Qwen2_5_VLProcessor):
    """Qwen2.5-VL's processor for images alone: its videos would need torchvision."""

    def __init__(
        self, image_processor: Any = None, tokenizer: Any = None, chat_template: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(image_processor, tokenizer, None, chat_template=chat_template)

    def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
        return None if argument is None else super().check_argument_for_proper_class(argument_name, argument)


class _Key(PreTrainedConfig):
    """What the processor is registered under. It is found by its own name, and not by that of the model."""


def register() -> None:
    """Let ``AutoProcessor.from_pretrained`` know the class, so that an engine loads the folder as any other."""
    AutoProcessor.register(_Key, ImageOnlyProcessor, exist_ok=True)


def ensure(cache: Path, shape: str, *, dtype: str, device: str, seed: int = 0) -> Path:
    """The folder of the checkpoint, made if it is not there yet. A folder that was not finished is made anew."""
    register()
    folder = cache / f"{shape}-{dtype}-seed{seed}"
    if not (folder / "bench.json").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        processor = make_processor()
        tokens = tokens_of(processor.tokenizer)
        model = random_model.make_model(shape, tokens, dtype=dtype, device=device, seed=seed)
        facts = tune(model, processor, sample_prompts(folder), folder, seed=seed)
        model.save_pretrained(folder)
        processor.save_pretrained(folder)
        (folder / "bench.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        del model
        if device == "cuda":
            torch.cuda.empty_cache()
    _describe_videos(folder)
    return folder


def _describe_videos(folder: Path) -> None:
    """Write the settings for videos, as published checkpoints have them: vLLM loads Qwen2.5-VL's whole processor."""
    described = json.loads((folder / "processor_config.json").read_text(encoding="utf-8"))["image_processor"]
    described.pop("image_processor_type")
    path = folder / "video_preprocessor_config.json"
    path.write_text(json.dumps(described | {"video_processor_type": "Qwen2VLVideoProcessor"}), encoding="utf-8")


def make_tokenizer() -> PreTrainedTokenizerFast:
    draw = random.Random(0)
    corpus = [data.prompt(data.question(draw, "0")) for _ in range(3000)] + [_TEMPLATE] * 50
    words = Tokenizer(tokenizer_models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2800,
        special_tokens=_SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    words.train_from_iterator(corpus, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token=_PAD, eos_token=_END, additional_special_tokens=_SPECIAL[3:]
    )


def make_processor() -> ImageOnlyProcessor:
    return ImageOnlyProcessor(Qwen2VLImageProcessorPil(size=PIXELS), make_tokenizer(), _TEMPLATE)


def tokens_of(tokenizer: Any) -> Tokens:
    number = tokenizer.convert_tokens_to_ids
    return Tokens(
        letters=tuple(number(letter) for letter in LETTERS),
        end=number(_END),
        pad=number(_PAD),
        image=number("<|image_pad|>"),
        video=number("<|video_pad|>"),
        vision_start=number("<|vision_start|>"),
        vision_end=number("<|vision_end|>"),
    )


def sample_prompts(folder: Path) -> list[list[Turn]]:
    """Prompts on images, and prompts on one noise image: what the output layer is tuned on."""
    images = data.five_questions(folder, images=6, seed=990_001, questions=5)
    noise = data.one_noise_image(folder, questions=24, seed=990_002)
    return [list(images.turns), list(noise.turns)]


def tune(model: Any, processor: Any, kinds: Sequence[Sequence[Turn]], folder: Path, *, seed: int) -> dict[str, Any]:
    """Set the output layer. ``kinds`` are turns of several kinds, each of which gets every letter."""
    states = [torch.stack([_last_state(model, processor, turn, folder) for turn in turns]) for turns in kinds]
    pairs = [(turn, letter) for turns in kinds for turn, letter in zip(turns, LETTERS, strict=False)]
    after = torch.stack([_last_state(model, processor, turn, folder, said=letter) for turn, letter in pairs])
    return random_model.tune(model, tokens_of(processor.tokenizer), states, after, seed=seed)


def _last_state(model: Any, processor: Any, turn: Turn, folder: Path, *, said: str = "") -> torch.Tensor:
    """(hidden,) float32: the state after the final norm at the last token of the prompt and of what was ``said``."""
    content = [{"type": "image"}, {"type": "text", "text": turn.text}]
    text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True) + said
    inputs = processor(text=[text], images=[open_image(turn.images[0], folder)], return_tensors="pt")
    return random_model.last_state(model, inputs)
