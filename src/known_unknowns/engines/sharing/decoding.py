"""Writes replies greedily, token by token, as ``generate`` writes each of them alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from transformers import (
    GenerationConfig,
    LogitsProcessorList,
    NoRepeatNGramLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    SuppressTokensLogitsProcessor,
)

from known_unknowns.engines._letters import LetterRecorder

_NO_MATTER = {
    *("bos_token_id", "pad_token_id", "eos_token_id", "do_sample", "num_beams", "use_cache", "cache_implementation"),
    *("max_length", "max_new_tokens", "transformers_version", "_from_model_config", "trust_remote_code"),
    *("output_attentions", "output_hidden_states", "output_scores", "output_logits", "return_dict_in_generate"),
}
_PROCESSORS: dict[str, Callable[[Any, str], Any]] = {
    "repetition_penalty": lambda value, device: RepetitionPenaltyLogitsProcessor(value),
    "no_repeat_ngram_size": lambda value, device: NoRepeatNGramLogitsProcessor(value),
    "suppress_tokens": lambda value, device: SuppressTokensLogitsProcessor(value, device=device),
}


class GoesOn(Protocol):
    """Some replies in the writing: `known_unknowns.engines.sharing.rows.Rows` or `Copies`."""

    def step(self, tokens: Sequence[int]) -> torch.Tensor: ...

    def keep(self, rows: Sequence[int]) -> None: ...


@dataclass(frozen=True, slots=True)
class Rules:
    """The generation settings, as far as they change a greedy reply."""

    processors: LogitsProcessorList
    ends: frozenset[int]

    @classmethod
    def of(cls, generation: GenerationConfig, device: str) -> Rules:
        """Raises ValueError for a setting that is not known here."""
        settings = {name: value for name, value in generation.to_diff_dict().items() if name not in _NO_MATTER}
        if unknown := settings.keys() - _PROCESSORS.keys():
            raise ValueError(f"its generation settings have {', '.join(sorted(unknown))}")
        ends = generation.eos_token_id
        return cls(
            LogitsProcessorList(_PROCESSORS[name](value, device) for name, value in sorted(settings.items())),
            frozenset([ends] if isinstance(ends, int) else ends or ()),
        )

    def apply(self, written: Sequence[Sequence[int]], logits: torch.Tensor) -> torch.Tensor:
        """``written`` is all that each row holds so far, its prompt included."""
        scores = logits.float()
        if not self.processors:
            return scores
        rows = [
            self.processors(torch.tensor([list(tokens)], device=scores.device), scores[row : row + 1])
            for row, tokens in enumerate(written)
        ]
        return torch.cat(rows)


@torch.inference_mode()
def write(
    first: torch.Tensor,
    go_on: Callable[[Sequence[int]], GoesOn],
    *,
    prompts: Sequence[Sequence[int]],
    limits: Sequence[int],
    rules: Rules,
    recorder: LetterRecorder,
) -> list[list[int]]:
    """The tokens of each reply, with its end token where it came to one within its limit.

    ``first`` are the logits (replies, vocabulary) of the first tokens; ``go_on`` is called once, with the replies
    that need more than one.
    """
    replies: list[list[int]] = [[] for _ in prompts]
    alive = list(range(len(prompts)))
    logits, writing = first, None
    while True:
        scores = rules.apply([[*prompts[reply], *replies[reply]] for reply in alive], logits)
        recorder.rows = alive
        chosen = recorder(None, scores).argmax(dim=-1).tolist()
        for reply, token in zip(alive, chosen, strict=True):
            replies[reply].append(token)
        still = [
            row
            for row, reply in enumerate(alive)
            if chosen[row] not in rules.ends and len(replies[reply]) < limits[reply]
        ]
        if not still:
            return replies
        if writing is None:
            writing = go_on([alive[row] for row in still])
        elif len(still) < len(alive):
            writing.keep(still)
        alive = [alive[row] for row in still]
        logits = writing.step([chosen[row] for row in still])
