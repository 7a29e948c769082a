"""Lessons: an image, what is in each of its patches, and exercises or drills about it.

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
from known_unknowns_pocket.training.actiview_replies import actiview_prompt
from known_unknowns_pocket.training.colour_renaming import stand_ins
from known_unknowns_pocket.training.emblem_prompts import emblem_prompts, emblem_scene
from known_unknowns_pocket.training.patch_labels import NOT_ASKED, PATCH_LABELS, Patches, patches_of
from known_unknowns_pocket.training.prompts import (
    OPEN,
    TrainingPrompt,
    humblebench_prompt,
    mmsap_prompt,
    stem_prompt,
    with_random_answer,
    with_refusal,
)
from known_unknowns_pocket.training.recolouring import recoloured
from known_unknowns_pocket.training.subtasks import count_prompts, subtask_prompts
from known_unknowns_pocket.training.text_tasks import text_task_prompt
from known_unknowns_pocket.training.unanswerable_prompts import unanswerable_prompt

SHARE_NOTHING_TO_SEE = 0.08
SHARE_NO_PICTURE = 0.04
_SHARE_OF_MMSAP = 0.35
_SHARE_LISTED = 0.2  # of the whole questions that can be: in ActiView's form
_SHARE_CROWDED = 0.7
_LETTER_WEIGHTS = (0.22, 0.22, 0.22, 0.22, 0.12)  # with the forms that take out the right option, E is 20%
_SHORT_SIDES = (128, 176)  # pixels: drawn somewhat finer than seen, as the benchmark's images are


@dataclass(frozen=True, slots=True)
class SampleMix:
    """How much is asked of an image: `subtasks` (``counts``: more of those on numbers), first
    lines of questions alone, whole questions, unanswerable ones, and lookups. An emblem, in a share of the images,
    has exercises of its own. A share of the others is ``recoloured``: nothing there names or asks for a colour. In a
    share of the rest the colours are ``renamed`` (see `renaming`). What is below 1 is the
    chance of one. ``refused_share`` is the share of what is to be answered that is refused, and ``guessed_share`` the share of
    what is to be refused that is answered by chance: for models that refuse too much, or never."""

    subtasks: int = 0
    counts: int = 0
    stems: int = 0
    questions: int = 0
    unanswerable: float = 0
    text_tasks: float = 0
    emblems: float = 0.0
    recoloured: float = 0.0
    renamed: float = 0.0
    refused_share: float = 0.0
    guessed_share: float = 0.0

    @property
    def asks(self) -> bool:
        """Whether it has any text."""
        return any((self.subtasks, self.stems, self.questions, self.unanswerable, self.text_tasks))


IMAGES_ONLY = SampleMix(recoloured=0.75)
"""Images alone."""

IMAGE_PLACE = None
"""Where an image stands in `TrainingSample.prefix`."""


@dataclass(frozen=True, slots=True)
class TrainingSample:
    """``pixels``: (images, side, side, 3) of uint8, none for prompts without an image; ``patches``: (images,
    labels, patches) of int, by `PATCH_LABELS`; ``shown``: for each object of the scene, the patches that show it, and
    ``anchors``: the one of them that is nearest to its middle (-1: it is hidden). Patches are counted through all of
    the images. ``prefix``: what comes before the exercises, texts and images (`IMAGE_PLACE`). ``names``: for each
    colour, the stand-in that it is called by; none where all have their own names."""

    pixels: np.ndarray
    patches: np.ndarray
    prompts: tuple[TrainingPrompt, ...]
    shown: tuple[tuple[int, ...], ...] = ()
    anchors: tuple[int, ...] = ()
    prefix: tuple[str | None, ...] = (IMAGE_PLACE,)
    names: tuple[int, ...] = ()


def draw_sample(seed: str, *, side: int, grid: int, mix: SampleMix | None = None) -> TrainingSample:
    """A random lesson; without ``mix`` nothing is asked."""
    rng = random.Random(f"pocket-training/{seed}")
    kind = rng.random()
    mix = mix or SampleMix()
    if rng.random() < mix.emblems:
        scene, emblem = emblem_scene(seed, rng, _aspect(rng))
        pixels = render_pixels(scene, rng, side)
        patches = np.full((len(PATCH_LABELS), grid * grid), NOT_ASKED)
        found, hues = Patches(patches, (), ()), False
    else:
        scene, emblem = sample_training_scene(seed, rng), None
        pixels, found = render_pixels(scene, rng, side), patches_of(scene, grid)
        hues = kind >= SHARE_NOTHING_TO_SEE and rng.random() < mix.recoloured
    if kind < SHARE_NOTHING_TO_SEE:
        pixels, found = uninformative_pixels(rng, side), Patches.empty(grid)
    elif emblem is None:
        pixels, found = vary_colours(pixels, found, scene, rng, hues=hues)
    seen = SHARE_NOTHING_TO_SEE <= kind <= 1 - SHARE_NO_PICTURE
    if emblem is not None:
        asked = emblem_prompts(emblem, rng, seen=seen)
    elif hues:
        asked = _asked_without_colours(scene, mix, rng) if seen else ()
    else:
        asked = _asked(scene, mix, rng, seen=seen)
    wanted = tuple(_as_wanted(one, mix, rng) for one in asked)
    shows = kind <= 1 - SHARE_NO_PICTURE
    own_names = hues or emblem is not None or rng.random() >= mix.renamed
    return TrainingSample(
        pixels[None] if shows else np.zeros((0, side, side, 3), np.uint8),
        found.labels[None] if shows else np.zeros((0, *found.labels.shape), np.int64),
        wanted,
        found.shown,
        found.anchors,
        (IMAGE_PLACE,) if shows else (),
        () if own_names else stand_ins(rng),
    )


def _as_wanted(one: TrainingPrompt, mix: SampleMix, rng: random.Random) -> TrainingPrompt:
    if not one.reply:
        return one
    drawn = rng.random()
    if one.refuses:
        return with_random_answer(one, random.Random(drawn)) if drawn < mix.guessed_share else one
    return with_refusal(one) if drawn < mix.refused_share else one


def vary_colours(
    pixels: np.ndarray, found: Patches, scene: Scene, rng: random.Random, *, hues: bool
) -> tuple[np.ndarray, Patches]:
    """The image, in other ``hues`` or as it is, with the patches' labels that are asked: no colours in the one, no
    shapes in the other (see `known_unknowns_pocket.training.recolouring`)."""
    other = recoloured(pixels, [thing.pair for thing in scene.objects], rng) if hues else None
    labels = found.labels.copy()
    unasked = labels[PATCH_LABELS.index("colour" if hues else "shape")]
    unasked[unasked > 0] = NOT_ASKED
    return (pixels if other is None else other), Patches(labels, found.shown, found.anchors)


def _asked(scene: Scene, mix: SampleMix, rng: random.Random, *, seen: bool) -> Iterator[TrainingPrompt]:
    made = subtask_prompts(scene, rng, seen=seen)
    yield from rng.sample(made, min(mix.subtasks, len(made)))
    if seen and mix.counts:
        yield from count_prompts(scene, rng, mix.counts)
    first = rng.randrange(len(TYPES))
    wanted = [TYPES[(first + k) % len(TYPES)] for k in range(mix.stems + mix.questions)]
    found = questions_for(scene, rng, wanted=wanted, letter=_letter(rng), pairs=TRAINING_PAIRS)
    for question in found[: mix.questions]:
        yield _whole(question, scene, rng, seen=seen)
    if seen:
        yield from (stem_prompt(question, scene) for question in found[mix.questions :] if question.kind in OPEN)
    refused = (unanswerable_prompt(scene, rng) for _ in range(_times(mix.unanswerable, rng)))
    yield from (one for one in refused if one is not None)
    yield from (text_task_prompt(rng) for _ in range(_times(mix.text_tasks, rng)))


def _times(mean: float, rng: random.Random) -> int:
    return int(mean) + (rng.random() < mean % 1)


_NAMES_A_COLOUR = re.compile(rf"\b(?:{'|'.join(COLOURS)}|colour)\b")


def _asked_without_colours(scene: Scene, mix: SampleMix, rng: random.Random) -> Iterator[TrainingPrompt]:
    """Drills, first lines and whole questions that name no colour and ask for none."""
    made = [*subtask_prompts(scene, rng, seen=True), *subtask_prompts(scene, rng, seen=True)]
    found = [
        question
        for question in questions_for(scene, rng, wanted=TYPES * 4, letter=_letter(rng), pairs=TRAINING_PAIRS)
        if not _NAMES_A_COLOUR.search(question.text)
    ]
    made += [stem_prompt(question, scene) for question in found[mix.questions :] if question.kind in OPEN]
    plain = {one.prompt: one for one in made if not _NAMES_A_COLOUR.search(one.prompt)}
    for one in list(plain.values())[: mix.subtasks + mix.stems]:
        words = None if one.words is None else {slot: k for slot, k in one.words.items() if slot != "colour"}
        yield replace(one, words=words)
    for question in found[: mix.questions]:
        yield _whole(question, scene, rng, seen=True)


def _whole(question: Question, scene: Scene, rng: random.Random, *, seen: bool) -> TrainingPrompt:
    if seen and question.kind in OPEN and question.truth in question.options and rng.random() < _SHARE_LISTED:
        return actiview_prompt(question, scene, rng)
    form = mmsap_prompt if rng.random() < _SHARE_OF_MMSAP else humblebench_prompt
    return form(question, scene, rng, seen=seen)


def _letter(rng: random.Random) -> Callable[[str], str]:
    return lambda _: rng.choices(LETTERS, _LETTER_WEIGHTS)[0]


def sample_training_scene(seed: str, rng: random.Random) -> Scene:
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


def render_pixels(scene: Scene, rng: random.Random, side: int) -> np.ndarray:
    shorter = rng.randint(*_SHORT_SIDES)
    width, height = (round(shorter * length) for length in scene.canvas)
    image = render(scene, width, height).resize((side, side), Image.Resampling.BICUBIC)
    return np.asarray(image)


def uninformative_pixels(rng: random.Random, side: int) -> np.ndarray:
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
