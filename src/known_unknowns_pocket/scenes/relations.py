"""Spatial relations between two objects: certain, certainly false, or ambiguous.

The thresholds leave a wide margin. An ambiguous relation is not in the scene graph, and no question uses it as a
false option.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw

from known_unknowns_pocket.scenes.model import Scene, SceneObject, area, bounds, outline, reach

PREDICATES = (
    "left of",
    "right of",
    "above",
    "below",
    "inside",
    "around",
    "partly covering",
    "partly covered by",
)
DIRECTIONS = PREDICATES[:4]
CONTACTS = PREDICATES[4:]
CONVERSE = dict(zip(PREDICATES, [PREDICATES[k ^ 1] for k in range(len(PREDICATES))], strict=True))
"""The predicate that holds of (b, a) if the key holds of (a, b)."""

CLEAR_ANGLE = 25.0
"""Largest angle to an axis, in degrees, at which a direction is certain."""
FALSE_ANGLE = 75.0
"""Least angle to an axis, in degrees, at which a direction is certainly false."""
APART = 0.010
"""Least distance of two objects that certainly do not touch, in canvas units."""
ENCLOSED = 0.010
"""Least distance of an inner object from its container's boundary, in canvas units."""
COVERED = (0.08, 0.50)
"""Share of an object's area that is hidden if it is "partly covered"."""
MOSTLY_OUTSIDE = 0.60
"""An object with at most this share of its area on another is certainly not inside it."""
CONCENTRIC = 0.30
"""Largest distance of the centres, relative to the container's radius, at which "inside" has no direction."""

_RASTER = 192  # cells along the longer side of the area where two outlines are compared
_STEP = 0.05  # spacing of the points along a boundary, in radii of the object


@dataclass(frozen=True, slots=True)
class _Contact:
    """How two objects meet; `first` is the inner or the front one of (back, front)."""

    kind: str  # "apart", "nested", "overlap" or "unclear"
    first: int = -1  # 0: the back object, 1: the front object


def relation_holds(scene: Scene, subject: int, target: int, predicate: str) -> bool | None:
    """Whether the object ``subject`` stands in a predicate to ``target`` (ids); None if the relation is ambiguous."""
    if PREDICATES.index(predicate) % 2:
        subject, target, predicate = target, subject, CONVERSE[predicate]
    back, front = sorted((subject, target))
    contact = _contact(scene.objects[back], scene.objects[front])
    if predicate in DIRECTIONS:
        return _direction(scene.objects[subject], scene.objects[target], predicate, contact)
    subject_is_first = contact.first == (subject == front)
    if predicate == "inside":
        return _inside(contact, subject_is_first)
    return _covering(contact, subject_is_first)


def relations(scene: Scene) -> Iterator[tuple[int, int, str]]:
    """Yield every certain relation as (subject id, object id, predicate), in the order of the ids."""
    count = len(scene.objects)
    for subject in range(count):
        for target in range(count):
            if subject != target:
                for predicate in PREDICATES:
                    if relation_holds(scene, subject, target, predicate):
                        yield subject, target, predicate


def touching(scene: Scene, one: int, other: int) -> bool:
    """Whether two objects (ids) are not certainly apart."""
    back, front = sorted((one, other))
    return _contact(scene.objects[back], scene.objects[front]).kind != "apart"


def covered_share(back: SceneObject, front: SceneObject) -> tuple[float, float]:
    """Return the shares of the back and of the front object's area that overlap."""
    shared = _shared_area(back, front)
    return shared / area(back), shared / area(front)


def _inside(contact: _Contact, subject_is_first: bool) -> bool | None:
    if contact.kind == "unclear":
        return None
    return contact.kind == "nested" and subject_is_first


def _covering(contact: _Contact, subject_is_first: bool) -> bool | None:
    if contact.kind == "unclear":
        return None
    if contact.kind == "nested":
        # An inner object lies on its container, so it may be said to cover a part of it.
        return None if subject_is_first else False
    return contact.kind == "overlap" and subject_is_first


