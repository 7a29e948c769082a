"""Random weights under which a tiny model behaves as the tests need, and the parts its configurations share.

Freshly initialised models write nearly the same thing whatever they see. These look: their logits have a standard
deviation of about 1 and change with the image, with one word and with one position. About half of their replies
begin with an option letter, and a letter is mostly followed by the end token, as a model's short answer is.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import torch
from torch import nn

from tests.unit.engines.tiny.words import LETTERS

HIDDEN, LAYERS, HEADS = 32, 2, 2
PATCH, TILE = 8, 32

_SEED = 2
_EMBEDDINGS = 0.4
_ATTENTION_GAIN = 1.5
_LETTER_GAIN = 2.0
_END_GAIN = 8.0


def text(tokenizer: Any, **changes: Any) -> dict[str, Any]:
    """A language model's settings: two layers, grouped queries, embeddings that are not tied."""
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": HIDDEN,
        "intermediate_size": 48,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": 1,
        "max_position_embeddings": 4096,
        "tie_word_embeddings": False,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    } | changes


def rope(**changes: Any) -> dict[str, Any]:
    return {"rope_type": "default", "rope_theta": 1e4} | changes


def vision(**changes: Any) -> dict[str, Any]:
    """A vision tower's settings: two layers, tiles of 32 x 32 pixels in patches of 8."""
    return {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": TILE,
        "patch_size": PATCH,
    } | changes


@torch.no_grad()
def enliven(model: Any, tokenizer: Any, *, seed: int = _SEED) -> Any:
    """Draw the weights anew, always the same, and return the model."""
    random = torch.Generator().manual_seed(seed)
    for module in model.modules():
        for name, weight in module.named_parameters(recurse=False):
            if weight.ndim > 1:
                spread = _EMBEDDINGS if isinstance(module, nn.Embedding) else 1 / sqrt(weight[0].numel())
                weight.normal_(0, spread / getattr(module, "scalar_embed_scale", 1), generator=random)
            elif "gate" in name and weight.numel() == 1:
                weight.fill_(0.7)  # Mllama's: closed at first
    for name, module in model.named_modules():
        if name.endswith(("q_proj", "k_proj")):
            module.weight.mul_(_ATTENTION_GAIN)
        elif name.endswith(("q_norm", "k_norm")) and not isinstance(module, nn.Identity):
            module.weight.add_(_ATTENTION_GAIN - 1)  # some norms multiply by the weight, some by 1 + it
    _answer_with_letters(model, tokenizer)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model.eval()


def _answer_with_letters(model: Any, tokenizer: Any) -> None:
    """Letters are likely, and a direction that they alone have in common calls for the end token."""
    forms = [space + letter for letter in LETTERS for space in ("", "Ġ")]
    labels = tokenizer.convert_tokens_to_ids([form for form in forms if form in tokenizer.get_vocab()])
    embeddings, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    head[labels] *= _LETTER_GAIN
    common = torch.ones(HIDDEN) / sqrt(HIDDEN)
    common[1::2] *= -1
    embeddings[labels] += common * embeddings.norm(dim=1).mean() * 2
    head[tokenizer.eos_token_id] = common * _END_GAIN / sqrt(HIDDEN)
