"""Training samples in ActiView's form: several images in a prompt, and replies that select the next image.

Scenes are sampled as in the pocket benchmark, but without held-out pairs of colour and shape, and rendered at a
quarter of their size, since no view is larger than that for the model. A reply is the answer in words with its
letter, the views that hold a clue, or whether a view is missing.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from PIL import Image, ImageDraw

from known_unknowns_benchmarks.actiview import prompts as prompts
from known_unknowns_pocket.benchmarks import actiview_questions
from known_unknowns_pocket.benchmarks import actiview_scenes as drawing
from known_unknowns_pocket.scenes import COLOURS, HELD_OUT_PAIRS, SHAPES, TRAINING_PAIRS, Scene, render
from known_unknowns_pocket.scenes.model import Box
from known_unknowns_pocket.training.actiview_replies import MARK, marks, reply_text
from known_unknowns_pocket.training.actiview_subtasks import (
    FULL,
    ActiViewQuestion,
    ShownScene,
    object_prompts,
    with_subtasks,
    without_held_out_options,
)
from known_unknowns_pocket.training.patch_labels import PATCH_LABELS, Patches, patches_of
from known_unknowns_pocket.training.prompts import WORDS, TrainingPrompt
from known_unknowns_pocket.training.samples import IMAGE_PLACE, TrainingSample, vary_colours

SPLIT = 4
VIEWS = range(1, SPLIT + 1)
REASON = "the clues are there"

TEMPLATES = {
    "full": 2,
    "views": 2.5,
    "zoomed": 4,
    "mixed": 2,
    "more": 1,
    "select": 1,
    "zoom": 0.5,
    "operate": 0.5,
    "text": 0.2,
}
"""The prompts of the protocols, and their relative frequencies. The first four ask for the answer."""

_ANSWERS = ("full", "views", "zoomed", "mixed")
_DECISIONS = 4  # in a sample
_SHARE_AS_NEEDED = 0.7  # share of the samples with views that show everything the first question needs
_REDUCTION = 4  # factor of the sides of the originals
_NAMED = re.compile(rf"\b({'|'.join(COLOURS)}) ({'|'.join(SHAPES)})(?:e?s)?\b")


def scene(seed: str) -> tuple[Scene, int, int]:
    """Return a scene without held-out pairs, and its width and height in pixels."""
    rng = random.Random(f"pocket-training/actiview/{seed}")
    width, height = rng.choice(drawing.SIZES)
    found = drawing.sample(f"pocket-training/{seed}", width, height)
    other: dict[tuple[str, str], tuple[str, str]] = {}
    for pair in sorted({thing.pair for thing in found.objects} & HELD_OUT_PAIRS):
        other[pair] = rng.choice(sorted(known for known in TRAINING_PAIRS if known[1] == pair[1]))
    objects = (replace(thing, colour=other.get(thing.pair, thing.pair)[0]) for thing in found.objects)
    return replace(found, objects=tuple(objects)), width, height


def questions(seed: str, found: Scene, width: int, height: int) -> Iterator[ActiViewQuestion]:
    """Yield questions of every sub-class in random order. None names a held-out pair."""
    rng = random.Random(f"pocket-training/actiview/{seed}/questions")
    image = drawing.SceneImage("", found, width, height)
    for category in rng.sample(sorted(actiview_questions.SHARES), len(actiview_questions.SHARES)):
        draft = next((d for d in actiview_questions.drafts(category, found, rng) if not _names_held_out(d.stem)), None)
        if draft is None:
            continue
        options = rng.sample([draft.truth, *draft.false], 1 + len(draft.false))
        held = drawing.clues(image, draft.clues)
        needed = frozenset(view for view, clue in zip(VIEWS, held, strict=True) if clue != "no")
        yield ActiViewQuestion(category, draft.stem, tuple(options), draft.truth, needed, draft.clues)


def _names_held_out(text: str) -> bool:
    return not HELD_OUT_PAIRS.isdisjoint(_NAMED.findall(text))


def actiview_sample(seed: str, *, side: int, grid: int, template: str | None = None) -> TrainingSample:
    """Return a sample in one of ActiView's templates, at random unless ``template`` is given."""
    rng = random.Random(f"pocket-training/active/{seed}")
    template = template or rng.choices([*TEMPLATES], [*TEMPLATES.values()])[0]
    found, width, height = scene(seed)
    asked = list(questions(seed, found, width, height))
    shown = _shown(template, asked[0], rng)
    gridded = template in ("select", "zoom", "operate")
    pixels = image_pixels(found, width, height, shown, side, gridded=gridded)
    looks = [patches_of(found, grid, window(found, number)) for number in shown]
    looks = [vary_colours(pixels, look, found, rng, hues=False)[1] for look in looks]
    shown_scene = ShownScene(found, tuple(shown), *_joined(looks, shown, grid, len(found.objects)))
    made = list(_prompts(template, asked, shown_scene, rng))
    return TrainingSample(
        pixels,
        np.array([look.labels for look in looks], dtype=np.int64).reshape(len(shown), len(PATCH_LABELS), grid * grid),
        tuple(_after_images(one) for one in made),
        shown_scene.seen,
        shown_scene.anchors,
        _before(_prompt(template, asked[0], shown), len(shown)),
    )


