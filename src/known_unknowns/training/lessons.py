"""Lessons: a picture, what is in each of its patches, and exercises or drills about it.

Everything follows from a seed. Scenes hold only `TRAINING_PAIRS` of colour and shape, and options name no others, so
what is measured on held-out pairs was never drawn nor named in training.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from known_unknowns.pocket.questions import TYPES, questions_for
from known_unknowns.scenes import TRAINING_PAIRS, Scene, SceneObject, outline, render, sample_scene
from known_unknowns.training.drills import drills
from known_unknowns.training.exercises import WORDS, Exercise, exercise

PATCH_LABELS = ("colour", "shape", "texture", "size", "centre")

SHARE_NOTHING_TO_SEE = 0.10
SHARE_NO_PICTURE = 0.05
_LEAST_COVER = 0.1  # share of a patch
_FINE = 8  # raster cells along a patch
_SHORT_SIDES = (128, 176)  # pixels: drawn somewhat finer than seen, as the benchmark's pictures are


@dataclass(frozen=True, slots=True)
class Lesson:
    """``pixels``: (side, side, 3) of uint8, None for prompts without a picture; ``patches``: (labels, patches) of
    int, by `PATCH_LABELS`, 0 for "nothing there"."""

    pixels: np.ndarray | None
    patches: np.ndarray
    exercises: tuple[Exercise, ...]


def lesson(seed: str, *, side: int, grid: int, exercises: int = 9, drilled: bool = False) -> Lesson:
    """A random lesson with so many ``exercises``, or, where it is ``drilled``, with drills in their place."""
    rng = random.Random(f"pocket-training/{seed}")
    scene = _scene(seed, rng)
    kind = rng.random()
    if kind < SHARE_NOTHING_TO_SEE:
        pixels, patches = _nothing(rng, side), np.zeros((len(PATCH_LABELS), grid * grid), dtype=np.int64)
    else:
        pixels, patches = _picture(scene, rng, side), patch_labels(scene, grid)
    if exercises and kind > 1 - SHARE_NO_PICTURE:
        pixels = None
    seen = pixels is not None and kind >= SHARE_NOTHING_TO_SEE
    if drilled:
        return Lesson(pixels, patches, drills(scene, rng, seen=seen))
    wanted = [TYPES[k % len(TYPES)] for k in range(exercises)]
    found = questions_for(scene, rng, wanted=wanted, pairs=TRAINING_PAIRS)
    return Lesson(pixels, patches, tuple(exercise(question, scene, rng, seen=seen) for question in found))


def _scene(seed: str, rng: random.Random) -> Scene:
    return sample_scene(
        f"pocket-training/{seed}",
        n_objects=rng.choice(((2, 4), (4, 6))),
        pairs=TRAINING_PAIRS,
        aspect=rng.choice((1.0, 4 / 3, 3 / 4, 3 / 2, 2 / 3, rng.uniform(0.6, 1.8))),
        nested=0.45,
        overlap=0.45,
    )


def _picture(scene: Scene, rng: random.Random, side: int) -> np.ndarray:
    shorter = rng.randint(*_SHORT_SIDES)
    width, height = (round(shorter * length) for length in scene.canvas)
    image = render(scene, width, height).resize((side, side), Image.Resampling.BICUBIC)
    return np.asarray(image)


def _nothing(rng: random.Random, side: int) -> np.ndarray:
    """Noise or one plain colour, in the forms that the noise variants take and in others."""
    draw = np.random.default_rng(rng.getrandbits(32))
    drawn_side = side * rng.choice((1, 2, 2, 3, 5))
    channels = rng.choice((1, 3))
    shape = (drawn_side, drawn_side, channels)
    kind = rng.choice(("uniform", "normal", "plain"))
    if kind == "uniform":
        values = draw.integers(0, 256, shape)
    elif kind == "normal":
        values = draw.normal(127.5, rng.uniform(16, 80), shape)
    else:
        values = np.full(shape, draw.integers(0, 256, channels))
    pixels = np.broadcast_to(np.clip(np.rint(values), 0, 255).astype(np.uint8), (drawn_side, drawn_side, 3))
    return np.asarray(Image.fromarray(pixels).resize((side, side), Image.Resampling.BICUBIC))


def patch_labels(scene: Scene, grid: int) -> np.ndarray:
    """For each patch, in rows, the look of the object that covers most of it, and whether an object's centre is in it.

    Shape (labels, patches); a look is 1 + its index in `WORDS` (a size that is neither: one more), 0 for no object.
    """
    fine = grid * _FINE
    across, down = scene.canvas
    owners = Image.new("L", (fine, fine))
    labels = np.zeros((len(PATCH_LABELS), grid * grid), dtype=np.int64)
    for number, thing in enumerate(scene.objects, start=1):
        solid = Image.new("1", (fine, fine))
        draw = ImageDraw.Draw(solid)
        for place, ring in enumerate(outline(thing)):
            draw.polygon([(x / across * fine, y / down * fine) for x, y in ring], fill=int(place == 0))
        owners.paste(number, mask=solid)
        column, row = int(thing.x / across * grid), int(thing.y / down * grid)
        labels[-1, min(row, grid - 1) * grid + min(column, grid - 1)] = 1
    cells = np.asarray(owners).reshape(grid, _FINE, grid, _FINE).swapaxes(1, 2).reshape(grid * grid, -1)
    cover = np.stack([(cells == number).mean(axis=1) for number in range(1, len(scene.objects) + 1)])
    front = cover.argmax(axis=0)
    looks = np.array([_look(thing) for thing in scene.objects]).T
    labels[:-1] = np.where(cover.max(axis=0) >= _LEAST_COVER, looks[:, front], 0)
    return labels


def _look(thing: SceneObject) -> tuple[int, ...]:
    return tuple(
        1 + (WORDS[slot].index(value) if (value := getattr(thing, slot)) in WORDS[slot] else len(WORDS[slot]))
        for slot in PATCH_LABELS[:-1]
    )
