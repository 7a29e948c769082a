"""Recoloured images, so that shapes are learned independently of colours.

Some pairs of colour and shape never occur in training. A model that sees shapes in the usual colours only learns colour
and shape jointly and uses one as evidence of the other. Shapes are therefore trained in other hues and colours in the
usual ones. No recoloured object comes near the colour of a held-out pair of its shape.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable

import numpy as np

from known_unknowns_pocket.scenes import COLOURS, HELD_OUT_PAIRS, Pair

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
