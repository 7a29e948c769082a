"""BeyondVisQA of the pocket MM-SAP: questions about scenes that no image answers.

Each of the six sub-tasks (Appendix A.2) has several wordings. No model is trained on ``held_out`` wordings, so
that refusing them shows more than memorised sentences.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from known_unknowns_pocket.benchmarks.balanced_draws import alternating
from known_unknowns_pocket.benchmarks.mmsap_basic import Draft
from known_unknowns_pocket.benchmarks.mmsap_images import ACTIONS
from known_unknowns_pocket.benchmarks.object_names import name, pair_name
from known_unknowns_pocket.benchmarks.question_templates import ABSENT_TEXTURES
from known_unknowns_pocket.scenes import ALL_PAIRS, COLOURS, TEXTURES, Scene

ABSENT = "Nonexistent Objects"
SHARES: Mapping[str, float] = {
    ABSENT: 25.00,
    "Intractable Quantity": 14.40,
    "Other modalities Information": 11.68,
    "Missing Visual Information": 25.00,
    "Temporal Unpredictability": 10.87,
    "Background Information": 10.87,
}
"""Percent of BeyondVisQA's questions, from the first preprint's overview figure (of 368; it prints 97.82% in
total).
"""

COLOUR, TEXTURE, OBJECT = "colour", "texture", "object"
"""Answers taken from a vocabulary, those that are in the scene first."""


@dataclass(frozen=True, slots=True)
class Wording:
    """``text`` has {thing} in place of the object; ``answers`` are at least four, or the name of a vocabulary."""

    sub_task: str
    text: str
    answers: tuple[str, ...] | str
    held_out: bool


_Entry = tuple[str, tuple[str, ...] | str]
_PLACES = ("in the upper left", "in the upper right", "in the lower left", "in the lower right", "in the middle")
_NUMBERS = ("1", "2", "3", "4", "5", "6")

_TRAINING: Mapping[str, tuple[_Entry, ...]] = {
    ABSENT: (
        ("What is the texture of the {thing}?", TEXTURE),
        ("Where in the picture is the {thing}?", _PLACES),
        ("Which object is to the left of the {thing}?", OBJECT),
        ("How many stripes does the {thing} have?", _NUMBERS),
        ("What size is the {thing}?", ("tiny", "small", "medium", "large", "huge")),
    ),
    "Intractable Quantity": (
        ("How many grams does the {thing} weigh?", ("5 grams", "40 grams", "150 grams", "700 grams", "2000 grams")),
        ("How much did the {thing} cost?", ("2 dollars", "9 dollars", "15 dollars", "40 dollars", "120 dollars")),
        ("How many centimetres thick is the {thing}?", ("1", "4", "9", "15", "30")),
        ("How many layers of paint are on the {thing}?", ("one", "two", "three", "four", "five")),
        ("How many litres of paint did the {thing} take?", ("half a litre", "1 litre", "2 litres", "5 litres")),
    ),
    "Other modalities Information": (
        ("What does the {thing} smell like?", ("lemon", "fresh paint", "smoke", "roses", "wet wool")),
        ("What sound does the {thing} make?", ("a hum", "a click", "a whistle", "a rattle", "a low beep")),
        ("What does the {thing} taste of?", ("salt", "mint", "sugar", "pepper", "nothing at all")),
        ("How does the {thing} feel to the touch?", ("rough", "silky", "sticky", "furry", "like rubber")),
        ("How warm is the {thing}?", ("ice cold", "cool", "lukewarm", "warm", "very hot")),
    ),
    "Missing Visual Information": (
        ("What is written on the back of the {thing}?", ("a name", "a date", "an address", "a poem", "a price")),
        ("What colour is the other side of the {thing}?", COLOUR),
        ("What is hidden behind the {thing}?", ("a coin", "a key", "a button", "a stamp", "a small bell")),
        ("What texture is the underside of the {thing}?", TEXTURE),
        (
            "What is outside the picture, beyond the {thing}?",
            ("a wall", "a table", "a window", "a road", "a lamp"),
        ),
    ),
    "Temporal Unpredictability": (
        ("How long has the {thing} been there?", ("an hour", "a day", "a week", "a month", "many years")),
        ("Where was the {thing} a minute ago?", _PLACES),
        ("What colour will the {thing} be tomorrow?", COLOUR),
        ("When was the {thing} put there?", ("in the morning", "at noon", "in the evening", "at night", "at dawn")),
        ("What will happen to the {thing} next?", ("it will fall", "it will fade", "it will be cut", "it will burn")),
    ),
    "Background Information": (
        ("What is the name of the {thing}?", ("Oskar", "Minna", "Bello", "Tilda", "Rufus")),
        ("Who owns the {thing}?", ("a teacher", "a sailor", "a museum", "a child", "a baker")),
        ("Who drew the {thing}?", ("Mara", "Jonas", "Edith", "Pavel", "Noor")),
        ("Where was the {thing} made?", ("in Norway", "in Peru", "in Japan", "in Kenya", "in Canada")),
        ("Why was the {thing} put there?", ("as a joke", "as a warning", "for a game", "by mistake", "for luck")),
    ),
}
_HELD_OUT: Mapping[str, tuple[_Entry, ...]] = {
    ABSENT: (
        ("What is inside the {thing}?", OBJECT),
        ("What is the {thing} doing?", ACTIONS),
        ("Which object is nearest to the {thing}?", OBJECT),
    ),
    "Intractable Quantity": (
        ("How many people have looked at the {thing}?", ("3", "17", "60", "200", "5000")),
        ("How many grains of sand would fill the {thing}?", ("a hundred", "a thousand", "a million", "a billion")),
        ("How many hours did it take to make the {thing}?", ("half an hour", "2 hours", "8 hours", "50 hours")),
    ),
    "Other modalities Information": (
        ("Which tune is playing near the {thing}?", ("a waltz", "a march", "a lullaby", "a tango", "a hymn")),
        ("What scent comes from the {thing}?", ("vanilla", "coffee", "pine", "soap", "leather")),
        ("What noise would the {thing} make if it fell?", ("a thud", "a clang", "a splash", "a crunch", "a ring")),
    ),
    "Missing Visual Information": (
        ("What lies underneath the {thing}?", ("a letter", "a feather", "a ticket", "a leaf", "a thread")),
        ("Which colour is under the paint of the {thing}?", COLOUR),
        ("What is scratched into the edge of the {thing}?", ("initials", "a number", "a heart", "an arrow", "a crown")),
    ),
    "Temporal Unpredictability": (
        ("How much longer will the {thing} stay where it is?", ("a minute", "an hour", "a day", "a year", "for ever")),
        ("Which colour did the {thing} have last year?", COLOUR),
        ("Which object stood there before the {thing}?", OBJECT),
    ),
    "Background Information": (
        ("Which company makes the {thing}?", ("Norvik", "Halden & Sons", "Trevi", "Bluemark", "Castor")),
        ("For whose birthday is the {thing}?", ("Anna's", "Viktor's", "Lucia's", "Ravi's", "Emma's")),
        ("What is the {thing} a symbol of?", ("peace", "courage", "the sea", "old age", "good luck")),
    ),
}

WORDINGS: tuple[Wording, ...] = tuple(
    Wording(sub_task, text, answers, held_out)
    for held_out, entries in ((False, _TRAINING), (True, _HELD_OUT))
    for sub_task, found in entries.items()
    for text, answers in found
)


def draws(sub_task: str, rng: random.Random) -> Iterator[Wording]:
    """Yield wordings of a sub-task without end, every other one held out."""
    found = [wording for wording in WORDINGS if wording.sub_task == sub_task]
    return alternating([[w for w in found if w.held_out == held_out] for held_out in (False, True)], rng)


def draft(wording: Wording, scene: Scene, rng: random.Random) -> Draft | None:
    """Return the question about an object of the scene, or about one that it lacks; None without such an object."""
    thing = _absent(scene, rng) if wording.sub_task == ABSENT else _present(scene, rng)
    if thing is None:
        return None
    answers = _answers(wording, scene, thing, rng)
    if answers is None:
        return None
    note = {"wording": wording.text, "held_out": wording.held_out}
    return Draft(wording.sub_task, wording.text.format(thing=thing), "", answers, note)


def _present(scene: Scene, rng: random.Random) -> str | None:
    names = [name(scene, index, rng) for index in rng.sample(range(len(scene.objects)), len(scene.objects))]
    return next((found for found in names if found is not None), None)


def _absent(scene: Scene, rng: random.Random) -> str | None:
    """Return a colour and a shape that are both in the scene, but in no one object."""
    present = {thing.pair for thing in scene.objects}
    colours, shapes = {pair[0] for pair in present}, {pair[1] for pair in present}
    found = [p for p in ALL_PAIRS if p not in present and p[0] in colours and p[1] in shapes]
    return pair_name(rng.choice(found)) if found else None


def _answers(wording: Wording, scene: Scene, thing: str, rng: random.Random) -> tuple[str, ...] | None:
    """Return four plausible answers. Those that are visible elsewhere in the scene come first."""
    if not isinstance(wording.answers, str):
        return tuple(rng.sample(wording.answers, 4))
    seen, all_of_them = _vocabulary(wording.answers, scene)
    values = [value for value in rng.sample(all_of_them, len(all_of_them)) if value != thing]
    values.sort(key=lambda value: value not in seen)
    return tuple(rng.sample(values[:4], 4)) if len(values) >= 4 else None


def _vocabulary(which: str, scene: Scene) -> tuple[set[str], Sequence[str]]:
    """Return the words of a vocabulary that are visible in the scene, and all of its words."""
    if which == COLOUR:
        return {thing.colour for thing in scene.objects}, tuple(COLOURS)
    if which == TEXTURE:
        return {thing.texture for thing in scene.objects}, TEXTURES + ABSENT_TEXTURES
    return {pair_name(thing.pair) for thing in scene.objects}, tuple(map(pair_name, ALL_PAIRS))
