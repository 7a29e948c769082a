"""Question templates: each yields drafts about a scene in random order.

Every option of a draft except the truth is certainly false by the scene graph. Ambiguous relations, and objects
that no expression identifies, are not used.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from known_unknowns_pocket.benchmarks.object_names import matching, name, pair_name, phrase, plural
from known_unknowns_pocket.scenes import (
    ALL_PAIRS,
    COLOURS,
    CONTACTS,
    DIRECTIONS,
    PREDICATES,
    SHAPES,
    SIZES,
    TEXTURES,
    Pair,
    Scene,
    relation_holds,
    touching,
)

REFUSAL = "None of the above"
ABSENT_TEXTURES = ("checkered", "zigzag", "floral")
"""Textures that no object has."""

PHRASES = {
    predicate: f"to the {predicate}" if predicate in ("left of", "right of") else predicate for predicate in PREDICATES
}
"""A predicate in a question, before the name of the other object or "it"."""

_MOST_COUNTED = 7
_TOUCHING_FIRST = 0.45

Fact = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A question before its options are ordered; see `known_unknowns_pocket.benchmarks.questions.Question`.

    `false` are three false options; `substitute` is a fourth one that may replace the truth.
    """

    kind: str
    topic: tuple[str | int, ...]
    stem: str
    truth: str
    false: tuple[str, ...]
    substitute: str
    facts: tuple[Fact, ...]


QuestionTemplate = Callable[[Scene, random.Random, frozenset[Pair]], Iterator[Draft]]
"""Drafts from a scene, a random generator, and the (colour, shape) pairs that options may name."""


def existence(scene: Scene, rng: random.Random, allowed: frozenset[Pair]) -> Iterator[Draft]:
    """Which of these is in the image? The false options share colour or shape with objects of the scene."""
    absent = _absent(scene, rng, allowed)
    if len(absent) < 4 or not scene.objects:
        return
    index = rng.randrange(len(scene.objects))
    yield Draft(
        kind="existence",
        topic=("existence",),
        stem="Which of these objects is in the image?",
        truth=pair_name(scene.objects[index].pair),
        false=tuple(absent[1:4]),
        substitute=absent[0],
        facts=(("present", index),),
    )


def count(scene: Scene, rng: random.Random, allowed: frozenset[Pair]) -> Iterator[Draft]:
    """How many objects of a description are there? In some drafts there is none."""
    nouns = [(plural(noun), ids) for noun, ids in countable(scene)]
    absent = _absent(scene, rng, allowed)
    if absent:
        nouns.append((plural(absent[0]), []))
    # Most nouns name one object only. Without weights, "1" would be the answer to most questions.
    nouns.sort(key=lambda entry: rng.expovariate(0.5 if len(entry[1]) == 1 else 1.5))
    for noun, ids in nouns:
        number = len(ids)
        # Numbers near the truth with some noise: otherwise the truth would be the middle one of the four.
        others = [other for other in range(_MOST_COUNTED + 1) if other != number]
        nearby = sorted(others, key=lambda other: abs(other - number) + 2 * rng.random())[:4]
        false = [str(other) for other in rng.sample(nearby, 4)]
        yield Draft(
            kind="count",
            topic=("count", noun),
            stem=f"How many {noun} are there in the image?",
            truth=str(number),
            false=tuple(false[:3]),
            substitute=false[3],
            facts=(("count", noun, number), *(("present", index) for index in ids)),
        )


