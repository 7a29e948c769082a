"""Restrict the last layer to the tokens whose logits are needed.

For the other tokens a pass needs keys and values only, and the last layer computes them before its attention. Its
further results are not used: in a prefix those of all tokens, after it those of all but each prompt's last token.
They are most of a layer's work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def limit_last_layer(language: torch.nn.Module, places: torch.Tensor) -> Iterator[None]:
    """Within the context, compute the last layer for ``places`` (rows, places) only. Its other outputs are invalid."""
    hooks = []
    for part in _tokenwise_modules(language):
        only = _PositionSelector(places)
        hooks += [part.register_forward_pre_hook(only.before), part.register_forward_hook(only.after)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _tokenwise_modules(language: torch.nn.Module) -> list[torch.nn.Module]:
    """Return the modules after the keys and values that process each token separately."""
    layers: Any = getattr(language, "layers", None)
    last = layers[-1] if layers else None
    out = getattr(getattr(last, "self_attn", None), "o_proj", None)
    mlp = getattr(last, "mlp", None)
    experts = mlp is not None and any("expert" in name for name, _ in mlp.named_children())
    return [part for part in (out, None if experts else mlp) if part is not None]


class _PositionSelector:
    """Hooks of one module: it receives (rows, tokens, size), and processes (rows, places, size)."""

    def __init__(self, places: torch.Tensor) -> None:
        self._places = places[..., None]
        self._tokens = 0

    def before(self, part: torch.nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        self._tokens = inputs[0].shape[1]
        return torch.take_along_dim(inputs[0], self._places, dim=1), *inputs[1:]

    def after(self, part: torch.nn.Module, inputs: tuple[Any, ...], output: torch.Tensor) -> torch.Tensor:
        whole = output.new_zeros(len(output), self._tokens, output.shape[-1])
        return whole.scatter_(1, self._places.expand_as(output), output)
