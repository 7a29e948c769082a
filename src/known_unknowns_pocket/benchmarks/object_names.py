"""Expressions that identify exactly one object of a scene."""

import random
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import combinations

from known_unknowns_pocket.scenes import SIZES, Pair, Scene, SceneObject

ATTRIBUTES = ("size", "texture", "colour", "shape")
"""In English order: large striped red star."""


def phrase(thing: SceneObject, attributes: Collection[str], noun: str = "object") -> str:
    """Return some attributes of the object as words; `noun` replaces the shape if that is left out."""
    words = [getattr(thing, attribute) for attribute in ATTRIBUTES if attribute in attributes]
    return " ".join(words if "shape" in attributes else [*words, noun])


def matching(scene: Scene, thing: SceneObject, attributes: Collection[str]) -> list[int]:
    """Return the ids of the objects that agree with `thing` in all of the attributes."""
    wanted = [(attribute, getattr(thing, attribute)) for attribute in attributes]
    return [
        index
        for index, other in enumerate(scene.objects)
        if all(getattr(other, attribute) == value for attribute, value in wanted)
    ]


def expressions(scene: Scene, index: int, hide: Collection[str] = ()) -> list[frozenset[str]]:
    """Return the sets of attributes that identify the object, the smallest first.

    Attributes in `hide` are not used. Sizes are used only if the scene has both sizes and no object of neither.
    The list is empty if another object looks the same.
    """
    return [*_expressions(scene, index, tuple(hide))]


@lru_cache(maxsize=1024)  # used many times for one question
def _expressions(scene: Scene, index: int, hide: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    usable = [name for name in ATTRIBUTES if name not in hide]
    if {thing.size for thing in scene.objects} != set(SIZES):
        usable = [name for name in usable if name != "size"]
    thing = scene.objects[index]
    return tuple(
        frozenset(chosen)
        for count in range(1, len(usable) + 1)
        for chosen in combinations(usable, count)
        if matching(scene, thing, chosen) == [index]
    )


def name(scene: Scene, index: int, rng: random.Random, hide: Collection[str] = ()) -> str | None:
    """Return an expression for the object with at most one redundant attribute; None if there is none.

    It contains the shape unless that is hidden.
    """
    found = expressions(scene, index, hide)
    if "shape" not in hide:
        found = [attributes for attributes in found if "shape" in attributes]
    if not found:
        return None
    short = [attributes for attributes in found if len(attributes) <= len(found[0]) + 1]
    return phrase(scene.objects[index], rng.choice(short))


def any_name(scene: Scene, rng: random.Random) -> str | None:
    """Return an expression for a random object; None if no object has one."""
    names = [name(scene, index, rng) for index in rng.sample(range(len(scene.objects)), len(scene.objects))]
    return next((found for found in names if found is not None), None)


def absent_pairs(scene: Scene, pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs that no object has, but whose colour and shape are both in the scene."""
    present = {thing.pair for thing in scene.objects}
    colours, shapes = {pair[0] for pair in present}, {pair[1] for pair in present}
    return [p for p in pairs if p not in present and p[0] in colours and p[1] in shapes]


def pair_name(pair: Pair) -> str:
    """Return colour and shape, such as "red star"."""
    return " ".join(pair)


def plural(noun: str) -> str:
    """Return the plural of an expression that ends in a shape or in "object"."""
    return noun + ("es" if noun.endswith("s") else "s")
