"""A random Qwen2.5-VL whose greedy reply is one letter and the end token, and the processor that goes with it.

The proportions are the published 7B model's (or, for ``qwen2.5-vl-7b-shape``, its true shape). The weights are drawn
so that activations stay of order one; then the output layer is set so that replies look like answers:

- one residual channel carries a constant that no layer writes to: its sign tells the letters from all other tokens,
  and the output layer reads it, so that a letter follows any other token and the end token follows a letter;
- the letters' rows are whitened against the last hidden states of sample prompts, so that the letter depends on the
  question and on the image, and each comes up about as often as the others.
"""

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
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from bench.throughput import data
from known_unknowns.images import open_image
from known_unknowns.records import Turn

LETTERS = "ABCDE"
SHAPES: dict[str, dict[str, Any]] = {
    "tiny": {
        "text": {"hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 2, "num_attention_heads": 2},
        "text_heads": {"num_key_value_heads": 1, "vocab_size": 3072, "mrope_section": [4, 6, 6]},
        "vision": {"depth": 2, "hidden_size": 32, "intermediate_size": 80, "num_heads": 2},
        "full": [1],
    },
    "60m": {
        "text": {"hidden_size": 512, "intermediate_size": 2560, "num_hidden_layers": 10, "num_attention_heads": 8},
        "text_heads": {"num_key_value_heads": 2, "vocab_size": 8192, "mrope_section": [8, 12, 12]},
        "vision": {"depth": 6, "hidden_size": 256, "intermediate_size": 684, "num_heads": 4},
        "full": [5],
    },
    "qwen2.5-vl-7b-shape": {
        "text": {"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28},
        "text_heads": {"num_key_value_heads": 4, "vocab_size": 152064, "mrope_section": [16, 24, 24]},
        "vision": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16},
        "full": [7, 15, 23, 31],
    },
}
SPREAD = 1.2
"""Of a linear layer's outputs for inputs of order one: attention is then neither uniform nor one-hot."""
MARGIN = 15.0
"""Logits between the letters and any other token, where a letter is due."""
LETTER_SPREAD = 2.0
"""Standard deviation of a letter's logit over sample prompts."""
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
        model = make_model(shape, processor.tokenizer, dtype=dtype, device=device, seed=seed)
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


def configuration(shape: str, tokenizer: Any) -> Qwen2_5_VLConfig:
    values, number = SHAPES[shape], tokenizer.convert_tokens_to_ids
    text, heads = dict(values["text"]), dict(values["text_heads"])
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": heads.pop("mrope_section")}
    text |= heads | {"rope_parameters": rope, "max_position_embeddings": 32768, "tie_word_embeddings": False}
    text |= {"bos_token_id": number(_PAD), "eos_token_id": number(_END), "pad_token_id": number(_PAD)}
    vision = values["vision"] | {"out_hidden_size": text["hidden_size"], "fullatt_block_indexes": values["full"]}
    return Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=number("<|image_pad|>"),
        video_token_id=number("<|video_pad|>"),
        vision_start_token_id=number("<|vision_start|>"),
        vision_end_token_id=number("<|vision_end|>"),
        tie_word_embeddings=False,
    )


def make_model(shape: str, tokenizer: Any, *, dtype: str, device: str, seed: int) -> Qwen2_5_VLForConditionalGeneration:
    """The model before its output layer is tuned."""
    torch.manual_seed(seed)
    with torch.device(device):
        model = Qwen2_5_VLForConditionalGeneration(configuration(shape, tokenizer)).eval()
    for weight in model.parameters():  # these alone: loading leaves the rotary frequencies in float32, too
        weight.data = weight.data.to(getattr(torch, dtype))
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, (torch.nn.Linear, torch.nn.Conv3d)):
                module.weight.normal_(0.0, SPREAD / module.weight[0].numel() ** 0.5)
        model.get_input_embeddings().weight.normal_()
        _keep_a_constant(model, tokenizer)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


def _keep_a_constant(model: Any, tokenizer: Any) -> None:
    """Channel 0 of the residual stream: negative at letters, positive at all other tokens, written by no layer."""
    embeddings = model.get_input_embeddings().weight
    constant = embeddings.shape[1] ** 0.5 / 8
    embeddings[:, 0] = constant
    embeddings[letter_tokens(tokenizer), 0] = -constant
    for layer in model.model.language_model.layers:
        layer.self_attn.o_proj.weight[0] = 0
        layer.mlp.down_proj.weight[0] = 0
    model.model.visual.merger.mlp[-1].weight[0] = 0


