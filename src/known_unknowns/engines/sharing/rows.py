"""Going on from where a forward pass ended: a row for each question, a token at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from known_unknowns.engines.sharing.architecture import Architecture
from known_unknowns.engines.sharing.forest import Grown
from known_unknowns.engines.sharing.prefix import Prefix, new_cache


class Rows:
    """The caches of some questions out of a `Grown`, padded on the left, so that new tokens come right behind."""

    def __init__(
        self, model: Any, architecture: Architecture, grown: Grown, questions: Sequence[int], prefixes: Sequence[Prefix]
    ) -> None:
        """``prefixes`` are the questions' own, in the order of ``questions``."""
        self._model = model
        places = [grown.places[question] for question in questions]
        longest = max(map(len, places))
        index = torch.stack([torch.cat([place.new_zeros(longest - len(place)), place]) for place in places])
        there = torch.stack([torch.arange(longest) >= longest - len(place) for place in places])
        rows = torch.tensor([grown.rows[question] for question in questions])
        self._cache = _picked(model, architecture, grown, rows.to(model.device), index.to(model.device))
        self._mask = there.long().to(model.device)
        positions = [len(place) + prefix.delta for place, prefix in zip(places, prefixes, strict=True)]
        self._positions = torch.tensor(positions, device=model.device)[:, None]
        crossings = [prefix.crossing for prefix in prefixes]
        self._crossing = None if crossings[0] is None else torch.cat(crossings).to(model.device)

    def step(self, tokens: Sequence[int]) -> torch.Tensor:
        """Give each row its next token. Returns the logits (rows, vocabulary) of the one after."""
        device = self._model.device
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(tokens), 1)], dim=1)
        crossing = {} if self._crossing is None else {"cross_attention_mask": self._crossing}
        logits = self._model(
            input_ids=torch.tensor(tokens, device=device)[:, None],
            position_ids=self._positions,
            attention_mask=self._mask,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
            **crossing,
        ).logits
        self._positions = self._positions + 1
        return logits[:, -1]

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with some of the rows only."""
        index = torch.tensor(rows, device=self._model.device)
        self._cache.reorder_cache(index)
        self._mask, self._positions = self._mask[index], self._positions[index]
        if self._crossing is not None:
            self._crossing = self._crossing[index]


def _picked(model: Any, architecture: Architecture, grown: Grown, rows: torch.Tensor, index: torch.Tensor) -> Any:
    cache = new_cache(model, architecture)
    cache.layers = [type(layer)() for layer in grown.cache.layers]
    for number, (layer, old) in enumerate(zip(cache.layers, grown.cache.layers, strict=True)):
        layer.lazy_initialization(old.keys, old.values)
        for name in ("keys", "values"):
            tensor = getattr(old, name)
            if number in architecture.crossing:
                picked = tensor[rows]
            else:  # (rows, places, heads, size), then as attention wants it
                picked = tensor.transpose(1, 2)[rows[:, None], index].transpose(1, 2)
            setattr(layer, name, picked)
    return cache
