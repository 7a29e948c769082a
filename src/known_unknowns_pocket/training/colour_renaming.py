"""Colours by other names, drawn anew for each step, so that no pair of colour and shape can be learnt by heart.

A text model that meets 40 pairs of colour and shape learns them as 40 things, and takes what it never met for none.
Where the colours of an image bear names that did not exist before and will not come back, it has to learn what a name
is for: to find the patches that say the same word, and to say what they say. In a share of the images each colour's
word is a stand-in: a random mixture of the real words' embeddings, as far from each other as those are. What the
patches say of their colours is mixed in the same shares, so that a stand-in in the text goes with its patches.
"""

from __future__ import annotations

import random

import torch

from known_unknowns_pocket.scenes import COLOURS

SETS = 4
"""Of stand-ins in a step; an image takes one."""


def stand_ins(rng: random.Random) -> tuple[int, ...]:
    """For each colour a stand-in of its own."""
    first = rng.randrange(SETS) * len(COLOURS)
    return tuple(rng.sample(range(first, first + len(COLOURS)), len(COLOURS)))


def mixtures(rng: random.Random) -> torch.Tensor:
    """How much of each colour is in each stand-in: (stand-ins, colours). Those of a set are at right angles."""
    noise = torch.randn(SETS, len(COLOURS), len(COLOURS), generator=torch.Generator().manual_seed(rng.getrandbits(32)))
    return torch.linalg.qr(noise)[0].flatten(0, 1)


def embeddings(colours: torch.Tensor, mixed: torch.Tensor) -> torch.Tensor:
    """Embeddings of the stand-ins, (stand-ins, width), with the mean of those of the colours, (colours, width)."""
    return colours.mean(0) + mixed @ (colours - colours.mean(0))
