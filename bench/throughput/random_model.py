"""A random Qwen2.5-VL whose greedy reply is one letter and the end token. Needs torch and transformers only.

The proportions are the published 7B model's (or, for ``qwen2.5-vl-7b-shape``, its true shape). The weights are drawn
so that activations stay of order one; then the output layer is set so that replies look like answers:

- one residual channel carries a constant that no layer writes to: its sign tells the letters from all other tokens,
  and the output layer reads it, so that a letter follows any other token and the end token follows a letter;
- the letters' rows are whitened against the last hidden states of sample prompts, so that the letter depends on the
  question and on the image, and each comes up about as often as the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

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


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens with a meaning. Each reply is one of ``letters`` and ``end``."""

    letters: tuple[int, ...]
    end: int
    pad: int
    image: int
    video: int
    vision_start: int
    vision_end: int


def configuration(shape: str, tokens: Tokens) -> Qwen2_5_VLConfig:
    values = SHAPES[shape]
    text, heads = dict(values["text"]), dict(values["text_heads"])
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": heads.pop("mrope_section")}
    text |= heads | {"rope_parameters": rope, "max_position_embeddings": 32768, "tie_word_embeddings": False}
    text |= {"bos_token_id": tokens.pad, "eos_token_id": tokens.end, "pad_token_id": tokens.pad}
    vision = values["vision"] | {"out_hidden_size": text["hidden_size"], "fullatt_block_indexes": values["full"]}
    return Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=tokens.image,
        video_token_id=tokens.video,
        vision_start_token_id=tokens.vision_start,
        vision_end_token_id=tokens.vision_end,
        tie_word_embeddings=False,
    )


def make_model(shape: str, tokens: Tokens, *, dtype: str, device: str, seed: int) -> Qwen2_5_VLForConditionalGeneration:
    """The model before its output layer is tuned."""
    torch.manual_seed(seed)
    with torch.device(device):
        model = Qwen2_5_VLForConditionalGeneration(configuration(shape, tokens)).eval()
    for weight in model.parameters():  # these alone: loading leaves the rotary frequencies in float32, too
        weight.data = weight.data.to(getattr(torch, dtype))
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, (torch.nn.Linear, torch.nn.Conv3d)):
                module.weight.normal_(0.0, SPREAD / module.weight[0].numel() ** 0.5)
        model.get_input_embeddings().weight.normal_()
        _keep_a_constant(model, tokens)
    model.generation_config.eos_token_id = tokens.end
    model.generation_config.pad_token_id = tokens.pad
    return model


def _keep_a_constant(model: Any, tokens: Tokens) -> None:
    """Channel 0 of the residual stream: negative at letters, positive at all other tokens, written by no layer."""
    embeddings = model.get_input_embeddings().weight
    constant = embeddings.shape[1] ** 0.5 / 8
    embeddings[:, 0] = constant
    embeddings[list(tokens.letters), 0] = -constant
    for layer in model.model.language_model.layers:
        layer.self_attn.o_proj.weight[0] = 0
        layer.mlp.down_proj.weight[0] = 0
    model.model.visual.merger.mlp[-1].weight[0] = 0


@torch.inference_mode()
def tune(
    model: Any, tokens: Tokens, states: Sequence[torch.Tensor], after: torch.Tensor, *, seed: int
) -> dict[str, Any]:
    """Set the output layer.

    Parameters
    ----------
    states : sequence of Tensor, shape (prompts, hidden)
        The last hidden states (`last_state`) of prompts of several kinds, each of which gets every letter.
    after : Tensor, shape (prompts, hidden)
        Those of some prompts with a letter after them.

    Returns
    -------
    dict
        As measured on these prompts, each letter's share and the smallest margins in logits: of a letter over all
        other tokens, and of the end token after a letter.
    """
    head, letters, end = model.lm_head.weight, list(tokens.letters), tokens.end
    head[:, 0] = -MARGIN / torch.cat(list(states))[:, 0].mean()
    head[letters] = _letter_rows(states, len(letters), seed).to(head)
    head[end, 0] = (MARGIN + (after @ head.float().T).max()) / after[:, 0].max()
    logits = torch.cat(list(states)) @ head.float().T
    chosen = logits[:, letters].argmax(dim=1).tolist()
    return {
        "seed": seed,
        "letter_margin": _margin(logits, letters),
        "end_margin": _margin(after @ head.float().T, [end]),
        "letters": {"ABCDE"[index]: chosen.count(index) / len(chosen) for index in range(len(letters))},
    }


def _letter_rows(states: Sequence[torch.Tensor], letters: int, seed: int) -> torch.Tensor:
    """(letters, hidden): random mixtures of the directions in which the states of a kind differ, all of equal weight.

    They leave out the means, so that no letter is preferred, and channel 0.
    """
    means = torch.stack([of_kind.mean(dim=0) for of_kind in states])
    left_out = torch.linalg.qr(torch.cat([means, torch.eye(1, means.shape[1], device=means.device)]).T).Q
    moved = torch.cat([of_kind - mean for of_kind, mean in zip(states, means, strict=True)])
    moved = moved - moved @ left_out @ left_out.T
    _, sizes, axes = torch.linalg.svd(moved, full_matrices=False)
    kept = max(letters, min(24, int((sizes > 0.05 * sizes[0]).sum())))
    mix = torch.randn(kept, letters, generator=torch.Generator().manual_seed(seed)).to(axes)
    return torch.linalg.qr(mix).Q.T @ (axes[:kept] / sizes[:kept, None]) * len(moved) ** 0.5 * LETTER_SPREAD


def _margin(logits: torch.Tensor, tokens: Sequence[int]) -> float:
    """The least by which the best of ``tokens`` is above all other tokens; (rows, vocabulary)."""
    others = torch.ones(logits.shape[1], dtype=torch.bool, device=logits.device)
    others[list(tokens)] = False
    return (logits[:, ~others].amax(dim=1) - logits[:, others].amax(dim=1)).min().item()


@torch.inference_mode()
def last_state(model: Any, inputs: Any) -> torch.Tensor:
    """(hidden,) float32: the state after the final norm at the last token of a prompt (1 row)."""
    model.model.rope_deltas = None
    inputs = inputs.to(model.device, dtype=model.dtype)
    return model.model(**inputs, use_cache=False).last_hidden_state[0, -1].float()
