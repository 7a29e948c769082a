"""Pictures alone, to learn looking from: a scene is drawn once and seen several times, turned and in other hues.

Drawing a scene costs three times what a step takes to learn from it. So every scene is seen in a few ways, each
mirrored and turned by chance, in its own hues or in others; nothing of this changes what a patch shows.
"""

from __future__ import annotations

import random

import numpy as np

from known_unknowns_pocket.scenes import Scene
from known_unknowns_pocket.training import active
from known_unknowns_pocket.training.lessons import (
    SHARE_NOTHING_TO_SEE,
    Lesson,
    asked_about,
    nothing,
    picture,
    sampled,
)
from known_unknowns_pocket.training.patches import Patches, patches_of

TIMES = 3
"""How often a scene is seen."""


def looks(seed: str, *, side: int, grid: int, recoloured: float, views: bool = False) -> list[Lesson]:
    """`TIMES` lessons without exercises, of one scene in HumbleBench's form, or of a picture in ActiView's (``views``).

    A share of them is ``recoloured`` (see `known_unknowns_pocket.training.recolouring`).
    """
    rng = random.Random(f"pocket-training/look/{seed}")
    if rng.random() < SHARE_NOTHING_TO_SEE:
        return [Lesson(nothing(rng, side)[None], Patches.empty(grid).labels[None], ()) for _ in range(TIMES)]
    scene, pixels, found = _drawn(seed, rng, side, grid, views=views)
    seen = (asked_about(pixels, found, scene, rng, hues=rng.random() < recoloured) for _ in range(TIMES))
    return [_turned(pixels, patches.labels, rng) for pixels, patches in seen]


def _drawn(seed: str, rng: random.Random, side: int, grid: int, *, views: bool) -> tuple[Scene, np.ndarray, Patches]:
    if not views:
        scene = sampled(seed, rng)
        return scene, picture(scene, rng, side), patches_of(scene, grid)
    scene, width, height = active.scene(seed)
    number = rng.choice((active.FULL, *active.VIEWS, *active.VIEWS))
    (pixels,) = active.pictures(scene, width, height, [number], side, gridded=False)
    return scene, pixels, patches_of(scene, grid, active.window(scene, number))


def _turned(pixels: np.ndarray, labels: np.ndarray, rng: random.Random) -> Lesson:
    """One of the eight ways in which a square can lie."""
    grid = round(labels.shape[-1] ** 0.5)
    labels = labels.reshape(-1, grid, grid)
    for turn in rng.sample((_across, _down, _over), rng.randint(0, 3)):
        pixels, labels = turn(pixels), turn(labels.transpose(1, 2, 0)).transpose(2, 0, 1)
    return Lesson(np.ascontiguousarray(pixels)[None], labels.reshape(1, len(labels), -1).copy(), ())


def _across(picture: np.ndarray) -> np.ndarray:
    return picture[:, ::-1]


def _down(picture: np.ndarray) -> np.ndarray:
    return picture[::-1]


def _over(picture: np.ndarray) -> np.ndarray:
    return picture.transpose(1, 0, 2)