def where(scene: Scene, rng: random.Random, allowed: frozenset[Pair]) -> Iterator[Draft]:
    """Yield drafts of "Where is one object in relation to another?"."""
    ids = range(len(scene.objects))
    couples = [(subject, target) for subject in ids for target in ids if subject != target]
    rng.shuffle(couples)
    if rng.random() < _TOUCHING_FIRST:  # touching objects are less frequent
        couples.sort(key=lambda couple: not touching(scene, *couple))
    for subject, target in couples:
        truths = {predicate: relation_holds(scene, subject, target, predicate) for predicate in PREDICATES}
        true = [predicate for predicate, holds in truths.items() if holds]
        ours, theirs = name(scene, subject, rng), name(scene, target, rng)
        if len(true) != 1 or ours is None or theirs is None:
            continue
        false = _false_predicates(true[0], [p for p in PREDICATES if truths[p] is False], rng)
        if false is None:
            continue
        options = [f"{PHRASES[predicate]} it" for predicate in false]
        yield Draft(
            kind="where",
            topic=("relation", *sorted((subject, target))),
            stem=f"Where is the {ours} in relation to the {theirs}?",
            truth=f"{PHRASES[true[0]]} it",
            false=tuple(options[1:]),
            substitute=options[0],
            facts=((true[0], subject, target),),
        )


def related(scene: Scene, rng: random.Random, allowed: frozenset[Pair]) -> Iterator[Draft]:
    """Yield drafts of "Which object has a relation to another?"."""
    ids = range(len(scene.objects))
    held = [(p, s, t) for t in ids for s in ids if s != t for p in PREDICATES if relation_holds(scene, s, t, p)]
    for predicate, subject, target in rng.sample(held, len(held)):
        ours, theirs = name(scene, subject, rng), name(scene, target, rng)
        if ours is None or theirs is None:
            continue
        wrong = [other for other in ids if other != target and relation_holds(scene, other, target, predicate) is False]
        options = _false_objects(scene, rng, wrong, allowed)
        if options is None:
            continue
        yield Draft(
            kind="related",
            topic=("relation", *sorted((subject, target))),
            stem=f"Which of these objects is {PHRASES[predicate]} the {theirs}?",
            truth=ours,
            false=tuple(options[1:]),
            substitute=options[0],
            facts=((predicate, subject, target),),
        )


def colour(scene: Scene, rng: random.Random, allowed: frozenset[Pair]) -> Iterator[Draft]:
    """Yield drafts of "What colour is an object?"."""
    for index, called in _named(scene, rng, hide="colour"):
        thing = scene.objects[index]
        values = [value for value in COLOURS if (value, thing.shape) in allowed]
        yield from _value(scene, rng, index, "colour", values, f"What colour is the {called}?")


def shape(scene: Scene, rng: random.Random, allowed: frozenset[Pair]) -> Iterator[Draft]:
    """Yield drafts of "What shape is an object?"."""
    for index, called in _named(scene, rng, hide="shape"):
        thing = scene.objects[index]
        values = [value for value in SHAPES if (thing.colour, value) in allowed]
        yield from _value(scene, rng, index, "shape", values, f"What shape is the {called}?")


def texture(scene: Scene, rng: random.Random, allowed: frozenset[Pair]) -> Iterator[Draft]:
    """What texture does an object have? Two options are real textures and two never occur."""
    for index, called in _named(scene, rng, hide="texture"):
        truth = scene.objects[index].texture
        others = [value for value in TEXTURES if value != truth]
        rng.shuffle(others)
        yield Draft(
            kind="texture",
            topic=("attribute", index),
            stem=f"What is the texture of the {called}?",
            truth=truth,
            false=(others[1], *rng.sample(ABSENT_TEXTURES, 2)),
            substitute=others[0],
            facts=(("texture", index, truth),),
        )


def owner(scene: Scene, rng: random.Random, allowed: frozenset[Pair]) -> Iterator[Draft]:
    """Yield drafts of "Which object is large, small, plain, striped or dotted?"."""
    for value in rng.sample(SIZES + TEXTURES, len(SIZES + TEXTURES)):
        attribute, hide = ("size", ("size",)) if value in SIZES else ("texture", ("texture",))
        ids = range(len(scene.objects))
        having = [index for index in ids if getattr(scene.objects[index], attribute) == value]
        lacking = [index for index in ids if getattr(scene.objects[index], attribute) not in (value, "medium")]
        options = _false_objects(scene, rng, lacking, allowed, hide)
        called = [(index, name(scene, index, rng, hide)) for index in rng.sample(having, len(having))]
        for index, ours in called:
            if ours is not None and options is not None:
                yield Draft(
                    kind="owner",
                    topic=("owner", value),
                    stem=f"Which of these objects is {value}?",
                    truth=ours,
                    false=tuple(options[1:]),
                    substitute=options[0],
                    facts=((attribute, index, value),),
                )
                break


