"""The check that prefix sharing gives the results of ``generate``, in float32, at the first use of a model.

In half precision a position that is off by one changes the logits no more than rounding does. Only a comparison in
float32 detects it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch

from prefix_sharing.prompts import Prompt

TOLERANCE = 2e-3
"""In standard deviations of the reference's logits. Correct plans differ by about 1e-6, a position that is off by one
causes 0.1 and more.
"""

MAX_CANDIDATES = 8
"""Number of a prefix's prompts among which `sample` chooses."""


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
def reference(model: Any, inputs: Any, steps: int = 2) -> tuple[torch.Tensor, list[int]]:
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


def sample(prompts: Sequence[Prompt], most: int = 3) -> list[int]:
    """Return the indices of up to ``most`` prompts of one head: the longest, the shortest, and the first."""
    by_length = sorted(range(len(prompts)), key=lambda index: len(prompts[index].ids))
    picked = dict.fromkeys([by_length[-1], by_length[0], 0])
    return sorted(list(picked)[:most])