def _shown(template: str, first: ActiViewQuestion, rng: random.Random) -> list[int]:
    """Return the images that the prompt shows: in most samples those that the first question needs."""
    as_needed = rng.random() < _SHARE_AS_NEEDED
    some = sorted(first.needed if as_needed else rng.sample(VIEWS, rng.choice((1, 2, 2, 3))))
    start = rng.choice(VIEWS)
    turned = [(start - 1 + k) % SPLIT + 1 for k in range(SPLIT)]
    needed = next(k for k in range(1, SPLIT + 1) if first.needed <= set(turned[:k]))
    if template in ("zoomed", "mixed", "operate"):
        return [FULL, *some]
    if template in ("views", "more"):
        return turned[: needed if as_needed else rng.choice((1, 2, 3, 4))]
    return [] if template == "text" else [FULL]


def _joined(
    looks: list[Patches], shown: list[int], grid: int, objects: int
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Return where each object is shown in any image, its last anchor, and the same for the full image alone.

    If the full image is not shown, the second half repeats the first (see `ShownScene`).
    """
    every = [(k * grid**2, look) for k, look in enumerate(looks)]
    seen: list[tuple[int, ...]] = []
    anchors: list[int] = []
    for those in (every, every[:1] if FULL in shown else every):
        for number in range(objects):
            seen.append(tuple(first + patch for first, look in those for patch in look.shown[number]))
            found = [first + look.anchors[number] for first, look in those if look.anchors[number] >= 0]
            anchors.append(found[-1] if found else -1)
    return tuple(seen), tuple(anchors)


def _prompts(
    template: str, asked: list[ActiViewQuestion], shown_scene: ShownScene, rng: random.Random
) -> Iterator[TrainingPrompt]:
    """Yield whole questions, answered only for the trained sub-classes, and object prompts."""
    decisions = 0
    for one in asked:
        if template in _ANSWERS:
            if one.taught and shown_scene.shows_answer(one):
                asked_so = without_held_out_options(one, shown_scene.scene)
                yield with_subtasks(_whole(template, asked_so, shown_scene), asked_so, shown_scene)
        elif decisions < _DECISIONS:
            decisions += 1
            yield with_subtasks(_whole(template, one, shown_scene), one, shown_scene)
    if shown_scene.shown:
        yield from object_prompts(shown_scene, rng)


def _prompt(template: str, one: ActiViewQuestion, shown: Sequence[int]) -> str:
    """Return the prompt as the protocol sends it, with `MARK` for each image."""
    views = [number for number in shown if number != FULL]
    named = "".join(f" {MARK}, the {prompts.view_name(number, SPLIT)} view," for number in views)
    chosen = "".join(f"{MARK} is your selected {prompts.view_name(number, SPLIT)} view. " for number in views)
    fields = {
        "image": {"views": named, "mixed": f"{MARK} is the full image,{named}"}.get(template, MARK),
        "images": named,
        "zoomed": chosen if template == "zoomed" else named,
        "question": one.stem,
        "options": one.listed,
        "split": str(SPLIT),
        "description": prompts.description(SPLIT),
    }
    said = {
        "zoomed": prompts.ZOOMED,
        "more": prompts.MORE,
        "select": prompts.SELECT,
        "zoom": prompts.ZOOM,
        "operate": prompts.OPERATE,
        "text": prompts.COMMONSENSE,
    }.get(template, prompts.ANSWER)
    (prompt,) = prompts.fill(said, **fields)
    return prompt.strip()


def _whole(template: str, one: ActiViewQuestion, shown_scene: ShownScene) -> TrainingPrompt:
    """Return the prompt with its reply."""
    views = set(shown_scene.shown) - {FULL}
    needed, held, missing = (
        ",".join(map(str, sorted(found))) or "none" for found in (one.needed, one.needed & views, one.needed - views)
    )
    reply = {
        "more": "No" if one.needed <= views else "Yes",
        "select": needed,
        "zoom": json.dumps({"part": needed, "reason": REASON}),
        "operate": json.dumps({"keep": held, "shift": missing}),
        "text": "None",
    }.get(template)
    prompt = _prompt(template, one, shown_scene.shown)
    if reply is not None:
        return TrainingPrompt(prompt, ((reply, True),))
    said = " ".join(WORDS[slot][word] for slot, word in one.said(shown_scene.scene).items())
    return TrainingPrompt(prompt, ((reply_text(said, one.right), True),), marks=tuple(marks(prompt, one.options)))


def _before(prompt: str, images: int) -> tuple[str | None, ...]:
    """Return the prompt up to and including its last image: texts, and `IMAGE_PLACE` for each image."""
    pieces = prompt.split(MARK)[:-1]
    made: list[str | None] = []
    for piece in pieces:
        made += [piece.strip(), IMAGE_PLACE] if piece.strip() else [IMAGE_PLACE]
    if made.count(IMAGE_PLACE) != images:
        raise ValueError(f"{images} images, but marks for {made.count(IMAGE_PLACE)} in {prompt!r}")
    return tuple(made)


def _after_images(one: TrainingPrompt) -> TrainingPrompt:
    """Return the prompt after its last image."""
    cut = one.prompt.rfind(MARK) + 1
    rest = one.prompt[cut:]
    if cut:
        cut += len(rest) - len(rest.lstrip())
        rest = rest.strip()
    return replace(one.moved(-cut), prompt=rest)


def window(found: Scene, number: int) -> Box:
    """Return the part of the canvas that an image shows, in canvas units."""
    across, down = found.canvas
    if number == FULL:
        return 0.0, 0.0, across, down
    column, row = divmod(number - 1, 2)
    return column * across / 2, row * down / 2, (column + 1) * across / 2, (row + 1) * down / 2


def image_pixels(found: Scene, width: int, height: int, shown: list[int], side: int, *, gridded: bool) -> np.ndarray:
    """Return the images at the size of the model's input, (images, side, side, 3)."""
    if not shown:
        return np.zeros((0, side, side, 3), np.uint8)
    whole = render(found, width // _REDUCTION, height // _REDUCTION)
    across, down = whole.width // 2, whole.height // 2
    made = []
    for number in shown:
        if number == FULL:
            image = whole.resize((across, down), Image.Resampling.BICUBIC)
            if gridded:
                _rule(image)
        else:
            column, row = divmod(number - 1, 2)
            image = whole.crop((column * across, row * down, (column + 1) * across, (row + 1) * down))
        made.append(np.asarray(image.resize((side, side), Image.Resampling.BICUBIC)))
    return np.stack(made)


def _rule(image: Image.Image) -> None:
    """Draw lines between the four parts, as `known_unknowns_benchmarks.actiview.views.add_grid` does."""
    across, down = image.size
    lines = [((across // 2, 0), (across // 2, down)), ((0, down // 2), (across, down // 2))]
    draw = ImageDraw.Draw(image)
    for colour, width in (((255, 255, 255), 3), ((255, 0, 0), 1)):
        for line in lines:
            draw.line(line, fill=colour, width=width)
