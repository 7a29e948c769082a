"""Lessons in ActiView's form: several pictures in a prompt, and replies that choose what is shown next.

The scenes are drawn as the pocket benchmark's are, but without held-out pairs of colour and shape, and at a quarter of
their size: no view is larger than that for the model. A reply is the right option's text, the views that hold a clue,
or whether one is missing.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageDraw

from known_unknowns.benchmarks import actiview_prompts as prompts
from known_unknowns.pocket import actiview_questions as asking
from known_unknowns.pocket import actiview_scenes as drawing
from known_unknowns.scenes import COLOURS, HELD_OUT_PAIRS, SHAPES, TRAINING_PAIRS, Scene, render
from known_unknowns.scenes.model import Box
from known_unknowns.training.exercises import Exercise, meant
from known_unknowns.training.lessons import PICTURE, Lesson, asked_about
from known_unknowns.training.patches import PATCH_LABELS, Patches, patches_of

SPLIT = 4
VIEWS = range(1, SPLIT + 1)
FULL = 0
"""The number of the full image among the pictures; the views are numbered from 1."""
REASON = "the clues are there"

_QUESTIONS = 6
_TEMPLATES = ("full", "views", "zoomed", "more", "select", "zoom", "operate", "text")
_WEIGHTS = (2, 3, 4, 2, 2, 1, 1, 0.3)
_REDUCTION = 4  # of the originals' sides
_NAMED = re.compile(rf"\b({'|'.join(COLOURS)}) ({'|'.join(SHAPES)})(?:e?s)?\b")
_OBJECT = re.compile(rf"\bsmall (?:(?:{'|'.join(COLOURS)}) )?(?:{'|'.join(SHAPES)})\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its options in order, and the views that hold its clues."""

    stem: str
    options: tuple[str, ...]
    truth: str
    needed: frozenset[int]

    @property
    def listed(self) -> str:
        """The options as ActiView's prompts list them."""
        return "; ".join(f"{letter}. {text}" for letter, text in zip("ABCDEFG", self.options, strict=False))


def scene(seed: str) -> tuple[Scene, int, int]:
    """A scene without held-out pairs, and its width and height in pixels."""
    rng = random.Random(f"pocket-training/actiview/{seed}")
    width, height = rng.choice(drawing.SIZES)
    found = drawing.sample(f"pocket-training/{seed}", width, height)
    other: dict[tuple[str, str], tuple[str, str]] = {}
    for pair in sorted({thing.pair for thing in found.objects} & HELD_OUT_PAIRS):
        other[pair] = rng.choice(sorted(known for known in TRAINING_PAIRS if known[1] == pair[1]))
    objects = (replace(thing, colour=other.get(thing.pair, thing.pair)[0]) for thing in found.objects)
    return replace(found, objects=tuple(objects)), width, height


def questions(seed: str, found: Scene, width: int, height: int) -> Iterator[Asked]:
    """Questions of every sub-class, in random order, that name no held-out pair."""
    rng = random.Random(f"pocket-training/actiview/{seed}/questions")
    picture = drawing.Picture("", found, width, height)
    for category in rng.sample(sorted(asking.SHARES), len(asking.SHARES)):
        draft = next((d for d in asking.drafts(category, found, rng) if not _names_held_out(d.stem)), None)
        if draft is None:
            continue
        options = rng.sample([draft.truth, *draft.false], 1 + len(draft.false))
        held = drawing.clues(picture, draft.clues)
        needed = frozenset(view for view, clue in zip(VIEWS, held, strict=True) if clue != "no")
        yield Asked(draft.stem, tuple(options), draft.truth, needed)


def _names_held_out(text: str) -> bool:
    return not HELD_OUT_PAIRS.isdisjoint(_NAMED.findall(text))


def active_lesson(seed: str, *, side: int, grid: int, template: str | None = None) -> Lesson:
    """A lesson in one of ActiView's templates, by chance or as told."""
    rng = random.Random(f"pocket-training/active/{seed}")
    template = template or rng.choices(_TEMPLATES, _WEIGHTS)[0]
    found, width, height = scene(seed)
    asked = list(questions(seed, found, width, height))[:_QUESTIONS]
    some = sorted(rng.sample(VIEWS, rng.choice((1, 2, 2, 3))))
    start = rng.choice(VIEWS)
    round_ = [(start - 1 + k) % SPLIT + 1 for k in range(rng.choice((1, 2, 3, 4, 4)))]
    shown, gridded = {
        "full": ([FULL], False),
        "views": (round_, False),
        "zoomed": ([FULL, *some], False),
        "more": (round_, False),
        "select": ([FULL], True),
        "zoom": ([FULL], True),
        "operate": ([FULL, *some], True),
        "text": ([], False),
    }[template]
    pixels = pictures(found, width, height, shown, side, gridded=gridded)
    looks = [patches_of(found, grid, window(found, number)) for number in shown]
    looks = [asked_about(pixels, look, found, rng, hues=False)[1] for look in looks]
    seen, anchors = _joined(looks, grid, len(found.objects))
    made = [_exercise(template, one, shown, found) for one in asked]
    return Lesson(
        pixels,
        np.array([look.labels for look in looks], dtype=np.int64).reshape(len(shown), len(PATCH_LABELS), grid * grid),
        tuple(_after_pictures(one) for one in made),
        seen,
        anchors,
        _before(made[0].prompt, len(shown)),
    )


