"""Random names and hues of colours, so that pairs of colour and shape cannot be memorised.

Names: a text model trained on 40 pairs of colour and shape treats them as 40 units and does not recognise other pairs.
If the colours of an image have names that occur in one step only, the model has to learn to match words with patches.
For a share of the samples each colour's word is replaced by a stand-in: a random mixture of the embeddings of the real
words, at the same mutual distances. The colour features of the patches are mixed with the same weights.

Hues: a tower that sees shapes in the usual colours only uses one as evidence of the other. Shapes are therefore trained
in other hues and colours in the usual ones. No recoloured object comes near the colour of a held-out pair of its shape.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable

import numpy as np
import torch

from known_unknowns_pocket.scenes import COLOURS, HELD_OUT_PAIRS, Pair

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


NEAR = 0.15
"""Distance in RGB (each from 0 to 1) within which an object would look like a held-out pair."""
_TRIES = 12
_TINTS = (0.4, 1.1)

_RGB = {name: np.array(value) / 255 for name, value in COLOURS.items()}
_HELD_OUT = {shape: np.array([_RGB[c] for c, s in sorted(HELD_OUT_PAIRS) if s == shape]) for _, shape in HELD_OUT_PAIRS}

ColourMap = Callable[[np.ndarray], np.ndarray]


def recoloured(pixels: np.ndarray, pairs: Iterable[Pair], rng: random.Random) -> np.ndarray | None:
    """Return an image, (height, width, 3) of uint8, in other hues.

    None if every attempt came near a held-out pair.
    """
    present = sorted(set(pairs))
    for _ in range(_TRIES):
        change = colour_map(rng)
        if not any(near_held_out(change(_RGB[colour]), shape) for colour, shape in present):
            return np.rint(change(pixels / np.float32(255)) * 255).astype(np.uint8)
    return None


def near_held_out(colour: np.ndarray, shape: str) -> bool:
    """Whether an object of this colour and shape would look like a held-out pair."""
    return shape in _HELD_OUT and bool((np.linalg.norm(_HELD_OUT[shape] - colour, axis=1) < NEAR).any())


def colour_map(rng: random.Random) -> ColourMap:
    """Return a random change of hue and saturation.

    It may darken hues. It leaves greys, and so the background, as they are.
    """
    turn, tint = rng.uniform(0, 2 * math.pi), rng.uniform(*_TINTS)
    darkening = rng.choice((0.0, rng.random()))
    cos, sin = math.cos(turn), math.sin(turn) / math.sqrt(3)
    skew = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    rotation = (np.full((3, 3), (1 - cos) / 3) + cos * np.eye(3) + sin * skew).astype(np.float32)

    def change(colours: np.ndarray) -> np.ndarray:
        turned = colours @ rotation.T
        grey = turned.mean(axis=-1, keepdims=True)
        turned = grey + (turned - grey) * tint
        chroma = np.ptp(turned, axis=-1, keepdims=True)
        return np.clip(turned * (1 - darkening * np.clip(chroma, 0, 1)), 0, 1)

    return change
