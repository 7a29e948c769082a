"""Scenes: a canvas, a background and objects with named attributes.

Lengths are in canvas units. The shorter side of the canvas is 1, x grows to the right, y grows downwards, and the
origin is the top left corner. The units are the same along both axes, so that a disc stays round and relations
hold at every size of the image.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

RGB = tuple[int, int, int]
Point = tuple[float, float]
Box = tuple[float, float, float, float]
Pair = tuple[str, str]
"""A colour and a shape, in this order."""

COLOURS: Mapping[str, RGB] = MappingProxyType(
    {
        "red": (216, 32, 38),
        "green": (38, 148, 62),
        "blue": (36, 84, 214),
        "yellow": (250, 212, 30),
        "purple": (124, 44, 168),
        "orange": (246, 122, 16),
        "pink": (248, 148, 200),
        "black": (34, 34, 38),
    }
)
# "disc" instead of "circle", because a ring may be called a circle.
SHAPES = ("disc", "square", "triangle", "star", "cross", "ring")
TEXTURES = ("plain", "striped", "dotted")
SIZES = ("small", "large")
PATTERNS = ("none", "lines", "grid")

SMALL_UP_TO = 0.10
LARGE_FROM = 0.15
"""Between the two radii the size of an object is ambiguous: it is "medium" and never asked about."""

ALL_PAIRS: tuple[Pair, ...] = tuple((colour, shape) for colour in COLOURS for shape in SHAPES)

HELD_OUT_PAIRS: frozenset[Pair] = frozenset(
    (colour, SHAPES[place % len(SHAPES)]) for place, colour in enumerate(COLOURS)
)
"""Pairs that the training of the pocket model did not show: a diagonal with each colour once (models/pocket)."""


@dataclass(frozen=True, slots=True)
class SceneObject:
    """An object: its attributes and position.

    `x`, `y` (centre) and `radius` are in canvas units. A disc has exactly this radius; the other shapes are
    scaled to look about as large. `angle` is in radians, clockwise.
    """

    shape: str
    colour: str
    texture: str
    x: float
    y: float
    radius: float
    angle: float = 0.0

    @property
    def size(self) -> str:
        """The size as a word: "small", "large", or "medium" for sizes in between."""
        if self.radius <= SMALL_UP_TO:
            return "small"
        return "large" if self.radius >= LARGE_FROM else "medium"

    @property
    def pair(self) -> Pair:
        """Colour and shape."""
        return self.colour, self.shape


@dataclass(frozen=True, slots=True)
class Background:
    """A vertical gradient from `top` to `bottom`, with an optional faint pattern `contrast` levels darker."""

    top: RGB = (240, 240, 236)
    bottom: RGB = (240, 240, 236)
    pattern: str = "none"
    contrast: int = 7


@dataclass(frozen=True, slots=True)
class Scene:
    """Objects on a canvas. A later object is in front of an earlier one. The id of an object is its index.

    `aspect` is width over height.
    """

    objects: tuple[SceneObject, ...]
    background: Background = Background()
    aspect: float = 1.0

    @property
    def canvas(self) -> tuple[float, float]:
        """Width and height in canvas units; the shorter is 1."""
        return max(1.0, self.aspect), max(1.0, 1 / self.aspect)


@dataclass(frozen=True, slots=True)
class Viewport:
    """Position of the canvas in an image: pixel = unit * scale + offset."""

    scale: float
    left: float
    top: float

    def pixel(self, point: Point) -> Point:
        """Pixel coordinates of a point in canvas units."""
        return point[0] * self.scale + self.left, point[1] * self.scale + self.top

    def box(self, box: Box) -> Box:
        """Pixel coordinates (x0, y0, x1, y1) of a box in canvas units."""
        return *self.pixel(box[:2]), *self.pixel(box[2:])


def viewport(scene: Scene, width: int, height: int) -> Viewport:
    """Fit the canvas into an image of `width` x `height` pixels, centred."""
    across, down = scene.canvas
    scale = min(width / across, height / down)
    return Viewport(scale, (width - across * scale) / 2, (height - down * scale) / 2)


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
    quarter: tuple[Point, ...] = ((-half, -arm), (half, -arm), (half, -half))
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
