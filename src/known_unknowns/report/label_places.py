"""Places for the labels of points in a plot, so that no label covers another label or a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import cos, pi, sin

CHARACTER, LINE = 0.6, 1.1
"""Mean width of a character and height of a line, as a share of the font size."""
_RADIUS, _FAR_RADIUS = 10.0, 4.0
"""Pixels around a point that labels of other points keep free. It is smaller for labels with a leader line."""
_STEP, _DIRECTIONS = 7, 24
"""Labels with a leader line are tried in rings of this distance in pixels, in this number of directions."""


@dataclass(frozen=True, slots=True)
class Side:
    """Where a label is, relative to its point: ``align``, and the shift of its anchor in pixels, right and down."""

    align: str
    dx: float
    dy: float


SIDES = (
    Side("left", 7, -8),
    Side("right", -7, 11),
    Side("right", -7, -8),
    Side("left", 7, 11),
    Side("left", 9, 0),
    Side("right", -9, 0),
    Side("center", 0, -14),
    Side("center", 0, 16),
)
"""The places beside a point, in order."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a plot in pixels from its upper left corner, with its label."""

    label: str
    x: float
    y: float
    font_size: int


@dataclass(frozen=True, slots=True)
class Place:
    """The anchor of a label in pixels; ``near`` is false if it needs a leader line."""

    x: float
    y: float
    align: str
    near: bool


Box = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels."""


def places(points: Sequence[Point], width: float, height: float, *, taken: Sequence[Box] = ()) -> list[Place]:
    """Return a place for the label of each point: beside the point, or the nearest free place, with a leader line.

    A plot without any free place has labels that cover something.

    Parameters
    ----------
    points : sequence of Point
        All points of the plot. Labels of the first ones are placed first.
    width, height : float
        The plot in pixels.
    taken : sequence of Box
        Other texts in the plot.
    """
    kept, found = list(taken), []
    for number, point in enumerate(points):
        others = [*points[:number], *points[number + 1 :]]
        for side, near in _sides(point, width, height):
            box, radius = _box(point, side), _RADIUS if near else _FAR_RADIUS
            inside = box[0] >= 0 and box[2] <= width and box[1] >= 0 and box[3] <= height
            dots = ((p.x - radius, p.y - radius, p.x + radius, p.y + radius) for p in others)
            if inside and not any(_overlap(box, other) for other in (*kept, *dots)):
                break
        else:
            side, near, box = SIDES[0], True, _box(point, SIDES[0])
        kept.append(box)
        found.append(Place(point.x + side.dx, point.y + side.dy, side.align, near))
    return found


def _sides(point: Point, width: float, height: float) -> Iterator[tuple[Side, bool]]:
    """Yield the places to try. On the right of the plot, labels to the left of their points come first."""
    on_right = point.x > 0.6 * width
    for side in sorted(SIDES, key=lambda side: (side.align == "left") == on_right):
        yield side, True
    for radius in count(2 * _STEP, _STEP):
        if radius > width + height:
            return
        for direction in range(_DIRECTIONS):
            angle = 2 * pi * direction / _DIRECTIONS
            yield Side("center", radius * cos(angle), radius * sin(angle)), False


def _box(point: Point, side: Side) -> Box:
    length = CHARACTER * point.font_size * len(point.label)
    left = point.x + side.dx - {"left": 0.0, "center": 0.5, "right": 1.0}[side.align] * length
    middle, half = point.y + side.dy, LINE * point.font_size / 2
    return left, middle - half, left + length, middle + half


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
