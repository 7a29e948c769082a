"""Random scenes without ambiguous sizes or relations. Everything follows from the given seed."""

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, replace

from known_unknowns_pocket.scenes.model import (
    ALL_PAIRS,
    COLOURS,
    PATTERNS,
    RGB,
    SHAPES,
    TEXTURES,
    Background,
    Pair,
    Scene,
    SceneObject,
    reach,
)
from known_unknowns_pocket.scenes.relations import covered_share

MAX_OBJECTS = 8
CONTAINERS = ("disc", "square", "ring")
"""Shapes that may contain another object."""

_SMALL, _LARGE = (0.080, 0.095), (0.155, 0.172)
_CONTAINER, _CONTENT = (0.176, 0.186), (0.064, 0.072)
_MARGIN, _GAP = 0.02, 0.03  # to the canvas edge, between neighbours
_TILT = math.radians(10)
_COVERED = (0.12, 0.32)  # within the range of "partly covered", so that the shape stays recognisable
_MOST_OF_FRONT = 0.50
_REPEAT = 0.2  # probability that an object repeats an earlier one's colour and shape, for counting questions
_PREFERRED = 0.6
_ATTEMPTS = 80
_TRIES = 60


@dataclass(frozen=True, slots=True)
class _Group:
    """Objects placed together: around (0, 0), within `radius` of it, in painting order."""

    objects: tuple[SceneObject, ...]
    radius: float


def sample_scene(
    seed: int | str,
    *,
    n_objects: tuple[int, int] = (2, 6),
    prefer: Iterable[Pair] | None = None,
    aspect: float = 1.0,
    nested: float = 0.3,
    overlap: float = 0.3,
) -> Scene:
    """Return a scene that depends on the arguments alone, with its width over height (0.4 to 2.5) as ``aspect``.

    ``n_objects`` are the least and the greatest number of objects, within 1 to `MAX_OBJECTS`. The pairs of ``prefer``
    make up more than half of the objects. ``nested`` and ``overlap`` are the probabilities of one object inside
    another, and partly in front of another, if the shapes allow it.
    """
    chosen = frozenset(prefer or ())
    preferred = [pair for pair in ALL_PAIRS if pair in chosen]  # the order of a set differs between processes
    rng = random.Random(f"scene/{seed}")
    background = _background(rng)
    looks = _looks(rng, rng.randint(*n_objects), preferred)
    canvas = Scene((), background, aspect).canvas
    for attempt in range(_ATTEMPTS):
        # Crowded layouts may not fit. Each further attempt makes large objects rarer.
        patience = 1 - attempt / _ATTEMPTS
        groups = _groups(rng, looks, 0.5 * patience, nested * patience, overlap * patience)
        objects = _place(rng, groups, canvas)
        if objects is not None:
            return Scene(objects, background, aspect)
    raise RuntimeError(f"no layout found for seed {seed!r} with {len(looks)} objects: report this as a defect")


def grey(rng: random.Random, level: int) -> RGB:
    """Return a colour whose channels are at most 8 away from ``level``."""
    return level + rng.randint(-8, 8), level + rng.randint(-8, 8), level + rng.randint(-8, 8)


def _background(rng: random.Random) -> Background:
    """Return a pale background. No channel is below 206, pattern included, so that it has no object's colour."""
    base = rng.randint(222, 244)
    top, bottom = grey(rng, base), grey(rng, base)
    return Background(top, bottom, rng.choice(PATTERNS), contrast=rng.randint(5, 8))


def _looks(rng: random.Random, count: int, preferred: list[Pair]) -> list[Pair]:
    """Return colour and shape of each object: few different ones, so that objects share a colour or a shape."""
    colours = frozenset(rng.sample(tuple(COLOURS), rng.randint(3, 5)))
    shapes = frozenset(rng.sample(SHAPES, rng.randint(2, 4)))
    usual = [pair for pair in ALL_PAIRS if pair[0] in colours and pair[1] in shapes]
    looks: list[Pair] = []
    for _ in range(count):
        if looks and rng.random() < _REPEAT:
            looks.append(rng.choice(looks))
        elif preferred and rng.random() < _PREFERRED:
            looks.append(rng.choice(preferred))
        else:
            looks.append(rng.choice(usual))
    return looks


