"""Going on from where a forward pass ended: a row for each question, a token at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import DynamicCache

from known_unknowns.engines.sharing.architecture import Architecture
from known_unknowns.engines.sharing.prefix import Prefix, new_cache
from known_unknowns.engines.sharing.token_tree import Grown


@dataclass(frozen=True, slots=True)
class Left:
    """Where a question was left: in which pass, as which of its questions, behind which prefix."""

    grown: Grown
    question: int
    prefix: Prefix

    @property
    def row(self) -> int:
        return self.grown.rows[self.question]

    @property
    def places(self) -> torch.Tensor:
        return self.grown.places[self.question]


class Rows:
    """The caches of some questions, padded on the left, so that new tokens come right behind."""

    def __init__(self, model: Any, architecture: Architecture, left: Sequence[Left]) -> None:
        self._model = model
        lengths = [len(question.places) for question in left]
        there = torch.arange(max(lengths)) >= max(lengths) - torch.tensor(lengths)[:, None]
        self._cache = _gathered(model, architecture, left, max(lengths))
        self._mask = there.long().to(model.device)
        positions = [length + question.prefix.delta for length, question in zip(lengths, left, strict=True)]
        self._positions = torch.tensor(positions, device=model.device)[:, None]
        crossings = [question.prefix.crossing for question in left]
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


def _gathered(model: Any, architecture: Architecture, left: Sequence[Left], longest: int) -> DynamicCache:
    """The questions' keys and values out of the caches of their passes, each padded on the left to ``longest``."""
    cache = new_cache(model, architecture)
    of_pass: dict[int, list[int]] = {}
    for place, question in enumerate(left):
        of_pass.setdefault(id(question.grown), []).append(place)
    parts = []
    for places in of_pass.values():
        some = [left[place] for place in places]
        rows = torch.tensor([question.row for question in some], device=model.device)
        index = torch.stack([pad(question.places, (longest - len(question.places), 0)) for question in some])
        parts.append((torch.tensor(places, device=model.device), some[0].grown, rows[:, None], index.to(model.device)))
    first = left[0].grown.cache
    cache.layers = [type(layer)() for layer in first.layers]
    for number, layer in enumerate(cache.layers):
        like = first.layers[number].keys
        layer.lazy_initialization(like, like)
        length = like.shape[2] if number in architecture.crossing else longest
        for name in ("keys", "values"):
            size = getattr(first.layers[number], name).shape
            gathered = like.new_empty((len(left), size[1], length, size[3]))
            for places, grown, rows, index in parts:
                tensor = getattr(grown.cache.layers[number], name)
                if number in architecture.crossing:
                    gathered[places] = tensor[rows[:, 0]]
                else:  # (rows, places, heads, size), then as attention wants it
                    gathered[places] = tensor.transpose(1, 2)[rows, index].transpose(1, 2)
            setattr(layer, name, gathered)
    return cache
