"""The properties of a model's architecture that prefix sharing depends on, read from its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch

from prefix_sharing import attention

ATTENTION = ("sdpa", "eager")
"""The implementations that accept a custom mask."""
_KNOWN_LAYERS = {"full_attention", "sliding_attention"}
_LENGTH_DEPENDENT_ROPE = ("dynamic", "longrope")
"""Types of rotary positions whose angles depend on the prompt's length."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """The properties of a model.

    Attributes
    ----------
    layers, hidden, weights : int
        Number of decoder layers, hidden size, and weights of the language model without its embedding.
    recurrent : bool
        Some layers have a state that cannot be split by tokens (linear attention).
    cross_attention_layers : frozenset of int
        Layers that attend to the images separately from the text.
    window : int or None
        Window of the sliding-attention layers.
    layer_types : frozenset of str
        Types of attention layers.
    eager : bool
        The attention implementation is "eager".
    grouped_configs : tuple
        Configurations of the layers that use `attention.grouped_attention` (none on a GPU).
    language : torch.nn.Module
        The language model.
    rotary : torch.nn.Module or None
        The module that holds the difference of positions and places in the prompt.
    takes_features : bool
        The model accepts precomputed image features.
    can_continue : bool
        A prefix can be computed in pieces, each after the keys and values of those before it (on a CPU).
    """

    layers: int
    hidden: int
    weights: int
    recurrent: bool
    cross_attention_layers: frozenset[int]
    window: int | None
    layer_types: frozenset[str]
    eager: bool
    grouped_configs: tuple[Any, ...]
    language: Any
    rotary: Any
    takes_features: bool
    can_continue: bool

    @classmethod
    def from_model(cls, model: Any) -> Architecture:
        """Read the architecture of a model.

        Raises
        ------
        ValueError
            The model's attention does not accept a custom mask, or its prefixes depend on what follows them.
        """
        config = model.config.get_text_config()
        if has_length_dependent_positions(model):
            raise ValueError("its positions' angles depend on how long the whole prompt is")
        layer_types = frozenset(getattr(config, "layer_types", None) or ())
        recurrent = any("linear" in kind or "mamba" in kind or "conv" in kind for kind in layer_types)
        if config._attn_implementation not in ATTENTION:
            raise ValueError(f"its attention is {config._attn_implementation!r}, which takes no mask of one's own")
        if not recurrent and (unknown := layer_types - _KNOWN_LAYERS):
            raise ValueError(f"it has layers of a kind not known here: {', '.join(sorted(unknown))}")
        core = getattr(model, "model", model)
        embedding = model.get_input_embeddings().weight.numel()
        language, eager = _language(model), config._attn_implementation == "eager"
        cross_attention = frozenset(getattr(config, "cross_attention_layers", None) or ())
        grouped = () if eager or model.device.type != "cpu" else attention.attention_configs(language)
        return cls(
            layers=config.num_hidden_layers,
            hidden=config.hidden_size,
            weights=sum(weight.numel() for weight in language.parameters()) - embedding,
            recurrent=recurrent,
            cross_attention_layers=cross_attention,
            window=getattr(config, "sliding_window", None),
            layer_types=layer_types,
            eager=eager,
            grouped_configs=grouped,
            language=language,
            rotary=core if hasattr(core, "rope_deltas") else None,
            takes_features="mm_encoder_outputs" in signature(model.forward).parameters,
            can_continue=bool(grouped) and not recurrent and not cross_attention,
        )

    def mask(self, allowed: torch.Tensor, queries: torch.Tensor, keys: torch.Tensor, dtype: torch.dtype) -> Any:
        """Return the attention mask, as one tensor or one for each type of layer.

        Parameters
        ----------
        allowed : Tensor, shape (rows, 1, queries, keys)
            Which keys each query may attend to.
        queries, keys : Tensor, shape (rows, queries) and (rows, keys)
            Positions in the prompt. A window is measured in these, not in places in the cache, which differ when
            prompts are packed next to each other.
        dtype : torch.dtype
            The model's precision.
        """
        sliding = allowed
        if self.window:
            sliding = allowed & (queries[:, :, None] - keys[:, None, :] < self.window)[:, None]
        if self.layer_types == _KNOWN_LAYERS:
            return {
                "full_attention": self._to_mask_format(allowed, dtype),
                "sliding_attention": self._to_mask_format(sliding, dtype),
            }
        slides = self.layer_types == {"sliding_attention"} or (not self.layer_types and self.window)
        return self._to_mask_format(sliding if slides else allowed, dtype)

    def _to_mask_format(self, allowed: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        if not (self.eager or self.grouped_configs):
            return allowed
        return torch.zeros_like(allowed, dtype=dtype).masked_fill_(~allowed, torch.finfo(dtype).min)


def has_length_dependent_positions(model: Any) -> bool:
    """Return whether the angles of all positions depend on the largest position in the batch.

    Those of Phi-4 multimodal do.
    """
    settings = getattr(model.config.get_text_config(), "rope_parameters", None) or {}
    return any(
        kind.get("rope_type") in _LENGTH_DEPENDENT_ROPE
        for kind in (settings, *settings.values())
        if isinstance(kind, dict)
    )


def _language(model: Any) -> Any:
    for path in ("model.language_model", "language_model", "model.text_model"):
        part = model
        for name in path.split("."):
            part = getattr(part, name, None)
        if part is not None:
            return part
    return model