def _object(rng: random.Random, pair: Pair, radii: tuple[float, float]) -> SceneObject:
    return SceneObject(
        shape=pair[1],
        colour=pair[0],
        texture=rng.choice(TEXTURES),
        x=0.0,
        y=0.0,
        radius=rng.uniform(*radii),
        angle=rng.uniform(-_TILT, _TILT),
    )


def _groups(rng: random.Random, looks: list[Pair], large: float, nested: float, overlap: float) -> list[_Group]:
    """Return the objects, some of them in pairs."""
    left = rng.sample(looks, len(looks))
    groups = []
    for chance, make in ((nested, _nested), (overlap, _overlapping)):
        if rng.random() < chance:
            group = make(rng, left)
            if group is not None:
                groups.append(group)
                for thing in group.objects:
                    left.remove(thing.pair)
    for pair in left:
        thing = _object(rng, pair, _LARGE if rng.random() < large else _SMALL)
        groups.append(_Group((thing,), reach(thing.shape, thing.radius)))
    return groups


def _nested(rng: random.Random, looks: list[Pair]) -> _Group | None:
    """Return a small object in the middle of a large one."""
    for outer in looks:
        for inner in looks:
            if outer[1] in CONTAINERS and inner[0] != outer[0]:
                container = _object(rng, outer, _CONTAINER)
                content = _object(rng, inner, _CONTENT)
                if container.texture != "plain":
                    content = replace(content, texture="plain")  # a texture on a texture is hard to recognise
                return _Group((container, content), reach(container.shape, container.radius))
    return None


def _overlapping(rng: random.Random, looks: list[Pair]) -> _Group | None:
    """Return two large objects, the second covering a part of the first."""
    for back_pair in looks:
        for front_pair in looks:
            # A cross without an arm looks like a T, and a ring does not hide what is behind it.
            if back_pair[0] == front_pair[0] or back_pair[1] == "cross" or front_pair[1] == "ring":
                continue
            group = _overlap(rng, _object(rng, back_pair, _LARGE), _object(rng, front_pair, _LARGE))
            if group is not None:
                return group
    return None


def _overlap(rng: random.Random, back: SceneObject, front: SceneObject) -> _Group | None:
    direction = rng.uniform(0, 2 * math.pi)
    back_reach, front_reach = (reach(thing.shape, thing.radius) for thing in (back, front))
    for _ in range(8):
        apart = (back.radius + front.radius) * rng.uniform(0.62, 0.85)
        dx, dy = math.cos(direction) * apart, math.sin(direction) * apart
        of_back, of_front = covered_share(back, replace(front, x=dx, y=dy))
        if _COVERED[0] <= of_back <= _COVERED[1] and of_front <= _MOST_OF_FRONT:
            # The circle around both circles has its centre this far along the line between the centres.
            shift = (apart + front_reach - back_reach) / 2 / apart
            objects = (
                replace(back, x=-dx * shift, y=-dy * shift),
                replace(front, x=dx * (1 - shift), y=dy * (1 - shift)),
            )
            return _Group(objects, (apart + back_reach + front_reach) / 2)
    return None


def _place(rng: random.Random, groups: list[_Group], canvas: tuple[float, float]) -> tuple[SceneObject, ...] | None:
    """Return positions at which no two groups come near each other; None if there is no room."""
    placed: list[tuple[float, float, float]] = []
    objects: list[SceneObject] = []
    for group in sorted(groups, key=lambda group: -group.radius):  # the largest is the hardest to fit
        room = group.radius + _MARGIN
        if min(canvas) < 2 * room:
            return None
        for _ in range(_TRIES):
            x, y = rng.uniform(room, canvas[0] - room), rng.uniform(room, canvas[1] - room)
            if all(math.hypot(x - a, y - b) >= r + group.radius + _GAP for a, b, r in placed):
                break
        else:
            return None
        placed.append((x, y, group.radius))
        objects.extend(replace(thing, x=thing.x + x, y=thing.y + y) for thing in group.objects)
    return tuple(objects)
