"""Subtasks of ActiView's questions: which objects a question names, whether and where they are shown, the answer.

A small object has a few pixels in the full image: its colour and position are visible there, its shape hardly. A
view shows the shape but not the position in the whole. Directions are therefore looked up in the full image if it
is shown, all other attributes in any image.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from known_unknowns_pocket.benchmarks import actiview_questions
from known_unknowns_pocket.benchmarks.object_names import matching, pair_name, phrase, plural
from known_unknowns_pocket.benchmarks.question_templates import PHRASES
from known_unknowns_pocket.scenes import COLOURS, SHAPES, TRAINING_PAIRS, Scene
from known_unknowns_pocket.training.actiview_replies import LETTERS, listed
from known_unknowns_pocket.training.prompts import MOST_COUNTED, WORDS, TrainingPrompt, held_out_words, matching_objects
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
        return LETTERS[self.options.index(self.truth)]

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
    """The part of a scene that a prompt shows.

    Attributes
    ----------
    scene : Scene
        The scene.
    shown : tuple of int
        Numbers of the images.
    seen, anchors : tuple
        As in `TrainingSample`, for 2 * objects: first each object in any image, then each in the full image
        alone.
    """

    scene: Scene
    shown: tuple[int, ...]
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
    return WORDS["predicate"].index(f"{PHRASES[actiview_questions.direction(scene, one, other)]} it")


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
        other = replace(scene.objects[number], **{slot: rng.choice(WORDS[slot])})
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
            places = ((1 + len(ours), (one,)), (len(text), (other,)))
            places = tuple((end, shown_scene.ids(ids, in_full_image=True)) for end, ids in places)
            yield line_prompt(text, words={"predicate": _predicate(scene, one, other)}, places=places)
