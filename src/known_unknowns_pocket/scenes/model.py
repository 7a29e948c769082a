"""Scenes: a canvas, a background and objects with named attributes.

Lengths are in canvas units. The shorter side of the canvas is 1, x grows to the right, y grows downwards, and the
origin is the top left corner. The units are the same along both axes, so that a disc stays round and relations
hold at every size of the image.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
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
"""Pairs that training scenes do not contain: a diagonal with each colour once. At least five shapes of each
colour and six colours of each shape remain for training.
"""

TRAINING_PAIRS: frozenset[Pair] = frozenset(ALL_PAIRS) - HELD_OUT_PAIRS


def _require(value: str, known: object, what: str) -> None:
    if value not in known:  # type: ignore[operator]
        raise ValueError(f"unknown {what} {value!r}: choose one of {', '.join(known)}")  # type: ignore[arg-type]


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

    def __post_init__(self) -> None:
        _require(self.shape, SHAPES, "shape")
        _require(self.colour, COLOURS, "colour")
        _require(self.texture, TEXTURES, "texture")
        if not all(math.isfinite(value) for value in (self.x, self.y, self.radius, self.angle)):
            raise ValueError(f"{self.colour} {self.shape}: x, y, radius and angle must be finite numbers")
        if self.radius <= 0:
            raise ValueError(f"{self.colour} {self.shape}: radius {self.radius} must be above 0")

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

    def __post_init__(self) -> None:
        _require(self.pattern, PATTERNS, "background pattern")


@dataclass(frozen=True, slots=True)
class Scene:
    """Objects on a canvas. A later object is in front of an earlier one. The id of an object is its index.

    `aspect` is width over height.
    """

    objects: tuple[SceneObject, ...]
    background: Background = Background()
    aspect: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.aspect) and self.aspect > 0):
            raise ValueError(f"scene: aspect {self.aspect} must be a finite number above 0 (width / height)")
        width, height = self.canvas
        for index, thing in enumerate(self.objects):
            if not (0 <= thing.x <= width and 0 <= thing.y <= height):
                raise ValueError(
                    f"scene: object {index} ({thing.colour} {thing.shape}) has its centre at ({thing.x:.3f}, "
                    f"{thing.y:.3f}), off the {width:.3f} x {height:.3f} canvas: move it inside"
                )

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
    if width < 1 or height < 1:
        raise ValueError(f"image size {width} x {height}: both sides must be at least 1 pixel")
    across, down = scene.canvas
    scale = min(width / across, height / down)
    return Viewport(scale, (width - across * scale) / 2, (height - down * scale) / 2)
