"""The exactness check: a way of batching gives the results of ``generate`` with each prompt alone.

Compared are the logits along the first `STEPS` tokens that ``generate`` writes, and the likelihoods of continuations,
at the first use of a model. Both prefix sharing and padded batches are checked in this way. In half precision a
position that is off by one changes the logits no more than rounding does. Only a comparison in float32 detects it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from transformers import LogitsProcessor, LogitsProcessorList

from prefix_sharing.prompts import Prompt

TOLERANCE = 2e-3
"""In standard deviations of the reference's logits. Correct plans differ by about 1e-6, a position that is off by one
causes 0.1 and more.
"""

STEPS = 4
"""Number of tokens of a reply that are compared. Some models differ in later tokens only."""

LABELS = 5
"""Number of the likeliest tokens after a prompt whose likelihoods are compared, as those of options' labels."""

MAX_CANDIDATES = 8
"""Number of a prefix's prompts among which `sample` chooses."""


Reference = tuple[torch.Tensor, list[int]]
"""The logits (steps, vocabulary) of ``generate`` for one prompt, and the tokens that it generated."""


@contextmanager
def in_float32(model: Any) -> Iterator[None]:
    """Cast the model's weights to float32. Casting back restores the half-precision weights exactly."""
    halves = [
        (weight, weight.dtype)
        for weight in chain(model.parameters(), model.buffers())
        if weight.dtype in (torch.bfloat16, torch.float16)
    ]
    try:
        for weight, _ in halves:
            weight.data = weight.data.float()
        yield
    finally:
        for weight, dtype in halves:
            weight.data = weight.data.to(dtype)


@torch.inference_mode()
def reference(model: Any, inputs: Any, steps: int = STEPS) -> Reference:
    """Return the logits (steps, vocabulary) of ``generate`` for one prompt, and the tokens that it generated.

    There are fewer steps if the reply ended earlier.
    """
    made = model.generate(
        **inputs.to(model.device, dtype=model.dtype),
        generation_config=model.generation_config,  # some models delegate to a part with its own configuration
        max_new_tokens=steps,
        return_dict_in_generate=True,
        output_logits=True,
    )
    logits = torch.cat(list(made.logits)).float()
    return logits, made.sequences[0, -len(logits) :].tolist()


class _Forced(LogitsProcessor):
    """Lets ``generate`` write given tokens, whichever are the likeliest."""

    def __init__(self, tokens: Sequence[Sequence[int]]) -> None:
        self._tokens, self._step = tokens, 0

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        forced = torch.full_like(scores, float("-inf"))
        for row, tokens in enumerate(self._tokens):
            forced[row, tokens[min(self._step, len(tokens) - 1)]] = 0
        self._step += 1
        return forced


@torch.inference_mode()
def batch_difference(model: Any, inputs: Any, expected: Sequence[Reference]) -> float:
    """Return the largest difference of a batch of ``generate`` along the tokens of its prompts alone."""
    made = model.generate(
        **inputs.to(model.device, dtype=model.dtype),
        generation_config=model.generation_config,
        max_new_tokens=max(len(tokens) for _, tokens in expected),
        logits_processor=LogitsProcessorList([_Forced([tokens for _, tokens in expected])]),
        return_dict_in_generate=True,
        output_logits=True,
    )
    worst = 0.0
    for row, (logits, _) in enumerate(expected):
        for step, of_step in enumerate(logits):
            worst = max(worst, difference(made.logits[step][row].float(), of_step))
    return worst


def likelihoods(expected: Reference) -> list[tuple[tuple[int, ...], float]]:
    """Return continuations of a prompt with their log-probabilities: its likeliest tokens, and what was generated."""
    logits, tokens = expected
    logprobs = logits.log_softmax(dim=-1)
    written = sum(logprobs[step, token].item() for step, token in enumerate(tokens))
    values, labels = logprobs[0].topk(min(LABELS, logprobs.shape[1]))
    found = [((label,), value) for label, value in zip(labels.tolist(), values.tolist(), strict=True)]
    return [*found, (tuple(tokens), written)]


def difference(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the largest difference of two rows of logits, in standard deviations of the expected ones.

    It is infinite if only one of them is finite at some place.
    """
    finite = expected.isfinite()
    if not torch.equal(finite, found.isfinite()):
        return float("inf")
    deviation = expected[finite].std().item()
    distance = (found[finite] - expected[finite]).abs().max().item()
    return distance / deviation if deviation else distance


def failure(error: Exception) -> str:
    """Return an error of a model as the reason why a way of computing is not used."""
    first_line = str(error).partition("\n")[0]
    return f"the model fails when it is computed in this way ({type(error).__name__}: {first_line})"


def sample(prompts: Sequence[Prompt], most: int = 3) -> list[int]:
    """Return the indices of up to ``most`` prompts of one head: the longest, the shortest, and the first."""
    by_length = sorted(range(len(prompts)), key=lambda index: len(prompts[index].ids))
    picked = dict.fromkeys([by_length[-1], by_length[0], 0])
    return sorted(list(picked)[:most])