def _direction(subject: SceneObject, target: SceneObject, predicate: str, contact: _Contact) -> bool | None:
    """Whether "left of" or "above" holds; the other directions are their converses."""
    ours, theirs = bounds(subject), bounds(target)
    axis = 0 if predicate == "left of" else 1
    along = (theirs[axis] + theirs[axis + 2] - ours[axis] - ours[axis + 2]) / 2
    across = (theirs[1 - axis] + theirs[3 - axis] - ours[1 - axis] - ours[3 - axis]) / 2
    if contact.kind == "nested" and math.hypot(along, across) <= CONCENTRIC * max(subject.radius, target.radius):
        return False
    angle = math.degrees(math.atan2(abs(across), along))
    if angle >= FALSE_ANGLE:
        return False
    separated = ours[axis + 2] < theirs[axis]
    return True if contact.kind == "apart" and separated and angle <= CLEAR_ANGLE else None


@lru_cache(maxsize=8192)
def _contact(back: SceneObject, front: SceneObject) -> _Contact:
    distance = math.hypot(back.x - front.x, back.y - front.y)
    if distance >= reach(back.shape, back.radius) + reach(front.shape, front.radius) + APART:
        return _Contact("apart")
    shared = _shared_area(back, front)
    if _encloses(back, front):
        return _Contact("nested", first=1)
    if _encloses(front, back):
        # Hidden by its container, unless it is visible through the container's hole.
        return _Contact("nested", first=0) if shared == 0 else _Contact("unclear")
    if shared == 0:
        return _Contact("apart") if _gap(back, front) >= APART else _Contact("unclear")
    of_back, of_front = shared / area(back), shared / area(front)
    if COVERED[0] <= of_back <= COVERED[1] and of_front <= MOSTLY_OUTSIDE:
        return _Contact("overlap", first=1)
    return _Contact("unclear")


def _boundary(thing: SceneObject) -> np.ndarray:
    """Points along the outer boundary, at most `_STEP` radii apart. Shape (n, 2)."""
    corners = np.array(outline(thing)[0])
    pieces = []
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        count = max(1, math.ceil(np.hypot(*(end - start)) / (_STEP * thing.radius)))
        pieces.append(start + (end - start) * (np.arange(count) / count)[:, None])
    return np.concatenate(pieces)


def _gap(one: SceneObject, other: SceneObject) -> float:
    """Return the least distance between two outer boundaries."""
    between = _boundary(one)[:, None, :] - _boundary(other)[None, :, :]
    return float(np.sqrt((between**2).sum(axis=-1)).min())


def _encloses(outer: SceneObject, inner: SceneObject) -> bool:
    """Whether the inner outline lies within the outer one, at least `ENCLOSED` from its boundary."""
    x0, y0, x1, y1 = bounds(outer)
    inner_x0, inner_y0, inner_x1, inner_y1 = bounds(inner)
    if inner_x0 < x0 or inner_y0 < y0 or inner_x1 > x1 or inner_y1 > y1:
        return False
    return bool(_within(_boundary(inner), np.array(outline(outer)[0])).all()) and _gap(outer, inner) >= ENCLOSED


def _within(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """For each point, whether a ray from it crosses the polygon an odd number of times. Shape (n,)."""
    x, y = points[:, :1], points[:, 1:]
    (x0, y0), (x1, y1) = corners.T, np.roll(corners, -1, axis=0).T
    straddles = (y0 > y) != (y1 > y)
    rise = np.where(y1 == y0, 1.0, y1 - y0)
    crossings = straddles & (x < x0 + (y - y0) * (x1 - x0) / rise)
    return crossings.sum(axis=1) % 2 == 1


def _shared_area(one: SceneObject, other: SceneObject) -> float:
    """Return the area in square canvas units that both objects cover, without holes, from a fine raster."""
    boxes = bounds(one), bounds(other)
    left, top = (max(box[k] for box in boxes) for k in (0, 1))
    right, bottom = (min(box[k] for box in boxes) for k in (2, 3))
    if left >= right or top >= bottom:
        return 0.0
    cell = max(right - left, bottom - top) / _RASTER
    size = math.ceil((right - left) / cell) + 1, math.ceil((bottom - top) / cell) + 1
    solids = []
    for thing in (one, other):
        solid = Image.new("L", size)
        draw = ImageDraw.Draw(solid)
        for place, ring in enumerate(outline(thing)):
            draw.polygon([((x - left) / cell, (y - top) / cell) for x, y in ring], fill=int(place == 0))
        solids.append(np.asarray(solid))
    return int((solids[0] & solids[1]).sum()) * cell * cell
