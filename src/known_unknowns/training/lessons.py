"""Lessons: a picture, what is in each of its patches, and exercises or drills about it.

Everything follows from a seed. Scenes hold only `TRAINING_PAIRS` of colour and shape, and options name no others, so
what is measured on held-out pairs was never drawn nor named in training.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from known_unknowns.pocket.questions import LETTERS, TYPES, questions_for
from known_unknowns.scenes import TRAINING_PAIRS, Scene, SceneObject, outline, render, sample_scene
from known_unknowns.training.drills import drills
from known_unknowns.training.emblems import emblem_exercises, emblem_scene
from known_unknowns.training.exercises import (
    OPEN,
    WORDS,
    Exercise,
    humblebench_exercise,
    mmsap_exercise,
    stem_exercise,
)
from known_unknowns.training.lookups import lookup
from known_unknowns.training.refusals import unanswerable

PATCH_LABELS = ("colour", "shape", "texture", "size", "centre")

NOT_ASKED = -100

SHARE_NOTHING_TO_SEE = 0.08
SHARE_NO_PICTURE = 0.04
_SHARE_OF_MMSAP = 0.35
_LETTER_WEIGHTS = (0.22, 0.22, 0.22, 0.22, 0.12)  # with the forms that take out the right option, E is 20%
_LEAST_COVER = 0.1  # share of a patch
_FINE = 8  # raster cells along a patch
_SHORT_SIDES = (128, 176)  # pixels: drawn somewhat finer than seen, as the benchmark's pictures are


@dataclass(frozen=True, slots=True)
class Portions:
    """How much is asked of a picture: `known_unknowns.training.drills`, first lines of questions alone, whole
    questions, unanswerable ones, and lookups. An emblem, in this share of the pictures, has exercises of its own."""

    drills: int = 0
    stems: int = 0
    questions: int = 0
    unanswerable: int = 0
    lookups: int = 0
    emblems: float = 0.0


@dataclass(frozen=True, slots=True)
class Lesson:
    """``pixels``: (side, side, 3) of uint8, None for prompts without a picture; ``patches``: (labels, patches) of
    int, by `PATCH_LABELS`, 0 for "nothing there", `NOT_ASKED` for all of an emblem's picture."""

    pixels: np.ndarray | None
    patches: np.ndarray
    exercises: tuple[Exercise, ...]


def lesson(seed: str, *, side: int, grid: int, portions: Portions | None = None) -> Lesson:
    """A random lesson; without ``portions`` a picture alone."""
    rng = random.Random(f"pocket-training/{seed}")
    kind = rng.random()
    emblem = None
    if portions is not None and rng.random() < portions.emblems:
        scene, emblem = emblem_scene(seed, rng, _aspect(rng))
    else:
        scene = _scene(seed, rng)
    if kind < SHARE_NOTHING_TO_SEE:
        pixels, patches = _nothing(rng, side), np.zeros((len(PATCH_LABELS), grid * grid), dtype=np.int64)
    else:
        pixels, patches = _picture(scene, rng, side), patch_labels(scene, grid)
        if emblem is not None:
            patches[:] = NOT_ASKED
    if portions is None:
        return Lesson(pixels, patches, ())
    if kind > 1 - SHARE_NO_PICTURE:
        pixels = None
    seen = pixels is not None and kind >= SHARE_NOTHING_TO_SEE
    if emblem is not None:
        asked = emblem_exercises(emblem, rng, seen=seen)
    else:
        asked = tuple(_asked(scene, portions, rng, seen=seen))
    return Lesson(pixels, patches, asked)


def recoloured(seed: str, *, side: int, grid: int) -> Lesson:
    """A picture in other hues, whose colours have no names and are not asked.

    Some colours and shapes never meet in training: here a shape is seen in any colour, so that it is told by itself.
    """
    rng = random.Random(f"pocket-training/recoloured/{seed}")
    scene = _scene(f"recoloured/{seed}", rng)
    hue, saturation, value = np.moveaxis(
        np.asarray(Image.fromarray(_picture(scene, rng, side)).convert("HSV")).astype(float), 2, 0
    )
    value = value * (1 - rng.choice((0, rng.random())) * saturation / 255)  # darkens what has a colour: the objects
    changed = (hue + rng.randrange(256)) % 256, saturation * rng.uniform(0.4, 1.0), value
    pixels = Image.fromarray(np.stack(changed, axis=2).astype(np.uint8), "HSV").convert("RGB")
    patches = patch_labels(scene, grid)
    patches[PATCH_LABELS.index("colour")] = NOT_ASKED
    return Lesson(np.asarray(pixels), patches, ())


def _asked(scene: Scene, portions: Portions, rng: random.Random, *, seen: bool) -> Iterator[Exercise]:
    made = drills(scene, rng, seen=seen)
    yield from rng.sample(made, min(portions.drills, len(made)))
    first = rng.randrange(len(TYPES))
    wanted = [TYPES[(first + k) % len(TYPES)] for k in range(portions.stems + portions.questions)]
    found = questions_for(
        scene, rng, wanted=wanted, letter=lambda _: rng.choices(LETTERS, _LETTER_WEIGHTS)[0], pairs=TRAINING_PAIRS
    )
    for question in found[: portions.questions]:
        form = mmsap_exercise if rng.random() < _SHARE_OF_MMSAP else humblebench_exercise
        yield form(question, scene, rng, seen=seen)
    if seen:
        yield from (stem_exercise(q, scene) for q in found[portions.questions :] if q.kind in OPEN)
    refused = (unanswerable(scene, rng) for _ in range(portions.unanswerable))
    yield from (one for one in refused if one is not None)
    yield from (lookup(rng) for _ in range(portions.lookups))


def _scene(seed: str, rng: random.Random) -> Scene:
    return sample_scene(
        f"pocket-training/{seed}",
        n_objects=rng.choice(((2, 4), (4, 6))),
        pairs=TRAINING_PAIRS,
        aspect=_aspect(rng),
        nested=0.45,
        overlap=0.45,
    )


def _aspect(rng: random.Random) -> float:
    return rng.choice((1.0, 4 / 3, 3 / 4, 3 / 2, 2 / 3, rng.uniform(0.6, 1.8)))


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
