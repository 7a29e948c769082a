"""Continuing from the end of a forward pass: one row for each prompt, one token at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import DynamicCache

from prefix_sharing.architecture import Architecture
from prefix_sharing.prefix import Prefix, new_cache
from prefix_sharing.token_tree import TreePass


@dataclass(frozen=True, slots=True)
class PromptState:
    """Where a prompt ended: in which pass, at which index in it, after which prefix."""

    tree_pass: TreePass
    prompt: int
    prefix: Prefix

    @property
    def row(self) -> int:
        return self.tree_pass.rows[self.prompt]

    @property
    def places(self) -> torch.Tensor:
        return self.tree_pass.places[self.prompt]


class RowContinuation:
    """The caches of some prompts, padded on the left, so that new tokens follow directly."""

    def __init__(self, model: Any, architecture: Architecture, left: Sequence[PromptState]) -> None:
        self._model = model
        lengths = [len(prompt.places) for prompt in left]
        there = torch.arange(max(lengths)) >= max(lengths) - torch.tensor(lengths)[:, None]
        self._cache: Any = _gather_caches(model, architecture, left, max(lengths))
        self._mask = there.long().to(model.device)
        positions = [length + prompt.prefix.delta for length, prompt in zip(lengths, left, strict=True)]
        self._positions = torch.tensor(positions, device=model.device)[:, None]
        cross_masks: list[Any] = [prompt.prefix.cross_mask for prompt in left]  # all of them, or none, are None
        self._cross_mask = None if cross_masks[0] is None else torch.cat(cross_masks).to(model.device)

    def step(self, tokens: Sequence[int]) -> torch.Tensor:
        """Append each row's next token. Return the logits (rows, vocabulary) of the one after it."""
        device = self._model.device
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(tokens), 1)], dim=1)
        cross_mask = {} if self._cross_mask is None else {"cross_attention_mask": self._cross_mask}
        logits = self._model(
            input_ids=torch.tensor(tokens, device=device)[:, None],
            position_ids=self._positions,
            attention_mask=self._mask,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
            **cross_mask,
        ).logits
        self._positions = self._positions + 1
        return logits[:, -1]

    def select(self, rows: Sequence[int]) -> None:
        """Continue with some of the rows only."""
        index = torch.tensor(rows, device=self._model.device)
        self._cache.reorder_cache(index)
        self._mask, self._positions = self._mask[index], self._positions[index]
        if self._cross_mask is not None:
            self._cross_mask = self._cross_mask[index]


def _gather_caches(model: Any, architecture: Architecture, left: Sequence[PromptState], longest: int) -> DynamicCache:
    """Return the prompts' keys and values from the caches of their passes, each padded on the left to ``longest``."""
    cache = new_cache(model, architecture)
    of_pass: dict[int, list[int]] = {}
    for place, prompt in enumerate(left):
        of_pass.setdefault(id(prompt.tree_pass), []).append(place)
    parts = []
    for places in of_pass.values():
        some = [left[place] for place in places]
        rows = torch.tensor([prompt.row for prompt in some], device=model.device)
        index = torch.stack([pad(prompt.places, (longest - len(prompt.places), 0)) for prompt in some])
        parts.append(
            (torch.tensor(places, device=model.device), some[0].tree_pass, rows[:, None], index.to(model.device))
        )
    first: Any = left[0].tree_pass.cache
    layers: list[Any] = [type(layer)() for layer in first.layers]
    cache.layers = layers
    for number, layer in enumerate(layers):
        like = first.layers[number].keys
        layer.lazy_initialization(like, like)
        length = like.shape[2] if number in architecture.cross_attention_layers else longest
        for name in ("keys", "values"):
            size = getattr(first.layers[number], name).shape
            gathered = like.new_empty((len(left), size[1], length, size[3]))
            for into, tree_pass, rows, index in parts:
                tensor = getattr(tree_pass.cache.layers[number], name)
                if number in architecture.cross_attention_layers:
                    gathered[into] = tensor[rows[:, 0]]
                else:  # index as (rows, places, heads, size), then restore attention's order
                    gathered[into] = tensor.transpose(1, 2)[rows, index].transpose(1, 2)
            setattr(layer, name, gathered)
    return cache
