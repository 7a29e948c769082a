"""What sharing has to know of a model's architecture, read from its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch

from known_unknowns.engines.sharing import attention

ATTENTION = ("sdpa", "eager")
"""The implementations that take a mask of one's own."""
_KNOWN_LAYERS = {"full_attention", "sliding_attention"}
_BY_LENGTH = ("dynamic", "longrope")
"""Kinds of rotary positions whose angles are others in a long prompt than in a short one."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """``recurrent`` models have layers whose state cannot be taken apart by tokens (linear attention). ``crossing``
    are the layers that look at the pictures aside from the text. ``window`` is that of the sliding layers. ``grouped``
    are the configurations of the layers whose attention is better done by `attention.grouped` (none on a GPU)."""

    layers: int
    hidden: int
    weights: int
    recurrent: bool
    crossing: frozenset[int]
    window: int | None
    kinds: frozenset[str]
    eager: bool
    grouped: tuple[Any, ...]
    language: Any
    rotary: Any
    takes_features: bool

    @classmethod
    def of(cls, model: Any) -> Architecture:
        """Raises ValueError for a model whose attention cannot be told what to see, or whose prefixes differ with what
        comes after them."""
        config = model.config.get_text_config()
        if turns_by_length(model):
            raise ValueError("its positions' angles depend on how long the whole prompt is")
        kinds = frozenset(getattr(config, "layer_types", None) or ())
        recurrent = any("linear" in kind or "mamba" in kind or "conv" in kind for kind in kinds)
        if config._attn_implementation not in ATTENTION:
            raise ValueError(f"its attention is {config._attn_implementation!r}, which takes no mask of one's own")
        if not recurrent and (unknown := kinds - _KNOWN_LAYERS):
            raise ValueError(f"it has layers of a kind not known here: {', '.join(sorted(unknown))}")
        core = getattr(model, "model", model)
        embedding = model.get_input_embeddings().weight.numel()
        language, eager = _language(model), config._attn_implementation == "eager"
        return cls(
            layers=config.num_hidden_layers,
            hidden=config.hidden_size,
            weights=sum(weight.numel() for weight in language.parameters()) - embedding,
            recurrent=recurrent,
            crossing=frozenset(getattr(config, "cross_attention_layers", None) or ()),
            window=getattr(config, "sliding_window", None),
            kinds=kinds,
            eager=eager,
            grouped=() if eager or model.device.type != "cpu" else attention.configs(language),
            language=language,
            rotary=core if hasattr(core, "rope_deltas") else None,
            takes_features="mm_encoder_outputs" in signature(model.forward).parameters,
        )

    def mask(self, allowed: torch.Tensor, queries: torch.Tensor, keys: torch.Tensor, dtype: torch.dtype) -> Any:
        """What attention is told: ``allowed`` (rows, 1, queries, keys), as one mask or one for each kind of layer.

        ``queries`` (rows, queries) and ``keys`` (rows, keys) are places in the prompt: a window is measured in them,
        not in the places in memory, which differ once questions lie side by side.
        """
        sliding = allowed
        if self.window:
            sliding = allowed & (queries[:, :, None] - keys[:, None, :] < self.window)[:, None]
        if self.kinds == _KNOWN_LAYERS:
            return {
                "full_attention": self._as_asked(allowed, dtype),
                "sliding_attention": self._as_asked(sliding, dtype),
            }
        slides = self.kinds == {"sliding_attention"} or (not self.kinds and self.window)
        return self._as_asked(sliding if slides else allowed, dtype)

    def _as_asked(self, allowed: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        if not (self.eager or self.grouped):
            return allowed
        return torch.zeros_like(allowed, dtype=dtype).masked_fill_(~allowed, torch.finfo(dtype).min)


def turns_by_length(model: Any) -> bool:
    """Whether the angles of all positions depend on the largest one in the batch (Phi-4 multimodal's do)."""
    settings = getattr(model.config.get_text_config(), "rope_parameters", None) or {}
    return any(kind.get("rope_type") in _BY_LENGTH for kind in (settings, *settings.values()) if isinstance(kind, dict))


def _language(model: Any) -> Any:
    for path in ("model.language_model", "language_model", "model.text_model"):
        part = model
        for name in path.split("."):
            part = getattr(part, name, None)
        if part is not None:
            return part
    return model
