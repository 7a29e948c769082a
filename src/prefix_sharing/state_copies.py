"""Continuation for models with recurrent layers, whose state cannot be split by tokens: one copy for each prompt.

Only prompts of equal length share a pass, because padding would change the state.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch

from prefix_sharing.prefix import Prefix


class StateCopies:
    """Prompts of equal length after one prefix. ``logits`` (prompts, vocabulary) follow the last token."""

    @torch.inference_mode()
    def __init__(self, model: Any, prefix: Prefix, suffixes: Sequence[Sequence[int]]) -> None:
        self._model = model
        states: Any = copy.deepcopy(prefix.cache)
        states.reorder_cache(torch.zeros(len(suffixes), dtype=torch.long, device=model.device))
        self._cache = states
        self._seen = prefix.length
        self._delta = prefix.delta
        self.logits = self._forward(torch.tensor([list(suffix) for suffix in suffixes], device=model.device))

    def step(self, tokens: Sequence[int]) -> torch.Tensor:
        """Append each row's next token. Return the logits (rows, vocabulary) of the one after it."""
        return self._forward(torch.tensor(tokens, device=self._model.device)[:, None])

    def select(self, rows: Sequence[int]) -> None:
        """Continue with some of the rows only."""
        self._cache.reorder_cache(torch.tensor(rows, device=self._model.device))

    def _forward(self, tokens: torch.Tensor) -> torch.Tensor:
        count, length = tokens.shape
        places = self._seen + torch.arange(length, device=tokens.device)
        self._seen += length
        return self._model(
            input_ids=tokens,
            position_ids=(places + self._delta).expand(count, length),
            attention_mask=tokens.new_ones(count, self._seen),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
