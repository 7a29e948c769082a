"""Places for the labels of points in a plot, so that no label covers another label or a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

CHARACTER, LINE = 0.6, 1.1
"""Mean width of a character and height of a line, as a share of the font size."""
_RADIUS = 10.0
"""Pixels around a point that labels of other points keep free, so that it is clear whose label it is."""


@dataclass(frozen=True, slots=True)
class Side:
    """Where a label is, relative to its point: ``align``, and the shift of its anchor in pixels, right and down."""

    align: str
    dx: int
    dy: int


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
"""The places that are tried, in order."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a plot in pixels from its upper left corner, with its label."""

    label: str
    x: float
    y: float
    font_size: int


Box = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels."""


def sides_of(points: Sequence[Point], width: float, height: float) -> dict[str, Side]:
    """Return the place of each label that fits into the plot without covering anything; others are left out.

    Parameters
    ----------
    points : sequence of Point
        All points of the plot. Labels of the first ones are placed first.
    width, height : float
        The plot in pixels.
    """
    dots = [(p.x - _RADIUS, p.y - _RADIUS, p.x + _RADIUS, p.y + _RADIUS) for p in points]
    taken: list[Box] = []
    found: dict[str, Side] = {}
    for number, point in enumerate(points):
        others = [*taken, *dots[:number], *dots[number + 1 :]]
        for side in _preferred(point, width):
            box = _box(point, side)
            inside = box[0] >= 0 and box[2] <= width and box[1] >= -LINE * point.font_size and box[3] <= height
            if inside and not any(_overlap(box, other) for other in others):
                taken.append(box)
                found[point.label] = side
                break
    return found


def _preferred(point: Point, width: float) -> Iterator[Side]:
    """On the right of the plot, labels to the left of their points come first."""
    on_right = point.x > 0.6 * width
    yield from sorted(SIDES, key=lambda side: (side.align == "left") == on_right)


def _box(point: Point, side: Side) -> Box:
    length = CHARACTER * point.font_size * len(point.label)
    left = point.x + side.dx - {"left": 0.0, "center": 0.5, "right": 1.0}[side.align] * length
    middle, half = point.y + side.dy, LINE * point.font_size / 2
    return left, middle - half, left + length, middle + half


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
