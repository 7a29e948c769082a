"""The parts of the pocket model: tokenizer, processor, and an untrained LLaVA of a LeViT tower and a Llama.

All are standard classes of transformers, so that the Auto classes load the saved folder without remote code.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from string import Formatter
from typing import Any

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    LevitConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

from known_unknowns_benchmarks.actiview import prompts
from known_unknowns_pocket.benchmarks.question_templates import PHRASES as PLACED

PAD, BOS, EOS, IMAGE = "<pad>", "<s>", "</s>", "<image>"
SYSTEM, USER, ASSISTANT = "<|system|>", "<|user|>", "<|assistant|>"
SPECIAL = (PAD, BOS, EOS, IMAGE, SYSTEM, USER, ASSISTANT)


def prompts_parts() -> tuple[str, ...]:
    """Return the constant parts of ActiView's prompts for four views."""
    fixed = {"split": "4", "description": prompts.description(4)}
    templates = (prompts.ANSWER, prompts.SELECT, prompts.ZOOMED, prompts.MORE, prompts.ZOOM, prompts.OPERATE)
    names = [prompts.view_name(view, 4) for view in range(1, 5)]
    found = {text for name in names for text in (f", the {name} view,", f"is your selected {name} view.")}
    for template in (*templates, *prompts.TEXT_ONLY.values()):
        text = ""
        for literal, name, _, _ in Formatter().parse(template):
            text += literal + (fixed.get(name, _FIELD) if name else "")
        found |= {piece.strip() for piece in text.split(_FIELD)}
    return tuple(sorted(piece for piece in found if len(piece) > 2))


_FIELD = "\0"
PHRASES = (
    "None of the above",
    "Please respond with only the letter of the correct choice (A, B, C, D, or E).",
    "Please respond with only the letter of the correct choice (",
    "Do not include the option text or any other explanation.",
    "Sorry, I can't help with it",
    "Answer with the option's letter from the given choices directly.",
    "If you don't know the answer, please reply with 'Sorry, I can't help with it'.",
    *(f"{phrase} it" for phrase in PLACED.values()),
    "in relation to the",
    "Which of these objects is",
    "are there in the image?",
    "What is the texture of the",
    *prompts_parts(),
    *("To the left", "To the right", "On the left", "On the right"),
    '{"part": "',
    '{"keep": "',
    '", "reason": "',
    '", "shift": "',
    '"}',
)
"""Constant phrases of the prompts, one token each; they are a third of a prompt otherwise. They include answers,
because a letter is looked up by its answer much sooner if that is one token.
"""

CHAT_TEMPLATE = (
    "{% for message in messages %}{% if loop.first %}<s>{% endif %}<|{{ message['role'] }}|>"
    "{% if message['content'] is string %}{{ message['content'] | trim }}"
    "{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% elif part['type'] == 'text' %}{{ part['text'] | trim }}{% endif %}"
    "{% endfor %}{% endif %}"
    "{% if message['role'] == 'assistant' %}</s>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)

# An option's letter with its dot; a word, a digit or a punctuation mark with the space before it; a space.
_PIECES = Regex(r"[A-H]\.| ?[A-Za-z]+| ?\d| ?[^\sA-Za-z\d]|\s")
_LONGEST_VOCABULARY = 4096
_CONTEXT = 1024


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the model."""

    # sides of the square image and of its patches in pixels
    side: int = 128
    patch: int = 16
    # the vision tower
    vision_width: int = 128
    vision_layers: int = 4
    # the text model. The auxiliary losses need at least four layers.
    text_width: int = 160
    text_layers: int = 6
    heads: int = 4
    text_heads: int = 5

    @property
    def grid(self) -> int:
        """Patches along a side of the image."""
        return self.side // self.patch

    @property
    def image_tokens(self) -> int:
        """Tokens of an image."""
        return self.grid**2


def build_tokenizer(corpus: Iterable[str]) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE in which every word of ``corpus`` is one token; other words are split."""
    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(_PIECES, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    pieces.decoder = decoders.ByteLevel()
    pieces.train_from_iterator(
        corpus,
        trainers.BpeTrainer(
            vocab_size=_LONGEST_VOCABULARY,
            special_tokens=list(SPECIAL),
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        ),
    )
    pieces.add_tokens(
        [AddedToken(phrase, lstrip=True, single_word=phrase[-1].isalpha(), normalized=False) for phrase in PHRASES]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        bos_token=BOS,
        eos_token=EOS,
        pad_token=PAD,
        extra_special_tokens={"image_token": IMAGE},
        additional_special_tokens=[SYSTEM, USER, ASSISTANT],
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_max_length=_CONTEXT,
    )


def build_processor(tokenizer: PreTrainedTokenizerFast, shape: Shape) -> LlavaProcessor:
    """Return a processor that resizes images to ``shape.side`` squared pixels and scales them to -1..1."""
    images = SiglipImageProcessorPil(
        size={"height": shape.side, "width": shape.side}, image_mean=[0.5] * 3, image_std=[0.5] * 3
    )
    return LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=shape.patch,
        vision_feature_select_strategy="full",
        num_additional_image_tokens=0,
        image_token=IMAGE,
        chat_template=CHAT_TEMPLATE,
    )


def build_model(tokenizer: PreTrainedTokenizerFast, shape: Shape, *, seed: int) -> LlavaForConditionalGeneration:
    """Return an untrained model; its weights depend on ``seed`` alone."""
    torch.manual_seed(seed)
    make_config: Any = LlavaConfig  # it takes further keywords than it declares
    config = make_config(
        vision_config=_tower(shape),
        text_config=LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=shape.text_width,
            intermediate_size=shape.text_width * 8 // 3 // 16 * 16,
            num_hidden_layers=shape.text_layers,
            num_attention_heads=shape.text_heads,
            num_key_value_heads=shape.text_heads,
            max_position_embeddings=_CONTEXT,
            initializer_range=0.06,
            tie_word_embeddings=True,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        ),
        image_token_id=tokenizer.convert_tokens_to_ids(IMAGE),
        image_seq_length=shape.image_tokens,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        tie_word_embeddings=True,
    )
    return LlavaForConditionalGeneration(config)


def _tower(shape: Shape) -> LevitConfig:
    """Return LeViT's convolutions, 16 pixels a patch, and one stage of its layers with as many patches.

    Convolutions learn shapes from a tenth of the images that a vision transformer on plain patches needs.
    """
    width = shape.vision_width
    make_config: Any = LevitConfig  # it takes further keywords than it declares
    tower: LevitConfig = make_config(
        image_size=shape.side,
        patch_size=shape.patch,
        hidden_sizes=[width, width],
        num_attention_heads=[shape.heads],
        depths=[shape.vision_layers],
        key_dim=[width // shape.heads // 2],
        mlp_ratio=[2],
        attention_ratio=[2],
        down_ops=[[""]],  # no further stage
        hidden_size=width,  # for LLaVA's projector
    )
    return tower
