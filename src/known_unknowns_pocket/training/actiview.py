"""Training samples in ActiView's form: several images in a prompt, and replies that select the next image.

Scenes are sampled as in the pocket benchmark, but without held-out pairs of colour and shape, and rendered at a
quarter of their size, since no view is larger than that for the model. A small object has a few pixels in the full
image: its colour and position are visible there, its shape hardly. A view shows the shape but not the position in the
whole. Directions are therefore looked up in the full image if it is shown, all other attributes in any image.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from known_unknowns_benchmarks.actiview import prompts
from known_unknowns_pocket.benchmarks import actiview_questions
from known_unknowns_pocket.benchmarks import actiview_scenes as drawing
from known_unknowns_pocket.benchmarks.object_names import matching, pair_name, phrase, plural
from known_unknowns_pocket.benchmarks.question_templates import PHRASES
from known_unknowns_pocket.scenes import COLOURS, HELD_OUT_PAIRS, SHAPES, TRAINING_PAIRS, Scene, render
from known_unknowns_pocket.scenes.model import Box
from known_unknowns_pocket.training.patch_labels import PATCH_LABELS, Patches, patches_of
from known_unknowns_pocket.training.prompts import (
    ACTIVIEW_LETTERS,
    IMAGE_MARK,
    MOST_COUNTED,
    WORDS,
    TrainingPrompt,
    held_out_words,
    listed,
    listed_marks,
    matching_objects,
)
from known_unknowns_pocket.training.samples import IMAGE_PLACE, TrainingSample, vary_colours
from known_unknowns_pocket.training.subtasks import line_prompt

FULL = 0
"""Number of the full image; the views are numbered from 1."""

_OBJECT = re.compile(rf"\bsmall (?:(?:{'|'.join(COLOURS)}) )?(?:{'|'.join(SHAPES)})(?:e?s)?\b")
_DIRECTED = ("orientation", "daily loc", "object-rel")
_PRESENT, _ASKED, _ABSENT, _COUPLES, _COUNTS = 3, 3, 3, 3, 2  # prompts in a sample
_NAMING = frozenset(("colour", "shape", "size"))


@dataclass(frozen=True, slots=True)
class ActiViewQuestion:
    """A question with its options in order, the views that hold its clues, and the objects that are its clues."""

    category: str
    stem: str
    options: tuple[str, ...]
    truth: str
    needed: frozenset[int]
    clues: tuple[int, ...]

    @property
    def listed(self) -> str:
        """The options as ActiView's prompts list them."""
        return listed(self.options)

    @property
    def right(self) -> str:
        """The letter of the right option."""
        return ACTIVIEW_LETTERS[self.options.index(self.truth)]

    @property
    def directed(self) -> bool:
        """Whether the question asks in which direction its first clue lies from its second."""
        return self.category in _DIRECTED or (self.category == "event-multi" and " runs after " in self.stem)

    @property
    def taught(self) -> bool:
        """Whether the answer is trained.

        Answers that need one step more, such as the colour of the object to the left, were not learned in the
        available time, and training them reduced the accuracy of similar questions.
        """
        if self.category == "counting":
            return len(self.clues) <= MOST_COUNTED
        return self.category == "event-single" or (self.directed and self.category != "daily loc")

    def said(self, scene: Scene) -> dict[str, int]:
        """Return what the answer says, by slot, if it is trained."""
        if self.directed:
            return {"predicate": _predicate(scene, *self.clues)}
        if self.category == "event-single":
            return {"shape": WORDS["shape"].index(scene.objects[self.clues[1]].shape)}
        return {"count": len(self.clues)} if self.category == "counting" else {}


