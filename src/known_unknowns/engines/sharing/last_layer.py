"""The last layer's work for those tokens only whose logits are asked for.

Of the others a pass wants keys and values, which the last layer makes before it looks at anything. What it looks up
and computes after that is read by nobody: in a prefix that of all tokens, behind it that of all but each question's
last. It is most of what a layer computes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def asked_at(language: torch.nn.Module, places: torch.Tensor) -> Iterator[None]:
    """Within it, the last layer answers for ``places`` (rows, places) alone. Elsewhere its outputs are wrong."""
    hooks = []
    for part in _parts(language):
        only = _Only(places)
        hooks += [part.register_forward_pre_hook(only.before), part.register_forward_hook(only.after)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _parts(language: torch.nn.Module) -> list[torch.nn.Module]:
    """What works on each token alone, behind the keys and values."""
    last = language.layers[-1] if getattr(language, "layers", None) else None
    out = getattr(getattr(last, "self_attn", None), "o_proj", None)
    mlp = getattr(last, "mlp", None)
    experts = mlp is not None and any("expert" in name for name, _ in mlp.named_children())
    return [part for part in (out, None if experts else mlp) if part is not None]


class _Only:
    """Hooks of one part: in go (rows, tokens, size), and it works on (rows, places, size)."""

    def __init__(self, places: torch.Tensor) -> None:
        self._places = places[..., None]
        self._tokens = 0

    def before(self, part: torch.nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        self._tokens = inputs[0].shape[1]
        return torch.take_along_dim(inputs[0], self._places, dim=1), *inputs[1:]

    def after(self, part: torch.nn.Module, inputs: tuple[Any, ...], output: torch.Tensor) -> torch.Tensor:
        whole = output.new_zeros(len(output), self._tokens, output.shape[-1])
        return whole.scatter_(1, self._places.expand_as(output), output)
