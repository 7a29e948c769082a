"""Training samples in the forms of HumbleBench and MM-SAP: an image, labels of its patches, and prompts about it.

A sample depends on its seed alone. Scenes and options contain only `TRAINING_PAIRS` of colour and shape, so that
accuracy on held-out pairs is measured on pairs that were neither rendered nor named in training.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from known_unknowns_pocket.benchmarks.questions import LETTERS, TYPES, Question, questions_for
from known_unknowns_pocket.scenes import COLOURS, TRAINING_PAIRS, Scene, render, sample_scene
from known_unknowns_pocket.training.colours import recoloured, stand_ins
from known_unknowns_pocket.training.mmsap_prompts import emblem_prompts, emblem_scene, unanswerable_prompt
from known_unknowns_pocket.training.patch_labels import NOT_ASKED, PATCH_LABELS, Patches, patches_of
from known_unknowns_pocket.training.prompts import (
    OPEN,
    TrainingPrompt,
    actiview_prompt,
    humblebench_prompt,
    mmsap_prompt,
    stem_prompt,
    with_confidence,
    with_random_answer,
    with_refusal,
)
from known_unknowns_pocket.training.subtasks import count_prompts, subtask_prompts, text_task_prompt

SHARE_NOTHING_TO_SEE = 0.08
SHARE_NO_IMAGE = 0.04
_SHARE_OF_MMSAP = 0.35
_SHARE_LISTED = 0.2  # share in ActiView's form of the whole questions that allow it
_SHARE_CROWDED = 0.7
_LETTER_WEIGHTS = (0.22, 0.22, 0.22, 0.22, 0.12)  # E is 20% after the forms that remove the right option
_SHORT_SIDES = (128, 176)  # pixels; larger than the model's input, as the benchmark's images are


@dataclass(frozen=True, slots=True)
class SampleMix:
    """How many prompts of each kind a sample has. A value below 1 is a probability."""

    subtasks: int = 0  # subtask prompts (`known_unknowns_pocket.training.subtasks`)
    counts: int = 0  # further subtask prompts that ask for a number
    stems: int = 0  # stems of questions without their options
    questions: int = 0  # whole questions
    unanswerable: float = 0  # questions that only the refusal answers
    text_tasks: float = 0  # prompts that need no image (`known_unknowns_pocket.training.subtasks`)
    emblems: float = 0.0  # share of the samples that show an emblem. They have prompts of their own.
    # share of the other samples whose image is recoloured. Their prompts do not mention colours.
    recoloured: float = 0.0
    # share of the remaining samples whose colours have other names (`known_unknowns_pocket.training.colours`)
    renamed: float = 0.0
    refused_share: float = 0.0  # share of the answerable questions whose reply is replaced by a refusal
    guessed_share: float = 0.0  # share of the questions to be refused whose reply is replaced by a random option
    confidence_share: float = 0.0  # share of the questions asked with an answer, and replied to with a confidence in it

    @property
    def asks(self) -> bool:
        """Whether samples have any prompt."""
        return any((self.subtasks, self.stems, self.questions, self.unanswerable, self.text_tasks))


IMAGES_ONLY = SampleMix(recoloured=0.75)
"""The mix of the vision stages, without prompts."""

IMAGE_PLACE = None
"""The place of an image in `TrainingSample.prefix`."""


@dataclass(frozen=True, slots=True)
class TrainingSample:
    """One sample: images and prompts about them."""

    pixels: np.ndarray  # shape (images, side, side, 3): the images; none for prompts without an image
    patches: np.ndarray  # shape (images, labels, patches): labels by `PATCH_LABELS`
    prompts: tuple[TrainingPrompt, ...]  # the prompts after the prefix
    # for each object of the scene, the patches that show it, numbered through all images
    shown: tuple[tuple[int, ...], ...] = ()
    # for each object, the patch of ``shown`` nearest to its centre; -1 if the object is hidden
    anchors: tuple[int, ...] = ()
    prefix: tuple[str | None, ...] = (IMAGE_PLACE,)  # texts and images (`IMAGE_PLACE`) before the prompts
    names: tuple[int, ...] = ()  # for each colour, the stand-in that names it; empty if colours have their own names


def draw_sample(seed: str, *, side: int, grid: int, mix: SampleMix) -> TrainingSample:
    """Return a random sample that depends on ``seed`` alone.

    ``side`` is the side of the image in pixels, ``grid`` the number of patches along it.
    """
    rng = random.Random(f"pocket-training/{seed}")
    kind = rng.random()
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
    seen = SHARE_NOTHING_TO_SEE <= kind <= 1 - SHARE_NO_IMAGE
    asked: Iterable[TrainingPrompt]
    if emblem is not None:
        asked = emblem_prompts(emblem, rng, seen=seen)
    elif hues:
        asked = _asked_without_colours(scene, mix, rng) if seen else ()
    else:
        asked = _asked(scene, mix, rng, seen=seen)
    wanted = tuple(_as_wanted(one, mix, rng) for one in asked)
    shows = kind <= 1 - SHARE_NO_IMAGE
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
    if drawn < mix.confidence_share:
        return with_confidence(one, random.Random(drawn))
    if one.refuses:
        return with_random_answer(one, random.Random(drawn)) if drawn < mix.guessed_share else one
    return with_refusal(one) if drawn < mix.refused_share else one


def vary_colours(
    pixels: np.ndarray, found: Patches, scene: Scene, rng: random.Random, *, hues: bool
) -> tuple[np.ndarray, Patches]:
    """Return the image, recoloured if ``hues``, and its patches with the labels that are not trained masked.

    A recoloured image has no colour labels, any other image no shape labels
    (`known_unknowns_pocket.training.colours`).
    """
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
    """Yield subtasks, stems and whole questions that neither name a colour nor ask for one."""
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
    """Return a scene of training pairs."""
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
    """Render a scene and resize it to ``side`` squared."""
    shorter = rng.randint(*_SHORT_SIDES)
    width, height = (round(shorter * length) for length in scene.canvas)
    image = render(scene, width, height).resize((side, side), Image.Resampling.BICUBIC)
    return np.asarray(image)


def uninformative_pixels(rng: random.Random, side: int) -> np.ndarray:
    """Return noise or one plain colour, in the forms of the noise variants and in others."""
    draw = np.random.default_rng(rng.getrandbits(32))
    drawn_side = side * rng.choice((1, 2, 2, 3, 5))
    channels = rng.choice((1, 3))
    shape = (drawn_side, drawn_side, channels)
    kind = rng.choice(("uniform", "normal", "plain"))
    values: np.ndarray
    if kind == "uniform":
        values = draw.integers(0, 256, shape)
    elif kind == "normal":
        values = draw.normal(127.5, rng.uniform(16, 80), shape)
    else:
        values = np.full(shape, draw.integers(0, 256, channels))
    pixels = np.broadcast_to(np.clip(np.rint(values), 0, 255).astype(np.uint8), (drawn_side, drawn_side, 3))
    return np.asarray(Image.fromarray(pixels).resize((side, side), Image.Resampling.BICUBIC))
