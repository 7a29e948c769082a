"""Questions of the pocket ActiView: eight sub-classes, answered by the scene graph and the text of the question.

Every question needs at least two small objects, its clues. Objects are named by colour and shape, or by shape
alone, only if that identifies one of the small objects. A direction is asked for only if it is certain and all
others are certainly false.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations, product

from known_unknowns_pocket.benchmarks.object_names import pair_name, plural
from known_unknowns_pocket.scenes import ALL_PAIRS, COLOURS, CONVERSE, DIRECTIONS, SHAPES, Pair, Scene, relation_holds

SHARES: Mapping[str, int] = {
    "geo-loc(counrty)": 37,
    "orientation": 30,
    "daily loc": 41,
    "object-attr": 50,
    "object-rel": 46,
    "counting": 47,
    "event-multi": 34,
    "event-single": 40,
}
"""Number of published questions of each sub-class, by its published name."""

COUNTRIES = ("Arvenia", "Belmora", "Corvania", "Dalmere", "Estoria", "Fenmark", "Galdor")
PLACES = ("museum", "school", "station", "theatre")
_LIES = {name: f"to the {name}" if name in ("left of", "right of") else name for name in DIRECTIONS}
_HEADINGS = ("To the left", "To the right", "Upwards", "Downwards")
_SIDES = ("On the left", "On the right", "Above it", "Below it")
_DIRECTED: Mapping[str, tuple[str, Sequence[str]]] = {
    "orientation": ("The wind blows from the {other} towards the {one}. Where does it blow?", _HEADINGS),
    "object-rel": ("Where is the {one} as seen from the {other}?", _SIDES),
    "event-multi": ("The {other} runs after the {one}. Where do they run?", _HEADINGS),
}
"""Questions for the direction of one object from another, and the words for the directions."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question before its options are ordered.

    ``clues`` are the ids of the objects that the answer needs. ``distracts`` tells whether other small objects suggest
    a false option.
    """

    category: str
    stem: str
    truth: str
    false: tuple[str, ...]
    clues: tuple[int, ...]
    distracts: bool


QuestionTemplate = Callable[[Scene, random.Random], Iterator[Draft]]


def drafts(category: str, scene: Scene, rng: random.Random) -> Iterator[Draft]:
    """Yield every question of this sub-class that the scene has, in random order."""
    return _TEMPLATES[category](scene, rng)


def small(scene: Scene) -> list[int]:
    """Return the ids of the small objects."""
    return [index for index, thing in enumerate(scene.objects) if thing.size == "small"]


def direction(scene: Scene, one: int, other: int) -> str | None:
    """Return the direction of ``one`` from ``other``; None unless one is certain and all others are false."""
    truths = {name: relation_holds(scene, one, other, name) for name in DIRECTIONS}
    certain = [name for name, held in truths.items() if held]
    return certain[0] if len(certain) == 1 and list(truths.values()).count(False) == 3 else None


def _by_look(scene: Scene) -> dict[Pair, list[int]]:
    looks: dict[Pair, list[int]] = {}
    for index in small(scene):
        looks.setdefault(scene.objects[index].pair, []).append(index)
    return looks


def _by_shape(scene: Scene) -> dict[str, list[int]]:
    shapes: dict[str, list[int]] = {}
    for index in small(scene):
        shapes.setdefault(scene.objects[index].shape, []).append(index)
    return shapes


def _named(scene: Scene, rng: random.Random) -> list[int]:
    """Return the ids of the small objects that colour and shape identify, in random order."""
    found = [ids[0] for ids in _by_look(scene).values() if len(ids) == 1]
    return rng.sample(found, len(found))


def _directed(scene: Scene, rng: random.Random) -> Iterator[tuple[int, int, str]]:
    """Yield pairs of named objects of different looks with a certain direction, and this direction."""
    for one, other in permutations(_named(scene, rng), 2):
        found = direction(scene, one, other)
        if found is not None:
            yield one, other, found


def _the(scene: Scene, index: int) -> str:
    return f"small {pair_name(scene.objects[index].pair)}"


def _among(words: Sequence[str], found: str, rng: random.Random) -> tuple[str, tuple[str, ...]]:
    """Return the word for a direction and the false ones.

    The false ones are the three others, or in a third of the cases the opposite alone.
    """
    truth, opposite = (words[DIRECTIONS.index(name)] for name in (found, CONVERSE[found]))
    others = tuple(word for word in words if word != truth)
    return truth, (opposite,) if rng.random() < 1 / 3 else others


def _lookalikes(scene: Scene, ids: Sequence[int]) -> bool:
    """Whether another small object shares colour or shape with one of these."""
    looks = [scene.objects[index].pair for index in ids]
    return any(
        scene.objects[other].colour == colour or scene.objects[other].shape == shape
        for other in small(scene)
        if other not in ids
        for colour, shape in looks
    )


def country(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    """Geo-Loc: each country has two emblems, and only those of the answer are both present.

    The countries have every combination of two emblems with two or three others, so that the question does not
    reveal the answer.
    """
    present = _by_look(scene)
    absent = [pair for pair in ALL_PAIRS if pair not in present]
    for one, other in permutations(_named(scene, rng), 2):
        firsts, seconds = [scene.objects[one].pair], [scene.objects[other].pair]
        unseen = rng.sample(absent, rng.choice((2, 3)))
        firsts.append(unseen[0])
        seconds.extend(unseen[1:])
        emblems = list(product(firsts, seconds))
        names = rng.sample(COUNTRIES, len(emblems))
        told = [
            f"{name} a small {pair_name(a)} and a small {pair_name(b)}"
            for name, (a, b) in zip(names, emblems, strict=True)
        ]
        rng.shuffle(told)
        stem = f"Each country has two emblems: {'; '.join(told)}. In which country are both emblems of this place?"
        distracts = _lookalikes(scene, (one, other))
        yield Draft("geo-loc(counrty)", stem, names[0], tuple(names[1:]), (one, other), distracts)


def directed(category: str, scene: Scene, rng: random.Random) -> Iterator[Draft]:
    """Orient, Obj-Rel and a part of Event-M: the direction of an object from another."""
    stem, words = _DIRECTED[category]
    for one, other, found in _directed(scene, rng):
        truth, false = _among(words, found, rng)
        text = stem.format(one=_the(scene, one), other=_the(scene, other))
        yield Draft(category, text, truth, false, (one, other), _lookalikes(scene, (one, other)))


def place(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    """Daily-Loc: the direction of an object from another tells what place this is."""
    for one, other, found in _directed(scene, rng):
        names = rng.sample(PLACES, len(PLACES))
        false: tuple[str, ...]
        lies, reference = f"the {_the(scene, one)} lies", f"the {_the(scene, other)}"
        if rng.random() < 0.4:
            asked = rng.choice((found, CONVERSE[found]))
            stem = f"In a {names[0]}, {lies} {_LIES[asked]} {reference}. Is this a {names[0]}?"
            truth, false = ("Yes", ("No",)) if asked == found else ("No", ("Yes",))
        else:
            told = [f"{_LIES[name]} it in a {kind}" for name, kind in zip(DIRECTIONS, names, strict=True)]
            rng.shuffle(told)
            stem = f"Seen from {reference}, {lies} {', '.join(told)}. What is this place?"
            truth, false = _among([f"A {name}" for name in names], found, rng)
        yield Draft("daily loc", stem, truth, false, (one, other), _lookalikes(scene, (one, other)))


def colour(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    """Obj-Attr: the colour of the one of several equal shapes that lies in a certain direction."""
    shapes = sorted(_by_shape(scene).items())
    for other in _named(scene, rng):
        for shape, ids in rng.sample(shapes, len(shapes)):
            if shape == scene.objects[other].shape or len(ids) < 2:
                continue
            for name in rng.sample(DIRECTIONS, len(DIRECTIONS)):
                held = [relation_holds(scene, index, other, name) for index in ids]
                if held.count(True) == 1 and held.count(False) == len(ids) - 1:
                    target = ids[held.index(True)]
                    stem = f"What color is the small {shape} that lies {_LIES[name]} the {_the(scene, other)}?"
                    yield _coloured(scene, stem, target, other, rng)


def _coloured(scene: Scene, stem: str, target: int, other: int, rng: random.Random) -> Draft:
    """Return a question with three to seven colours, first those of the objects of the same shape."""
    thing = scene.objects[target]
    near = {scene.objects[index].colour for index in _by_shape(scene)[thing.shape]} - {thing.colour}
    rest = [name for name in COLOURS if name != thing.colour and name not in near]
    false = [*sorted(near), *rng.sample(rest, len(rest))][: rng.randint(min(6, max(2, len(near))), 6)]
    options = [name.capitalize() for name in (thing.colour, *false)]
    return Draft("object-attr", stem, options[0], tuple(options[1:]), (target, other), bool(near))


def count(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    """Count-Dis: the number of objects of one look, among others of the same colour or shape."""
    crowds = [(pair, ids) for pair, ids in _by_look(scene).items() if len(ids) > 1]
    for pair, ids in rng.sample(crowds, len(crowds)):
        number = len(ids)
        low = max(0, number - rng.randint(0, 3))
        false = [str(value) for value in range(low, low + rng.randint(4, 6)) if value != number]
        stem = f"How many small {plural(pair_name(pair))} are there?"
        yield Draft("counting", stem, str(number), tuple(false), tuple(ids), _lookalikes(scene, ids))


def game(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    """Event-M: what several objects do together."""
    kinds: list[QuestionTemplate] = [_over, partial(directed, "event-multi")]
    for kind in rng.sample(kinds, 2):
        yield from kind(scene, rng)


def _over(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    crowds = [(shape, ids) for shape, ids in sorted(_by_shape(scene).items()) if 2 <= len(ids) <= 4]
    for shape, ids in rng.sample(crowds, len(crowds)):
        same = len({scene.objects[index].colour for index in ids}) == 1
        truth, false = ("Yes", "No") if same else ("No", "Yes")
        stem = f"The game of the small {plural(shape)} is over when all of them have the same color. Is the game over?"
        yield Draft("event-multi", stem, truth, (false,), tuple(ids), _lookalikes(scene, ids))


def find(scene: Scene, rng: random.Random) -> Iterator[Draft]:
    """Event-S: an object picks up the only other one of its colour."""
    for index in _named(scene, rng):
        thing = scene.objects[index]
        same = [other for other in small(scene) if other != index and scene.objects[other].colour == thing.colour]
        if len(same) != 1:
            continue
        truth = scene.objects[same[0]].shape
        false = rng.sample([shape for shape in SHAPES if shape not in (truth, thing.shape)], rng.randint(2, 4))
        distracts = any(scene.objects[other].shape in false for other in small(scene))
        stem = f"The {_the(scene, index)} picks up the other small object of its color. What does it pick up?"
        options = [f"A {shape}" for shape in (truth, *false)]
        yield Draft("event-single", stem, options[0], tuple(options[1:]), (index, same[0]), distracts)


_TEMPLATES: Mapping[str, QuestionTemplate] = {
    "geo-loc(counrty)": country,
    "orientation": partial(directed, "orientation"),
    "daily loc": place,
    "object-attr": colour,
    "object-rel": partial(directed, "object-rel"),
    "counting": count,
    "event-multi": game,
    "event-single": find,
}
