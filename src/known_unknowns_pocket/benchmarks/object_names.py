"""Words for objects: expressions that pick out exactly one object of a scene."""

import random
from collections.abc import Collection
from functools import lru_cache
from itertools import combinations

from known_unknowns_pocket.scenes import SIZES, Pair, Scene, SceneObject

ATTRIBUTES = ("size", "texture", "colour", "shape")
"""In the order in which English names them: large striped red star."""


def phrase(thing: SceneObject, attributes: Collection[str], noun: str = "object") -> str:
    """The object named by some of its attributes; `noun` stands in for the shape where that is left out."""
    words = [getattr(thing, attribute) for attribute in ATTRIBUTES if attribute in attributes]
    return " ".join(words if "shape" in attributes else [*words, noun])


def matching(scene: Scene, thing: SceneObject, attributes: Collection[str]) -> list[int]:
    """Ids of the objects that agree with `thing` in all of the attributes."""
    wanted = [(attribute, getattr(thing, attribute)) for attribute in attributes]
    return [
        index
        for index, other in enumerate(scene.objects)
        if all(getattr(other, attribute) == value for attribute, value in wanted)
    ]


def expressions(scene: Scene, index: int, hide: Collection[str] = ()) -> list[frozenset[str]]:
    """The sets of attributes that pick out the object, the smallest first.

    Attributes in `hide` are not used. Sizes are used only where the scene has both to compare and no
    object of neither size. An object that looks the same as another one gets an empty list.
    """
    return [*_expressions(scene, index, tuple(hide))]


@lru_cache(maxsize=1024)  # one question draws on them many times
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
    """An expression for the object, with at most one attribute more than it needs; None where there is none.

    It says the shape unless that is hidden, since "the red one" is hard to look for.
    """
    found = expressions(scene, index, hide)
    if "shape" not in hide:
        found = [attributes for attributes in found if "shape" in attributes]
    if not found:
        return None
    short = [attributes for attributes in found if len(attributes) <= len(found[0]) + 1]
    return phrase(scene.objects[index], rng.choice(short))


def pair_name(pair: Pair) -> str:
    """Colour and shape, such as "red star"."""
    return " ".join(pair)


def plural(noun: str) -> str:
    """The plural of an expression that ends in a shape or in "object"."""
    return noun + ("es" if noun.endswith("s") else "s")
