"""Tiny checkpoints with random weights, and turns for them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from known_unknowns.config import TransformersModel
from known_unknowns.images import recipe_image
from known_unknowns.records import Turn

LETTERS = ("A", "B", "C", "D", "E")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% for c in m['content'] %}{{ IMAGE if c['type'] == 'image' else c['text'] }}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAVA_TEMPLATE = TEMPLATE.replace("IMAGE", "'<image>'")
QWEN_TEMPLATE = TEMPLATE.replace("IMAGE", "'<|vision_start|><|image_pad|><|vision_end|>'")
SPECIAL = ["<pad>", "<|im_start|>", "<|im_end|>", "<image>", "<|vision_start|>", "<|vision_end|>"]
SPECIAL += ["<|image_pad|>", "<|video_pad|>"]


def tiny_tokenizer() -> transformers.PreTrainedTokenizerFast:
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    text = ["What colour is it?\nA. Red\nB. Blue E. None of the above USB Apple answer A B C D E"] * 2
    words.train_from_iterator(
        text,
        trainers.BpeTrainer(
            vocab_size=340,
            special_tokens=SPECIAL,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<|im_end|>", pad_token="<pad>", additional_special_tokens=SPECIAL[3:]
    )


def text_config(tokenizer) -> dict:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "initializer_range": 0.3,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": None,
    }


def tiny_llava(folder: Path) -> None:
    tokenizer = tiny_tokenizer()
    torch.manual_seed(0)
    model = transformers.LlavaForConditionalGeneration(
        transformers.LlavaConfig(
            vision_config=transformers.SiglipVisionConfig(
                hidden_size=32,
                intermediate_size=48,
                num_hidden_layers=2,
                num_attention_heads=2,
                image_size=32,
                patch_size=8,
                vision_use_head=False,
            ),
            text_config=transformers.LlamaConfig(**text_config(tokenizer)),
            image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
            vision_feature_layer=-1,
            vision_feature_select_strategy="full",
        )
    )
    processor = transformers.LlavaProcessor(
        image_processor=transformers.SiglipImageProcessorPil(size={"height": 32, "width": 32}),
        tokenizer=tokenizer,
        patch_size=8,
        vision_feature_select_strategy="full",
        chat_template=LLAVA_TEMPLATE,
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)


def tiny_llava_next(folder: Path) -> None:
    """As many image tokens as an image's size asks for."""
    tokenizer = tiny_tokenizer()
    torch.manual_seed(0)
    grids = [[16, 32], [32, 16], [32, 32]]
    model = transformers.LlavaNextForConditionalGeneration(
        transformers.LlavaNextConfig(
            vision_config=transformers.CLIPVisionConfig(
                hidden_size=32,
                intermediate_size=48,
                num_hidden_layers=2,
                num_attention_heads=2,
                image_size=16,
                patch_size=8,
                projection_dim=32,
            ),
            text_config=transformers.Qwen2Config(**text_config(tokenizer)),
            image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
            image_grid_pinpoints=grids,
        )
    )
    processor = transformers.LlavaNextProcessor(
        image_processor=transformers.LlavaNextImageProcessorPil(
            size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16}, image_grid_pinpoints=grids
        ),
        tokenizer=tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=LLAVA_TEMPLATE,
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)


class Qwen2VLProcessorForImages(transformers.Qwen2VLProcessor):
    """The real one needs torchvision, for its videos alone."""

    def check_argument_for_proper_class(self, argument_name, argument):
        return None if argument is None else super().check_argument_for_proper_class(argument_name, argument)


def qwen2_vl_processor() -> Qwen2VLProcessorForImages:
    image_processor = transformers.Qwen2VLImageProcessorPil(
        patch_size=8, merge_size=2, size={"shortest_edge": 16 * 16, "longest_edge": 48 * 48}
    )
    return Qwen2VLProcessorForImages(
        image_processor=image_processor, tokenizer=tiny_tokenizer(), video_processor=None, chat_template=QWEN_TEMPLATE
    )


def tiny_qwen2_vl(folder: Path) -> None:
    tokenizer = tiny_tokenizer()
    ids = tokenizer.convert_tokens_to_ids
    torch.manual_seed(0)
    text = text_config(tokenizer) | {
        "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
    }
    model = transformers.Qwen2VLForConditionalGeneration(
        transformers.Qwen2VLConfig(
            text_config=text,
            vision_config={
                "depth": 2,
                "embed_dim": 32,
                "hidden_size": 32,
                "num_heads": 2,
                "mlp_ratio": 2,
                "patch_size": 8,
                "spatial_merge_size": 2,
                "temporal_patch_size": 2,
            },
            image_token_id=ids("<|image_pad|>"),
            video_token_id=ids("<|video_pad|>"),
            vision_start_token_id=ids("<|vision_start|>"),
            vision_end_token_id=ids("<|vision_end|>"),
        )
    )
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.save_pretrained(folder)


CHECKPOINTS = {"llava": tiny_llava, "llava-next": tiny_llava_next, "qwen2-vl": tiny_qwen2_vl}


def entry(folder: Path, **changes) -> TransformersModel:
    base = {"engine": "transformers", "source": str(folder), "revision": "unpinned", "dtype": "float32"}
    return TransformersModel(**base | {"device": "cpu"} | changes)


def turn(number: int, *, images: int = 1, labels=LETTERS, limit: int = 4, text: str = "") -> Turn:
    """Prompts of different lengths with images of different sizes, some of them shared."""
    drawings = [recipe_image("normal-noise", 24 + 16 * ((number + k) % 2), 32, (number + k) % 3) for k in range(images)]
    asked = text or "What colour is it?\n" * (1 + number % 3) + "A. Red\nB. Blue\nE. None of the above"
    return Turn(str(number), "answer", (*drawings, asked), labels, max_new_tokens=limit)


def answers(engine, turns, folder=Path()) -> dict:
    """Index to reply, without the seconds; every turn exactly once."""
    pairs = [pair for batch in engine.answer(turns, folder=folder) for pair in batch]
    assert sorted(index for index, _ in pairs) == list(range(len(turns)))
    return {index: dataclasses.replace(reply, seconds=0.0) for index, reply in pairs}
