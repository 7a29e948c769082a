"""The outlines of the shapes, as polygons in canvas units."""

import math
from functools import lru_cache

from known_unknowns_pocket.scenes.model import SHAPES, Box, Point, SceneObject

Rings = tuple[tuple[Point, ...], ...]
"""Closed polygons: the outer boundary, then the holes."""

RING_HOLE = 0.62
"""Radius of a ring's hole relative to the ring's radius."""


def _regular(count: int, *radii: float) -> tuple[Point, ...]:
    """`count` corners at equal angles from the top, clockwise, at the radii in turn."""
    return tuple(
        (radii[k % len(radii)] * math.sin(turn), -radii[k % len(radii)] * math.cos(turn))
        for k in range(count)
        for turn in (2 * math.pi * k / count,)
    )


def _square(half: float) -> tuple[Point, ...]:
    return (-half, -half), (half, -half), (half, half), (-half, half)


def _cross(arm: float, half: float) -> tuple[Point, ...]:
    quarter = ((-half, -arm), (half, -arm), (half, -half))
    corners: list[Point] = []
    for _ in range(4):
        corners.extend(quarter)
        quarter = tuple((-y, x) for x, y in quarter)
    return tuple(corners)


# Around the origin, for radius 1. The factors make the shapes look about equally large.
_OTHER_SCALE: dict[str, Rings] = {
    "disc": (_regular(96, 1.0),),
    "square": (_square(0.88),),
    "triangle": (_regular(3, 1.22),),
    "star": (_regular(10, 1.2, 0.52),),
    "cross": (_cross(1.06, 0.37),),
    "ring": (_regular(96, 1.0), _regular(96, RING_HOLE)),
}
_REACH = {shape: max(math.hypot(*point) for point in _OTHER_SCALE[shape][0]) for shape in SHAPES}


def reach(shape: str, radius: float = 1.0) -> float:
    """Return the radius of the smallest circle around an object's centre that contains it."""
    return _REACH[shape] * radius


@lru_cache(maxsize=2048)
def outline(thing: SceneObject) -> Rings:
    """Return the object's outer boundary and holes, in canvas units."""
    cos, sin = math.cos(thing.angle) * thing.radius, math.sin(thing.angle) * thing.radius
    return tuple(
        tuple((thing.x + x * cos - y * sin, thing.y + x * sin + y * cos) for x, y in ring)
        for ring in _OTHER_SCALE[thing.shape]
    )


def bounds(thing: SceneObject) -> Box:
    """Return the object's bounding box (x0, y0, x1, y1) in canvas units."""
    xs, ys = zip(*outline(thing)[0], strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def area(thing: SceneObject) -> float:
    """Return the object's own area in square canvas units, without its holes."""
    outer, *holes = (abs(_shoelace(ring)) for ring in outline(thing))
    return outer - sum(holes)


def _shoelace(ring: tuple[Point, ...]) -> float:
    following = ring[1:] + ring[:1]
    return sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in zip(ring, following, strict=True)) / 2