def letter_tokens(tokenizer: Any) -> list[int]:
    return [tokenizer.convert_tokens_to_ids(letter) for letter in LETTERS]


def sample_prompts(folder: Path) -> list[list[Turn]]:
    """Prompts on images, and prompts on one noise image: what the output layer is tuned on."""
    images = data.five_questions(folder, images=6, seed=990_001, questions=5)
    noise = data.one_noise_image(folder, questions=24, seed=990_002)
    return [list(images.turns), list(noise.turns)]


@torch.inference_mode()
def tune(model: Any, processor: Any, kinds: Sequence[Sequence[Turn]], folder: Path, *, seed: int) -> dict[str, Any]:
    """Set the output layer. ``kinds`` are turns of several kinds, each of which gets every letter.

    Returns, as measured on ``kinds``, each letter's share and the smallest margins in logits: of a letter over all
    other tokens, and of the end token after a letter.
    """
    states = [torch.stack([_last_state(model, processor, turn, folder) for turn in turns]) for turns in kinds]
    pairs = [(turn, letter) for turns in kinds for turn, letter in zip(turns, LETTERS, strict=False)]
    after = torch.stack([_last_state(model, processor, turn, folder, said=letter) for turn, letter in pairs])
    head, letters, end = model.lm_head.weight, letter_tokens(processor.tokenizer), processor.tokenizer.eos_token_id
    head[:, 0] = -MARGIN / torch.cat(states)[:, 0].mean()
    head[letters] = _letter_rows(states, seed).to(head)
    head[end, 0] = (MARGIN + (after @ head.float().T).max()) / after[:, 0].max()
    logits = torch.cat(states) @ head.float().T
    said = logits[:, letters].argmax(dim=1).tolist()
    return {
        "seed": seed,
        "letter_margin": _margin(logits, letters),
        "end_margin": _margin(after @ head.float().T, [end]),
        "letters": {letter: said.count(index) / len(said) for index, letter in enumerate(LETTERS)},
    }


def _letter_rows(states: Sequence[torch.Tensor], seed: int) -> torch.Tensor:
    """(letters, hidden): random mixtures of the directions in which the states of a kind differ, all of equal weight.

    They leave out the means, so that no letter is preferred, and channel 0.
    """
    means = torch.stack([of_kind.mean(dim=0) for of_kind in states])
    left_out = torch.linalg.qr(torch.cat([means, torch.eye(1, means.shape[1], device=means.device)]).T).Q
    moved = torch.cat([of_kind - mean for of_kind, mean in zip(states, means, strict=True)])
    moved = moved - moved @ left_out @ left_out.T
    _, sizes, axes = torch.linalg.svd(moved, full_matrices=False)
    kept = max(len(LETTERS), min(24, int((sizes > 0.05 * sizes[0]).sum())))
    mix = torch.randn(kept, len(LETTERS), generator=torch.Generator().manual_seed(seed)).to(axes)
    return torch.linalg.qr(mix).Q.T @ (axes[:kept] / sizes[:kept, None]) * len(moved) ** 0.5 * LETTER_SPREAD


def _margin(logits: torch.Tensor, tokens: Sequence[int]) -> float:
    """The least by which the best of ``tokens`` is above all other tokens; (rows, vocabulary)."""
    others = torch.ones(logits.shape[1], dtype=torch.bool, device=logits.device)
    others[list(tokens)] = False
    return (logits[:, ~others].amax(dim=1) - logits[:, others].amax(dim=1)).min().item()


def _last_state(model: Any, processor: Any, turn: Turn, folder: Path, *, said: str = "") -> torch.Tensor:
    """(hidden,) float32: the state after the final norm at the last token of the prompt and of what was ``said``."""
    content = [{"type": "image"}, {"type": "text", "text": turn.text}]
    text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True) + said
    inputs = processor(text=[text], images=[open_image(turn.images[0], folder)], return_tensors="pt")
    model.model.rope_deltas = None
    inputs = inputs.to(model.device, dtype=model.dtype)
    return model.model(**inputs, use_cache=False).last_hidden_state[0, -1].float()