def _joined(looks: list[Patches], grid: int, objects: int) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Where each object is shown in any of the pictures, and its first anchor."""
    seen: list[tuple[int, ...]] = []
    anchors: list[int] = []
    for number in range(objects):
        offset = [(k * grid**2, look) for k, look in enumerate(looks)]
        seen.append(tuple(first + patch for first, look in offset for patch in look.shown[number]))
        found = [first + look.anchors[number] for first, look in offset if look.anchors[number] >= 0]
        anchors.append(found[-1] if found else -1)
    return tuple(seen), tuple(anchors)


_MARK = "\0"  # stands for a picture in a prompt


def _exercise(template: str, one: Asked, shown: list[int], found: Scene) -> Exercise:
    """The prompt with a mark for each picture, as the protocol sends it, and the reply."""
    views = [number for number in shown if number != FULL]
    named = "".join(f" {_MARK}, the {prompts.view_name(number, SPLIT)} view," for number in views)
    chosen = "".join(f"{_MARK} is your selected {prompts.view_name(number, SPLIT)} view. " for number in views)
    fields = {
        "image": _MARK,
        "images": named,
        "zoomed": chosen if template == "zoomed" else named,
        "question": one.stem,
        "options": one.listed,
        "split": str(SPLIT),
        "description": prompts.description(SPLIT),
    }
    answer = f" {one.truth}"  # with a blank, as it stands among the options: so it is the same token
    missing = one.needed - set(views)
    needed, rest = (",".join(map(str, sorted(found))) or "none" for found in (one.needed & set(views), missing))
    said, text = {
        "full": (prompts.ANSWER, answer),
        "views": (prompts.ANSWER, answer),
        "zoomed": (prompts.ZOOMED, answer),
        "more": (prompts.MORE, "Yes" if missing else "No"),
        "select": (prompts.SELECT, ",".join(map(str, sorted(one.needed)))),
        "zoom": (prompts.ZOOM, json.dumps({"part": ",".join(map(str, sorted(one.needed))), "reason": REASON})),
        "operate": (prompts.OPERATE, json.dumps({"keep": needed, "shift": rest})),
        "text": (prompts.COMMONSENSE, "None"),
    }[template]
    if template == "views":
        fields["image"] = named
    (prompt,) = prompts.fill(said, **fields)
    prompt = prompt.strip()
    at = prompt.index(one.stem)
    named_objects = ((at + m.end(), meant(found, m[0])) for m in _OBJECT.finditer(one.stem))
    places = tuple((end, ids) for end, ids in named_objects if ids) if shown else ()
    return Exercise(prompt, ((text, True),), places=places)


def _before(prompt: str, pictures: int) -> tuple[str | None, ...]:
    """The prompt up to and with its last picture: texts, and `PICTURE` for each mark."""
    pieces = prompt.split(_MARK)[:-1]
    made: list[str | None] = []
    for piece in pieces:
        made += [piece.strip(), PICTURE] if piece.strip() else [PICTURE]
    if made.count(PICTURE) != pictures:
        raise ValueError(f"{pictures} pictures, and marks for {made.count(PICTURE)} in {prompt!r}")
    return tuple(made)


def _after_pictures(one: Exercise) -> Exercise:
    """The exercise from its last picture on."""
    cut = one.prompt.rfind(_MARK) + 1
    rest = one.prompt[cut:]
    cut += len(rest) - len(rest.lstrip())
    return replace(one, prompt=rest.strip(), places=tuple((end - cut, ids) for end, ids in one.places))


def window(found: Scene, number: int) -> Box:
    """The part of the canvas that a picture shows, in canvas units."""
    across, down = found.canvas
    if number == FULL:
        return 0.0, 0.0, across, down
    column, row = divmod(number - 1, 2)
    return column * across / 2, row * down / 2, (column + 1) * across / 2, (row + 1) * down / 2


def pictures(found: Scene, width: int, height: int, shown: list[int], side: int, *, gridded: bool) -> np.ndarray:
    """The pictures as the processor squeezes them, (pictures, side, side, 3)."""
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
    """Lines between the four parts: red on white, as `known_unknowns.views.gridded` has them."""
    across, down = image.size
    lines = [((across // 2, 0), (across // 2, down)), ((0, down // 2), (across, down // 2))]
    draw = ImageDraw.Draw(image)
    for colour, width in (((255, 255, 255), 3), ((255, 0, 0), 1)):
        for line in lines:
            draw.line(line, fill=colour, width=width)
