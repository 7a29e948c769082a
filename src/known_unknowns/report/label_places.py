"""Places for the labels of points in a plot, so that no label covers another label or a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import cos, pi, sin

CHARACTER, LINE = 0.6, 1.1
"""Mean width of a character and height of a line, as a share of the font size."""
_RADIUS, _FAR_RADIUS = 10.0, 4.0
"""Pixels around a point that labels of other points keep free. It is smaller for labels with a leader line."""
_STEP, _DIRECTIONS = 7, 24
"""Labels with a leader line are tried in rings of this distance in pixels, in this number of directions."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels."""


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a point, whose place is in pixels from the upper left corner. ``bars`` are its error bars."""

    text: str
    x: float
    y: float
    font_size: int
    bars: tuple[Box, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """The anchor of a label in pixels; ``near`` is false if it needs a leader line."""

    x: float
    y: float
    align: str
    near: bool = True


_SIDES = (
    ("left", 7, -8),
    ("right", -7, 11),
    ("right", -7, -8),
    ("left", 7, 11),
    ("left", 9, 0),
    ("right", -9, 0),
    ("center", 0, -14),
    ("center", 0, 16),
)
"""The places beside a point in order: alignment, and shift of the anchor in pixels, right and down."""


def places(labels: Sequence[Label], width: float, height: float, *, taken: Sequence[Box] = ()) -> list[Place]:
    """Return a place for the label of each point: beside the point, or the nearest free place, with a leader line.

    The first labels are placed first, and places on error bars come last beside a point. A plot without any free place
    has labels that cover something. ``width`` and ``height`` are those of the plot in pixels, and ``taken`` are other
    texts in it.
    """
    kept, found = list(taken), []
    bars = [bar for label in labels for bar in label.bars]

    def is_free(label: Label, place: Place) -> bool:
        box, radius = _box(label, place), _RADIUS if place.near else _FAR_RADIUS
        dots = ((p.x - radius, p.y - radius, p.x + radius, p.y + radius) for p in labels if p is not label)
        is_inside = box[0] >= 0 and box[2] <= width and box[1] >= 0 and box[3] <= height
        return is_inside and not any(_overlap(box, other) for other in (*kept, *dots))

    for label in labels:
        beside = [Place(label.x + dx, label.y + dy, align) for align, dx, dy in _SIDES]
        default = beside[0]
        is_right = label.x > 0.6 * width  # labels on the right of the plot are first tried to the left of their points
        beside.sort(key=lambda place: (place.align == "left") == is_right)
        beside.sort(key=lambda place: sum(_overlap(_box(label, place), bar) for bar in bars))
        tried = (place for place in (*beside, *_rings(label, width + height)) if is_free(label, place))
        place = next(tried, default)
        kept.append(_box(label, place))
        found.append(place)
    return found


def _rings(label: Label, largest: float) -> Iterator[Place]:
    for radius in range(2 * _STEP, int(largest), _STEP):
        for direction in range(_DIRECTIONS):
            angle = 2 * pi * direction / _DIRECTIONS
            yield Place(label.x + radius * cos(angle), label.y + radius * sin(angle), "center", near=False)


def _box(label: Label, place: Place) -> Box:
    length, half = CHARACTER * label.font_size * len(label.text), LINE * label.font_size / 2
    left = place.x - {"left": 0.0, "center": 0.5, "right": 1.0}[place.align] * length
    return left, place.y - half, left + length, place.y + half


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