@dataclass(frozen=True, slots=True)
class ShownScene:
    """The part of a scene that a prompt shows."""

    scene: Scene  # the scene
    shown: tuple[int, ...]  # numbers of the images
    # as in `TrainingSample`, for 2 * objects: first each object in any image, then each in the full image alone
    seen: tuple[tuple[int, ...], ...]
    anchors: tuple[int, ...]

    @property
    def views(self) -> frozenset[int]:
        """The views that are shown."""
        return frozenset(self.shown) - {FULL}

    def shows_answer(self, one: ActiViewQuestion) -> bool:
        """Whether the images show the answer, or the full image is the only one."""
        return one.needed <= self.views or not self.views or (one.directed and FULL in self.shown)

    def ids(self, found: Sequence[int], *, in_full_image: bool) -> tuple[int, ...]:
        """Return the indices of objects in the full image (``in_full_image``) or in any image."""
        return tuple(number + len(self.scene.objects) * in_full_image for number in found)


def with_subtasks(one: TrainingPrompt, asked: ActiViewQuestion, shown_scene: ShownScene) -> TrainingPrompt:
    """Add the labels of a question's subtasks to its prompt, which contains the question's stem."""
    if not shown_scene.shown:
        return one
    scene, at = shown_scene.scene, one.prompt.index(asked.stem)
    named = [(at + found.end(), matching_objects(scene, _singular(found[0]))) for found in _OBJECT.finditer(asked.stem)]
    shows_answer = asked.taught and shown_scene.shows_answer(asked)
    said = asked.said(scene) if shows_answer else {}
    if not shown_scene.views:
        said = {slot: word for slot, word in said.items() if slot not in ("shape", "count")}
    counted = None
    if "count" in said:
        counted = (named[0][0], shown_scene.ids(asked.clues, in_full_image=False))
    return replace(
        one,
        stem=at + len(asked.stem),
        words=said,
        places=tuple((end, shown_scene.ids(ids, in_full_image=asked.directed)) for end, ids in named if ids),
        counted=counted,
        held_out_words=held_out_words(scene.objects[asked.clues[1]]) if "shape" in said else (),
    )


def _singular(name: str) -> str:
    return re.sub(r"(?<=cross)es$|(?<!cros)s$", "", name)


def _predicate(scene: Scene, one: int, other: int) -> int:
    direction = actiview_questions.direction(scene, one, other)
    assert direction is not None
    return WORDS["predicate"].index(f"{PHRASES[direction]} it")


def without_held_out_options(one: ActiViewQuestion, scene: Scene) -> ActiViewQuestion:
    """Remove options that would make a held-out pair with the answer's object. They are never right in training."""
    if one.category != "event-single":
        return one
    wrong = set(held_out_words(scene.objects[one.clues[1]]))
    return replace(one, options=tuple(text for text in one.options if text.removeprefix("A ") not in wrong))


def object_prompts(shown_scene: ShownScene, rng: random.Random) -> Iterator[TrainingPrompt]:
    """Yield the prompts of `known_unknowns_pocket.training.subtasks` for small objects."""
    shown = [number for number in actiview_questions.small(shown_scene.scene) if shown_scene.seen[number]]
    if shown_scene.views:
        yield from _present(shown_scene, shown, rng)
        yield from _absent(shown_scene, rng)
        yield from _counts(shown_scene, rng)
    if FULL in shown_scene.shown or len(shown_scene.shown) == 1:
        yield from _couples(shown_scene, rng)


def _present(shown_scene: ShownScene, shown: Sequence[int], rng: random.Random) -> Iterator[TrainingPrompt]:
    """Yield objects by colour and shape, or by one of these if it identifies them, with the other as label.

    An attribute in the prompt is not a label: the model would read it from the text and not from the image.
    """
    scene = shown_scene.scene
    named = [(number, _NAMING) for number in rng.sample(shown, min(_PRESENT, len(shown)))]
    by_one = [
        (number, frozenset((slot, "size")))
        for number in shown
        for slot in ("colour", "shape")
        if matching(scene, scene.objects[number], (slot, "size")) == [number]
    ]
    for number, attributes in named + rng.sample(by_one, min(_ASKED, len(by_one))):
        thing = scene.objects[number]
        text = f" {phrase(thing, attributes)}"
        words = {
            slot: WORDS[slot].index(getattr(thing, slot)) for slot in ("colour", "shape") if slot not in attributes
        }
        places = ((len(text), tuple(matching(scene, thing, attributes))),)
        unasked = held_out_words(thing) if words else ()
        yield line_prompt(text, present=True, words=words or None, places=places, unasked=unasked)


