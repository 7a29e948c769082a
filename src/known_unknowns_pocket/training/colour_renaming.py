"""Random names for colours, drawn for each step, so that pairs of colour and shape cannot be memorised.

A text model trained on 40 pairs of colour and shape treats them as 40 units and does not recognise other pairs. If the
colours of an image have names that occur in one step only, the model has to learn to match words with patches. For a
share of the samples each colour's word is replaced by a stand-in: a random mixture of the embeddings of the real words,
at the same mutual distances. The colour features of the patches are mixed with the same weights.
"""

from __future__ import annotations

import random

import torch

from known_unknowns_pocket.scenes import COLOURS

SETS = 4
"""Number of sets of stand-ins in a step; a sample uses one."""


def stand_ins(rng: random.Random) -> tuple[int, ...]:
    """Return a stand-in for each colour."""
    first = rng.randrange(SETS) * len(COLOURS)
    return tuple(rng.sample(range(first, first + len(COLOURS)), len(COLOURS)))


def mixtures(rng: random.Random) -> torch.Tensor:
    """Return the weights of the colours in each stand-in, (stand-ins, colours). Rows of a set are orthogonal."""
    noise = torch.randn(SETS, len(COLOURS), len(COLOURS), generator=torch.Generator().manual_seed(rng.getrandbits(32)))
    return torch.linalg.qr(noise)[0].flatten(0, 1)


def embeddings(colours: torch.Tensor, mixed: torch.Tensor) -> torch.Tensor:
    """Return embeddings of the stand-ins with the same mean as those of the colours.

    Their shapes are (stand-ins, width) and (colours, width).
    """
    return colours.mean(0) + mixed @ (colours - colours.mean(0))
