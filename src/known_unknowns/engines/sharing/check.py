"""The check that sharing gives what ``generate`` gives, in float32, at the first use of a model.

In half precision a position that is off by one changes the logits no more than rounding does, so that only a
comparison in float32 finds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch

from known_unknowns.engines._prompts import Prompt

TOLERANCE = 2e-3
"""In standard deviations of the reference's logits. Honest plans differ by some 1e-6 of them, an off-by-one position
by 0.1 and more."""

LOOKED_AT = 8
"""Of a picture's questions, how many are looked at to choose the `sample`."""


@contextmanager
def in_float32(model: Any) -> Iterator[None]:
    """The model with its weights cast up. Casting back gives the same half-precision weights, bit for bit."""
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
def reference(model: Any, inputs: Any, steps: int = 2) -> tuple[torch.Tensor, list[int]]:
    """The logits (steps, vocabulary) that ``generate`` itself sees for one prompt, and the tokens that it wrote.

    There are fewer steps where it came to the end earlier.
    """
    made = model.generate(
        **inputs.to(model.device, dtype=model.dtype),
        generation_config=model.generation_config,  # some hand on to a model that has one of its own
        max_new_tokens=steps,
        return_dict_in_generate=True,
        output_logits=True,
    )
    logits = torch.cat(list(made.logits)).float()
    return logits, made.sequences[0, -len(logits) :].tolist()


def difference(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest difference of two rows of logits, in standard deviations of the expected ones.

    Infinite where one is no number and the other is.
    """
    finite = expected.isfinite()
    if not torch.equal(finite, found.isfinite()):
        return float("inf")
    deviation = expected[finite].std().item()
    distance = (found[finite] - expected[finite]).abs().max().item()
    return distance / deviation if deviation else distance


def sample(prompts: Sequence[Prompt], most: int = 3) -> list[int]:
    """Up to ``most`` of one head's prompts: the longest, the shortest, and the first."""
    by_length = sorted(range(len(prompts)), key=lambda index: len(prompts[index].ids))
    picked = dict.fromkeys([by_length[-1], by_length[0], 0])
    return sorted(list(picked)[:most])
