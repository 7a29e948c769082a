"""Scenes of the pocket ActiView: large, with objects too small to be recognised in the full image.

The full image and each view have an eighth of the original's sides. The box of a small object has at most `LOST`
pixels a side in the full image, and at least `SEEN` in a view.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from known_unknowns_benchmarks.actiview import views
from known_unknowns_benchmarks.actiview.format import Clue
from known_unknowns_pocket.scenes import (
    ALL_PAIRS,
    HELD_OUT_PAIRS,
    TEXTURES,
    Background,
    Pair,
    Scene,
    SceneObject,
    bounds,
)
from known_unknowns_pocket.scenes.model import Box, reach, viewport
from known_unknowns_pocket.scenes.sampling import grey

SIZES = ((1920, 1080), (1920, 1280), (1920, 1440), (2160, 1440))
"""Widths and heights in pixels; the originals of the paper start at 1920 x 1040 (Appendix A.1)."""
REDUCTION = 8
"""The sides of an original relative to those of the full image of limited resolution and of each view."""
LOST, SEEN = 12.0, 15.0
PARTLY = 0.10
"""A view holds a part of a clue if it holds more than this share of the clue's box (released code)."""

_SMALL = (36, 42)  # radius in pixels of the original
_LARGE = (0.151, 0.168)  # radius in canvas units
_GAP, _MARGIN = 0.03, 0.02
_HELD_OUT = 0.5
_TRIES, _ATTEMPTS = 40, 400
_OPPOSITE = {1: 4, 2: 3, 3: 2, 4: 1}
_NEIGHBOURS = {1: (2, 3), 2: (1, 4), 3: (1, 4), 4: (2, 3)}


@dataclass(frozen=True, slots=True)
class SceneImage:
    """A scene, its size in pixels, and the name of its files without their endings."""

    stem: str
    scene: Scene
    width: int
    height: int

    @property
    def reduced(self) -> tuple[int, int]:
        """Width and height of the full image of limited resolution, and of each view."""
        return self.width // REDUCTION, self.height // REDUCTION

    def box(self, index: int) -> Box:
        """Return an object's box in pixels."""
        return viewport(self.scene, self.width, self.height).box(bounds(self.scene.objects[index]))


def clues(scene_image: SceneImage, ids: Iterable[int]) -> tuple[Clue, ...]:
    """Return what each of the four views holds of the objects ``ids``, by the released rule.

    "partial" if any of them lies partly in the view, with more than `PARTLY` of its box; else the number of those
    that lie entirely in it, or "no".
    """
    boxes = [scene_image.box(index) for index in ids]
    return tuple(_held(boxes, views.part_box(scene_image.width, scene_image.height, number)) for number in range(1, 5))


def _held(boxes: Sequence[Box], tile: tuple[int, int, int, int]) -> Clue:
    shares = [_share(box, tile) for box in boxes]
    if any(PARTLY < share < 1 for share in shares):
        return "partial"
    return sum(share == 1 for share in shares) or "no"


def _share(box: Box, tile: tuple[int, int, int, int]) -> float:
    """Return the share of a box's area that lies in a tile; exactly 1 if all does."""
    if box[0] >= tile[0] and box[1] >= tile[1] and box[2] <= tile[2] and box[3] <= tile[3]:
        return 1.0
    across, down = (max(0.0, min(box[k + 2], tile[k + 2]) - max(box[k], tile[k])) for k in (0, 1))
    return across * down / ((box[2] - box[0]) * (box[3] - box[1]))


def sample(seed: str, width: int, height: int) -> Scene:
    """Return a scene that depends on the arguments alone: one or two large objects, eight to twelve small ones.

    Some of the small ones lie across the line between two views. Two to four of them look the same and leave one
    view free.
    """
    rng = random.Random(f"actiview/scene/{seed}")
    for _ in range(_ATTEMPTS):
        objects = _Placing(rng, width, height).objects()
        if objects is not None:
            level = rng.randint(222, 244)
            background = Background(grey(rng, level), grey(rng, level))
            return Scene(objects, background, aspect=width / height)
    raise RuntimeError(f"no layout found for {seed!r}: report this as a defect")


class _Placing:
    """One attempt to place objects at a distance from each other."""

    def __init__(self, rng: random.Random, width: int, height: int) -> None:
        self._rng = rng
        self._canvas = (width / height, 1.0)
        self._height = height
        self._placed: list[SceneObject] = []

    def objects(self) -> tuple[SceneObject, ...] | None:
        """Return the objects, the small ones first; None if there is no room."""
        rng = self._rng
        everywhere = (0.0, 0.0, *self._canvas)
        large = [self._add(rng.choice(ALL_PAIRS), everywhere, large=True) for _ in range(rng.randint(1, 2))]
        look = self._look()
        crowd = [self._add(look, area, across=line) for area, line in self._crowd_areas(rng.randint(2, 4))]
        others = [self._add(self._look(), everywhere, across=rng.choice((0, 1))) for _ in range(rng.randint(2, 3))]
        others += [self._add(self._look(), everywhere) for _ in range(rng.randint(4, 5))]
        if not all([*large, *crowd, *others]):
            return None
        return (*self._placed[len(large) :], *self._placed[: len(large)])

    def _look(self) -> Pair:
        held = self._rng.random() < _HELD_OUT
        return self._rng.choice(sorted(HELD_OUT_PAIRS) if held else ALL_PAIRS)

    def _crowd_areas(self, count: int) -> list[tuple[Box, int | None]]:
        """Return the areas of ``count`` objects that leave one view free.

        The first is across the line between two views, the second in a third view, the others in any of the
        three.
        """
        free = self._rng.randint(1, 4)
        opposite = _OPPOSITE[free]
        shared, third = self._rng.sample(_NEIGHBOURS[free], 2)
        pair = [self._area(opposite), self._area(shared)]
        both = tuple(pick(sides) for pick, sides in zip((min, min, max, max), zip(*pair, strict=True), strict=True))
        line = 0 if {opposite, shared} in ({1, 3}, {2, 4}) else 1
        rest = [self._area(self._rng.choice((opposite, shared, third))) for _ in range(count - 2)]
        return [(both, line), (self._area(third), None), *((area, None) for area in rest)]

    def _area(self, view: int) -> Box:
        column, row = divmod(view - 1, 2)
        across, down = (side / 2 for side in self._canvas)
        return column * across, row * down, (column + 1) * across, (row + 1) * down

    def _add(self, look: Pair, area: Box, *, across: int | None = None, large: bool = False) -> bool:
        """Place an object at a free position in the area; with ``across``, on the middle line of that axis (0: x)."""
        rng = self._rng
        radius = rng.uniform(*_LARGE) if large else rng.uniform(*_SMALL) / self._height
        room = reach(look[1], radius) + _MARGIN
        for _ in range(_TRIES):
            place = [rng.uniform(area[k] + room, area[k + 2] - room) for k in (0, 1)]
            if across is not None:
                place[across] = self._canvas[across] / 2 + rng.uniform(-0.95, 0.95) * radius
            thing = SceneObject(
                shape=look[1],
                colour=look[0],
                texture=rng.choice(TEXTURES) if large else "plain",
                x=place[0],
                y=place[1],
                radius=radius,
                angle=rng.uniform(-0.17, 0.17),
            )
            if all(_apart(thing, other) for other in self._placed):
                self._placed.append(thing)
                return True
        return False


def _apart(one: SceneObject, other: SceneObject) -> bool:
    distance = math.hypot(one.x - other.x, one.y - other.y)
    return distance >= reach(one.shape, one.radius) + reach(other.shape, other.radius) + _GAP