def _named(scene: Scene, rng: random.Random, hide: str) -> Iterator[tuple[int, str]]:
    """Yield ids in random order, each with an expression that does not contain the hidden attribute."""
    for index in rng.sample(range(len(scene.objects)), len(scene.objects)):
        called = name(scene, index, rng, (hide,))
        if called is not None:
            yield index, called


def _value(
    scene: Scene, rng: random.Random, index: int, attribute: str, values: Iterable[str], stem: str
) -> Iterator[Draft]:
    """Yield a question for a colour or a shape, with false options from other objects as far as possible.

    The number of options that are present in the image does not depend on whether the truth is one of them.
    """
    truth = getattr(scene.objects[index], attribute)
    present = {getattr(thing, attribute) for thing in scene.objects}
    others = [value for value in values if value != truth]
    rng.shuffle(others)
    others.sort(key=lambda value: value not in present)
    if len(others) >= 4:
        yield Draft(
            kind=attribute,
            topic=("attribute", index),
            stem=stem,
            truth=truth,
            false=tuple(others[1:4]),
            substitute=others[0],
            facts=((attribute, index, truth),),
        )


def _false_predicates(true: str, false: Sequence[str], rng: random.Random) -> list[str] | None:
    """Return four false predicates, the first of the truth's type; None if there are not enough.

    The number of directions among the options is drawn before the truth is considered and does not reveal it.
    """
    directions = [predicate for predicate in false if predicate in DIRECTIONS]
    contacts = [predicate for predicate in false if predicate in CONTACTS]
    rng.shuffle(directions)
    rng.shuffle(contacts)
    own, other = (directions, contacts) if true in DIRECTIONS else (contacts, directions)
    wanted = rng.choice((2, 3))
    for shown in (wanted, 5 - wanted):  # directions among the four options shown
        own_count = shown if true in DIRECTIONS else 4 - shown
        if len(own) >= own_count and len(other) >= 4 - own_count:
            return own[:own_count] + other[: 4 - own_count]
    return None


def _false_objects(
    scene: Scene, rng: random.Random, wrong: Sequence[int], allowed: frozenset[Pair], hide: Sequence[str] = ()
) -> list[str] | None:
    """Return four names of objects that are a false answer, of the scene's as far as possible.

    None if fewer than two objects of the scene are suitable.
    """
    names = [name(scene, index, rng, hide) for index in rng.sample(wrong, len(wrong))]
    present = [found for found in names if found is not None][:4]
    if len(present) < 2:
        return None
    options = (present + _absent(scene, rng, allowed))[:4]
    return options if len(options) == 4 else None


def _absent(scene: Scene, rng: random.Random, allowed: frozenset[Pair]) -> list[str]:
    """Return the names of pairs that are not in the scene, first those whose colour and shape both are."""
    present = {thing.pair for thing in scene.objects}
    colours, shapes = {pair[0] for pair in present}, {pair[1] for pair in present}
    absent = [pair for pair in ALL_PAIRS if pair in allowed and pair not in present]
    rng.shuffle(absent)
    absent.sort(key=lambda pair: -((pair[0] in colours) + (pair[1] in shapes)))
    return [pair_name(pair) for pair in absent]


def countable(scene: Scene) -> Iterator[tuple[str, list[int]]]:
    """Yield what can be counted: a noun in the singular, and the ids of the objects that it names."""
    seen = set()
    sets: list[tuple[str, ...]] = [("colour", "shape"), ("colour",), ("shape",), ("texture",)]
    if {thing.size for thing in scene.objects} == set(SIZES):  # a single object has neither size
        sets.append(("size",))
    yield "object", list(range(len(scene.objects)))
    for attributes in sets:
        for thing in scene.objects:
            noun = phrase(thing, attributes)
            if noun not in seen:
                seen.add(noun)
                yield noun, matching(scene, thing, attributes)
