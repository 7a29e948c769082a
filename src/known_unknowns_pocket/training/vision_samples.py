"""Samples for the vision stages: images without prompts.

Rendering a scene takes three times as long as a training step on it. Each scene is therefore used several times,
randomly mirrored and transposed, and in its own hues or recoloured. These transformations do not change the labels.
"""

from __future__ import annotations

import random

import numpy as np

from known_unknowns_pocket.scenes import Scene
from known_unknowns_pocket.training import actiview
from known_unknowns_pocket.training.patch_labels import Patches, patches_of
from known_unknowns_pocket.training.samples import (
    SHARE_NOTHING_TO_SEE,
    TrainingSample,
    render_pixels,
    sample_training_scene,
    uninformative_pixels,
    vary_colours,
)

VIEWS_PER_SCENE = 3
"""How often a scene is used."""
_TURNS = (np.fliplr, np.flipud, lambda image: image.swapaxes(0, 1))


def vision_samples(seed: str, *, side: int, grid: int, recoloured: float, views: bool = False) -> list[TrainingSample]:
    """Return `VIEWS_PER_SCENE` samples without prompts of one scene; they depend on ``seed`` alone.

    ``recoloured`` is the share of recoloured images (`known_unknowns_pocket.training.colours`). With ``views``, the
    scene or a view of it is rendered in ActiView's form instead of HumbleBench's.
    """
    rng = random.Random(f"pocket-training/look/{seed}")
    if rng.random() < SHARE_NOTHING_TO_SEE:
        return [
            TrainingSample(uninformative_pixels(rng, side)[None], Patches.empty(grid).labels[None], ())
            for _ in range(VIEWS_PER_SCENE)
        ]
    scene, pixels, found = _drawn(seed, rng, side, grid, views=views)
    seen = (vary_colours(pixels, found, scene, rng, hues=rng.random() < recoloured) for _ in range(VIEWS_PER_SCENE))
    return [_turned(pixels, patches.labels, rng) for pixels, patches in seen]


def _drawn(seed: str, rng: random.Random, side: int, grid: int, *, views: bool) -> tuple[Scene, np.ndarray, Patches]:
    if not views:
        scene = sample_training_scene(seed, rng)
        return scene, render_pixels(scene, rng, side), patches_of(scene, grid)
    scene, width, height = actiview.scene(seed)
    number = rng.choice((actiview.FULL, *actiview.VIEWS, *actiview.VIEWS))
    (pixels,) = actiview.image_pixels(scene, width, height, [number], side, gridded=False)
    return scene, pixels, patches_of(scene, grid, actiview.window(scene, number))


def _turned(pixels: np.ndarray, labels: np.ndarray, rng: random.Random) -> TrainingSample:
    """Return one of the eight orientations of a square."""
    grid = round(labels.shape[-1] ** 0.5)
    labels = labels.reshape(-1, grid, grid)
    for turn in rng.sample(_TURNS, rng.randint(0, 3)):
        pixels, labels = turn(pixels), turn(labels.transpose(1, 2, 0)).transpose(2, 0, 1)
    return TrainingSample(np.ascontiguousarray(pixels)[None], labels.reshape(1, len(labels), -1).copy(), ())