def _absent(shown_scene: ShownScene, rng: random.Random) -> Iterator[TrainingPrompt]:
    scene = shown_scene.scene
    for number in rng.sample(actiview_questions.small(scene), _ABSENT):
        slot = rng.choice(("colour", "shape"))
        changed: dict[str, Any] = {slot: rng.choice(WORDS[slot])}
        other = replace(scene.objects[number], **changed)
        if other.pair in TRAINING_PAIRS and not matching(scene, other, _NAMING):
            yield line_prompt(f" {phrase(other, _NAMING)}", present=False)


def _counts(shown_scene: ShownScene, rng: random.Random) -> Iterator[TrainingPrompt]:
    """Yield prompts for the number of objects of a colour and shape, if all of them are shown."""
    looks = sorted({shown_scene.scene.objects[number].pair for number in actiview_questions.small(shown_scene.scene)})
    for pair in rng.sample(looks, min(_COUNTS, len(looks))):
        name = f"small {pair_name(pair)}"
        ids = matching_objects(shown_scene.scene, name)
        if len(ids) <= MOST_COUNTED and all(shown_scene.seen[number] for number in ids):
            counted = shown_scene.ids(ids, in_full_image=False)
            yield line_prompt(f" {plural(name)}", words={"count": len(ids)}, counted=counted)


def _couples(shown_scene: ShownScene, rng: random.Random) -> Iterator[TrainingPrompt]:
    scene, made = shown_scene.scene, 0
    shown = [number for number in actiview_questions.small(scene) if shown_scene.seen[number]]
    alone = [n for n in shown if matching(scene, scene.objects[n], _NAMING) == [n]]
    for one, other in rng.sample(list(permutations(alone, 2)), len(alone) * (len(alone) - 1)):
        if made < _COUPLES and actiview_questions.direction(scene, one, other) is not None:
            ours, theirs = (f"small {pair_name(scene.objects[n].pair)}" for n in (one, other))
            text, made = f" {ours} in relation to the {theirs}", made + 1
            names = ((1 + len(ours), one), (len(text), other))
            places = tuple((end, shown_scene.ids((number,), in_full_image=True)) for end, number in names)
            yield line_prompt(text, words={"predicate": _predicate(scene, one, other)}, places=places)


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
    """Return the prompt as the protocol sends it, with `IMAGE_MARK` for each image."""
    views = [number for number in shown if number != FULL]
    named = "".join(f" {IMAGE_MARK}, the {prompts.view_name(number, SPLIT)} view," for number in views)
    chosen = "".join(f"{IMAGE_MARK} is your selected {prompts.view_name(number, SPLIT)} view. " for number in views)
    fields = {
        "image": {"views": named, "mixed": f"{IMAGE_MARK} is the full image,{named}"}.get(template, IMAGE_MARK),
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
    assert isinstance(prompt, str)
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
    return TrainingPrompt(prompt, ((f" {said} Answer: {one.right}", True),), marks=listed_marks(prompt, one.options))


def _before(prompt: str, images: int) -> tuple[str | None, ...]:
    """Return the prompt up to and including its last image: texts, and `IMAGE_PLACE` for each image."""
    pieces = prompt.split(IMAGE_MARK)[:-1]
    made: list[str | None] = []
    for piece in pieces:
        made += [piece.strip(), IMAGE_PLACE] if piece.strip() else [IMAGE_PLACE]
    if made.count(IMAGE_PLACE) != images:
        raise ValueError(f"{images} images, but marks for {made.count(IMAGE_PLACE)} in {prompt!r}")
    return tuple(made)


def _after_images(one: TrainingPrompt) -> TrainingPrompt:
    """Return the prompt after its last image."""
    cut = one.prompt.rfind(IMAGE_MARK) + 1
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
