"""Greedy decoding of several replies, token by token, with the result of ``generate`` for each of them alone."""

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

_IRRELEVANT_SETTINGS = {
    *("bos_token_id", "pad_token_id", "eos_token_id", "do_sample", "num_beams", "use_cache", "cache_implementation"),
    *("max_length", "max_new_tokens", "transformers_version", "_from_model_config", "trust_remote_code"),
    *("output_attentions", "output_hidden_states", "output_scores", "output_logits", "return_dict_in_generate"),
}
_PROCESSORS: dict[str, Callable[[Any, str], Any]] = {
    "repetition_penalty": lambda value, device: RepetitionPenaltyLogitsProcessor(value),
    "no_repeat_ngram_size": lambda value, device: NoRepeatNGramLogitsProcessor(value),
    "suppress_tokens": lambda value, device: SuppressTokensLogitsProcessor(value, device=device),
}
_INDIFFERENT_TO_ORDER = (RepetitionPenaltyLogitsProcessor, SuppressTokensLogitsProcessor)


Recorder = Callable[[Sequence[int], torch.Tensor], object]
"""Receives, at each step, the indices of the unfinished replies and the scores (replies, vocabulary) of their next
token."""


class Continuation(Protocol):
    """The state of unfinished replies: `rows.RowContinuation` or `state_copies.StateCopies`."""

    def step(self, tokens: Sequence[int]) -> torch.Tensor: ...

    def select(self, rows: Sequence[int]) -> None: ...


@dataclass(frozen=True, slots=True)
class DecodingRules:
    """The generation settings that can change a greedy reply."""

    processors: LogitsProcessorList
    ends: frozenset[int]

    @classmethod
    def from_config(cls, generation: GenerationConfig, device: str) -> DecodingRules:
        """Read the settings.

        Raises
        ------
        ValueError
            A setting is not supported.
        """
        settings = {
            name: value for name, value in generation.to_diff_dict().items() if name not in _IRRELEVANT_SETTINGS
        }
        if unknown := settings.keys() - _PROCESSORS.keys():
            raise ValueError(f"its generation settings have {', '.join(sorted(unknown))}")
        ends = generation.eos_token_id
        return cls(
            LogitsProcessorList(_PROCESSORS[name](value, device) for name, value in sorted(settings.items())),
            frozenset([ends] if isinstance(ends, int) else ends or ()),
        )

    def apply(self, written: Sequence[Sequence[int]], logits: torch.Tensor) -> torch.Tensor:
        """Apply the settings to logits. ``written`` holds all tokens of each row so far, its prompt included."""
        scores = logits.float()
        if not self.processors:
            return scores
        process: Any = self.processors  # its types ask for a LongTensor, which torch.tensor does not return
        if all(isinstance(processor, _INDIFFERENT_TO_ORDER) for processor in self.processors):
            # They only ask which tokens occur, so that a row may be filled up with one of its own.
            longest = max(map(len, written))
            filled = [[*tokens, *[tokens[-1]] * (longest - len(tokens))] for tokens in written]
            return process(torch.tensor(filled, device=scores.device), scores)
        rows = [
            process(torch.tensor([list(tokens)], device=scores.device), scores[row : row + 1])
            for row, tokens in enumerate(written)
        ]
        return torch.cat(rows)


@torch.inference_mode()
def decode(
    first: torch.Tensor,
    continue_from: Callable[[Sequence[int]], Continuation],
    *,
    prompts: Sequence[Sequence[int]],
    limits: Sequence[int],
    rules: DecodingRules,
    record: Recorder | None = None,
) -> list[list[int]]:
    """Return the tokens of each reply, including the end token if it came within the limit.

    Parameters
    ----------
    first : Tensor, shape (replies, vocabulary)
        The logits of the first tokens.
    continue_from : callable
        Called once, with the indices of the replies that need more than one token.
    prompts, limits : sequence
        Each reply's prompt tokens and limit of new tokens.
    rules : DecodingRules
        The generation settings.
    record : callable, optional
        Gets the scores of each step (see `Recorder`).
    """
    replies: list[list[int]] = [[] for _ in prompts]
    alive = list(range(len(prompts)))
    logits, continuation = first, None
    while True:
        scores = rules.apply([[*prompts[reply], *replies[reply]] for reply in alive], logits)
        if record is not None:
            record(alive, scores)
        chosen = scores.argmax(dim=-1).tolist()
        for reply, token in zip(alive, chosen, strict=True):
            replies[reply].append(token)
        still = [
            row
            for row, reply in enumerate(alive)
            if chosen[row] not in rules.ends and len(replies[reply]) < limits[reply]
        ]
        if not still:
            return replies
        if continuation is None:
            continuation = continue_from([alive[row] for row in still])
        elif len(still) < len(alive):
            continuation.select(still)
        alive = [alive[row] for row in still]
        logits = continuation.step([chosen[row] for row in still])
