"""Lessons: a picture, what is in each of its patches, and exercises or drills about it.

Everything follows from a seed. Scenes hold only `TRAINING_PAIRS` of colour and shape, and options name no others, so
what is measured on held-out pairs was never drawn nor named in training.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from known_unknowns_pocket.benchmarks.questions import LETTERS, TYPES, Question, questions_for
from known_unknowns_pocket.scenes import COLOURS, TRAINING_PAIRS, Scene, render, sample_scene
from known_unknowns_pocket.training.emblems import emblem_exercises, emblem_scene
from known_unknowns_pocket.training.listing import listed_exercise
from known_unknowns_pocket.training.patches import NOT_ASKED, PATCH_LABELS, Patches, patches_of
from known_unknowns_pocket.training.prompts import (
    OPEN,
    Exercise,
    doubted,
    guessed,
    humblebench_exercise,
    mmsap_exercise,
    stem_exercise,
)
from known_unknowns_pocket.training.recolouring import recoloured
from known_unknowns_pocket.training.refusals import unanswerable
from known_unknowns_pocket.training.renaming import stand_ins
from known_unknowns_pocket.training.subtasks import counts, drills
from known_unknowns_pocket.training.text_tasks import lookup

SHARE_NOTHING_TO_SEE = 0.08
SHARE_NO_PICTURE = 0.04
_SHARE_OF_MMSAP = 0.35
_SHARE_LISTED = 0.2  # of the whole questions that can be: in ActiView's form
_SHARE_CROWDED = 0.7
_LETTER_WEIGHTS = (0.22, 0.22, 0.22, 0.22, 0.12)  # with the forms that take out the right option, E is 20%
_SHORT_SIDES = (128, 176)  # pixels: drawn somewhat finer than seen, as the benchmark's pictures are


@dataclass(frozen=True, slots=True)
class Portions:
    """How much is asked of a picture: `subtasks` (``counts``: more of those on numbers), first
    lines of questions alone, whole questions, unanswerable ones, and lookups. An emblem, in a share of the pictures,
    has exercises of its own. A share of the others is ``recoloured``: nothing there names or asks for a colour. In a
    share of the rest the colours are ``renamed`` (see `renaming`). What is below 1 is the
    chance of one. ``doubting`` is the share of what is to be answered that is refused, and ``guessing`` the share of
    what is to be refused that is answered by chance: for models that refuse too much, or never."""

    drills: int = 0
    counts: int = 0
    stems: int = 0
    questions: int = 0
    unanswerable: float = 0
    lookups: float = 0
    emblems: float = 0.0
    recoloured: float = 0.0
    renamed: float = 0.0
    doubting: float = 0.0
    guessing: float = 0.0

    @property
    def asks(self) -> bool:
        """Whether it has any text."""
        return any((self.drills, self.stems, self.questions, self.unanswerable, self.lookups))


LOOK = Portions(recoloured=0.75)
"""Pictures alone."""

PICTURE = None
"""Where a picture stands in `Lesson.prefix`."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """``pixels``: (pictures, side, side, 3) of uint8, none for prompts without a picture; ``patches``: (pictures,
    labels, patches) of int, by `PATCH_LABELS`; ``shown``: for each object of the scene, the patches that show it, and
    ``anchors``: the one of them that is nearest to its middle (-1: it is hidden). Patches are counted through all of
    the pictures. ``prefix``: what comes before the exercises, texts and pictures (`PICTURE`). ``names``: for each
    colour, the stand-in that it is called by; none where all have their own names."""

    pixels: np.ndarray
    patches: np.ndarray
    exercises: tuple[Exercise, ...]
    shown: tuple[tuple[int, ...], ...] = ()
    anchors: tuple[int, ...] = ()
    prefix: tuple[str | None, ...] = (PICTURE,)
    names: tuple[int, ...] = ()


def lesson(seed: str, *, side: int, grid: int, portions: Portions | None = None) -> Lesson:
    """A random lesson; without ``portions`` nothing is asked."""
    rng = random.Random(f"pocket-training/{seed}")
    kind = rng.random()
    portions = portions or Portions()
    if rng.random() < portions.emblems:
        scene, emblem = emblem_scene(seed, rng, _aspect(rng))
        pixels = picture(scene, rng, side)
        patches = np.full((len(PATCH_LABELS), grid * grid), NOT_ASKED)
        found, hues = Patches(patches, (), ()), False
    else:
        scene, emblem = sampled(seed, rng), None
        pixels, found = picture(scene, rng, side), patches_of(scene, grid)
        hues = kind >= SHARE_NOTHING_TO_SEE and rng.random() < portions.recoloured
    if kind < SHARE_NOTHING_TO_SEE:
        pixels, found = nothing(rng, side), Patches.empty(grid)
    elif emblem is None:
        pixels, found = asked_about(pixels, found, scene, rng, hues=hues)
    seen = SHARE_NOTHING_TO_SEE <= kind <= 1 - SHARE_NO_PICTURE
    if emblem is not None:
        asked = emblem_exercises(emblem, rng, seen=seen)
    elif hues:
        asked = _asked_without_colours(scene, portions, rng) if seen else ()
    else:
        asked = _asked(scene, portions, rng, seen=seen)
    wanted = tuple(_as_wanted(one, portions, rng) for one in asked)
    shows = kind <= 1 - SHARE_NO_PICTURE
    own_names = hues or emblem is not None or rng.random() >= portions.renamed
    return Lesson(
        pixels[None] if shows else np.zeros((0, side, side, 3), np.uint8),
        found.labels[None] if shows else np.zeros((0, *found.labels.shape), np.int64),
        wanted,
        found.shown,
        found.anchors,
        (PICTURE,) if shows else (),
        () if own_names else stand_ins(rng),
    )


def _as_wanted(one: Exercise, portions: Portions, rng: random.Random) -> Exercise:
    if not one.reply:
        return one
    drawn = rng.random()
    if one.refuses:
        return guessed(one, random.Random(drawn)) if drawn < portions.guessing else one
    return doubted(one) if drawn < portions.doubting else one


def asked_about(
    pixels: np.ndarray, found: Patches, scene: Scene, rng: random.Random, *, hues: bool
) -> tuple[np.ndarray, Patches]:
    """The picture, in other ``hues`` or as it is, with the patches' labels that are asked: no colours in the one, no
    shapes in the other (see `known_unknowns_pocket.training.recolouring`)."""
    other = recoloured(pixels, [thing.pair for thing in scene.objects], rng) if hues else None
    labels = found.labels.copy()
    unasked = labels[PATCH_LABELS.index("colour" if hues else "shape")]
    unasked[unasked > 0] = NOT_ASKED
    return (pixels if other is None else other), Patches(labels, found.shown, found.anchors)


def _asked(scene: Scene, portions: Portions, rng: random.Random, *, seen: bool) -> Iterator[Exercise]:
    made = drills(scene, rng, seen=seen)
    yield from rng.sample(made, min(portions.drills, len(made)))
    if seen and portions.counts:
        yield from counts(scene, rng, portions.counts)
    first = rng.randrange(len(TYPES))
    wanted = [TYPES[(first + k) % len(TYPES)] for k in range(portions.stems + portions.questions)]
    found = questions_for(scene, rng, wanted=wanted, letter=_letter(rng), pairs=TRAINING_PAIRS)
    for question in found[: portions.questions]:
        yield _whole(question, scene, rng, seen=seen)
    if seen:
        yield from (stem_exercise(question, scene) for question in found[portions.questions :] if question.kind in OPEN)
    refused = (unanswerable(scene, rng) for _ in range(_times(portions.unanswerable, rng)))
    yield from (one for one in refused if one is not None)
    yield from (lookup(rng) for _ in range(_times(portions.lookups, rng)))


def _times(mean: float, rng: random.Random) -> int:
    return int(mean) + (rng.random() < mean % 1)


_NAMES_A_COLOUR = re.compile(rf"\b(?:{'|'.join(COLOURS)}|colour)\b")


def _asked_without_colours(scene: Scene, portions: Portions, rng: random.Random) -> Iterator[Exercise]:
    """Drills, first lines and whole questions that name no colour and ask for none."""
    made = [*drills(scene, rng, seen=True), *drills(scene, rng, seen=True)]
    found = [
        question
        for question in questions_for(scene, rng, wanted=TYPES * 4, letter=_letter(rng), pairs=TRAINING_PAIRS)
        if not _NAMES_A_COLOUR.search(question.text)
    ]
    made += [stem_exercise(question, scene) for question in found[portions.questions :] if question.kind in OPEN]
    plain = {one.prompt: one for one in made if not _NAMES_A_COLOUR.search(one.prompt)}
    for one in list(plain.values())[: portions.drills + portions.stems]:
        words = None if one.words is None else {slot: k for slot, k in one.words.items() if slot != "colour"}
        yield replace(one, words=words)
    for question in found[: portions.questions]:
        yield _whole(question, scene, rng, seen=True)


def _whole(question: Question, scene: Scene, rng: random.Random, *, seen: bool) -> Exercise:
    if seen and question.kind in OPEN and question.truth in question.options and rng.random() < _SHARE_LISTED:
        return listed_exercise(question, scene, rng)
    form = mmsap_exercise if rng.random() < _SHARE_OF_MMSAP else humblebench_exercise
    return form(question, scene, rng, seen=seen)


def _letter(rng: random.Random) -> Callable[[str], str]:
    return lambda _: rng.choices(LETTERS, _LETTER_WEIGHTS)[0]


def sampled(seed: str, rng: random.Random) -> Scene:
    return sample_scene(
        f"pocket-training/{seed}",
        n_objects=(4, 6) if rng.random() < _SHARE_CROWDED else (2, 4),
        pairs=TRAINING_PAIRS,
        aspect=_aspect(rng),
        nested=0.45,
        overlap=0.45,
    )


def _aspect(rng: random.Random) -> float:
    return rng.choice((1.0, 4 / 3, 3 / 4, 3 / 2, 2 / 3, rng.uniform(0.6, 1.8)))


def picture(scene: Scene, rng: random.Random, side: int) -> np.ndarray:
    shorter = rng.randint(*_SHORT_SIDES)
    width, height = (round(shorter * length) for length in scene.canvas)
    image = render(scene, width, height).resize((side, side), Image.Resampling.BICUBIC)
    return np.asarray(image)


def nothing(rng: random.Random, side: int) -> np.ndarray:
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
