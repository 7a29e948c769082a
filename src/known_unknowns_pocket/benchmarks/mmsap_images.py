"""What the pocket MM-SAP draws over scenes: cues of motion, and signs with words.

Neither touches an object of the scene. Lengths are in canvas units, as in `known_unknowns_pocket.scenes.model`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from known_unknowns_pocket.scenes import Scene, SceneObject, render
from known_unknowns_pocket.scenes.model import RGB, Point, reach, viewport

ASPECTS = ((1, 1), (4, 3), (3, 4), (3, 2), (2, 3))

INK: RGB = (70, 70, 78)
DIRECTIONS: Mapping[str, Point] = {
    "moving to the left": (-1, 0),
    "moving to the right": (1, 0),
    "moving up": (0, -1),
    "moving down": (0, 1),
}
SPINNING, SHAKING, STILL = "spinning", "shaking", "standing still"
ACTIONS = (*DIRECTIONS, SPINNING, SHAKING, STILL)
"""Actions of an object: an arrow away from it, one around it, arcs on both sides of it, or nothing."""

SIGN_COLOURS: Mapping[str, tuple[RGB, RGB]] = {
    "white": ((252, 252, 250), (34, 34, 38)),
    "blue": ((36, 84, 214), (252, 252, 250)),
    "green": ((24, 112, 48), (252, 252, 250)),
}
"""Colours of a sign's ground and of its letters."""
SIGN_HEIGHT = 0.13
_FONT_SIZE = 0.106
_LETTER_WIDTH = 0.078  # more than the width of most capitals at this size, so that every word fits
_SIGN_MARGIN = 0.05

_SUPERSAMPLE = 4
_GAP = 0.018  # between an object and its cue
_ARROW, _HEAD, _LINE = 0.10, 0.032, 0.012
_CLEAR = 0.035  # between a cue or sign and anything else
_EDGE = 0.02  # between them and the edge of the canvas
_TRIES = 60

Circle = tuple[float, float, float]
"""x, y and radius of an area that a cue or an object may cover."""


@dataclass(frozen=True, slots=True)
class Motion:
    """Object ``target`` (its id) performs one of `ACTIONS`."""

    target: int
    action: str


@dataclass(frozen=True, slots=True)
class Sign:
    """A board with a text; ``x``, ``y`` is its centre."""

    text: str
    colour: str
    x: float
    y: float

    @property
    def width(self) -> float:
        return _LETTER_WIDTH * len(self.text) + _SIGN_MARGIN


@dataclass(frozen=True, slots=True)
class SceneImage:
    """A scene with what is drawn over it, the image's size in pixels, and its path within the benchmark."""

    path: str
    scene: Scene
    width: int
    height: int
    motions: tuple[Motion, ...] = ()
    signs: tuple[Sign, ...] = ()


def draw(scene_image: SceneImage) -> Image.Image:
    """Return the image as RGB. The pixels depend on the scene image and the version of Pillow only."""
    image = render(scene_image.scene, scene_image.width, scene_image.height)
    if not scene_image.motions and not scene_image.signs:
        return image
    view = viewport(scene_image.scene, scene_image.width, scene_image.height)

    def fine(point: Point) -> Point:
        x, y = view.pixel(point)
        return x * _SUPERSAMPLE, y * _SUPERSAMPLE

    scale = view.scale * _SUPERSAMPLE
    mask = Image.new("L", (scene_image.width * _SUPERSAMPLE, scene_image.height * _SUPERSAMPLE))
    pen = ImageDraw.Draw(mask)
    for motion in scene_image.motions:
        _draw_cue(pen, scene_image.scene.objects[motion.target], motion.action, fine, scale)
    image.paste(Image.new("RGB", image.size, INK), (0, 0), mask.reduce(_SUPERSAMPLE))
    for sign in scene_image.signs:
        _draw_sign(image, sign, view.pixel((sign.x, sign.y)), view.scale)
    return image


def place_motion(scene: Scene, motion: Motion, occupied: Sequence[Circle] = ()) -> tuple[Circle, ...] | None:
    """Return the circles that the cue of a motion covers; None if one of them is not free.

    A circle is not free if it is off the canvas, on another object or ``occupied``.
    """
    thing = scene.objects[motion.target]
    covered = tuple(_covered(thing, motion.action))
    others = [*(circle(o) for i, o in enumerate(scene.objects) if i != motion.target), *occupied]
    return covered if all(_inside(c, scene.canvas) and _apart(c, others) for c in covered) else None


def place_sign(
    scene: Scene, text: str, colour: str, rng: random.Random, occupied: Sequence[Circle] = ()
) -> Sign | None:
    """Return a sign at a free position; None if none was found."""
    width, height = scene.canvas
    others = [*(circle(thing) for thing in scene.objects), *occupied]
    across, down = (side / 2 + _EDGE for side in (Sign(text, colour, 0, 0).width, SIGN_HEIGHT))
    for _ in range(_TRIES):
        sign = Sign(text, colour, rng.uniform(across, width - across), rng.uniform(down, height - down))
        if all(_apart(c, others) for c in sign_circles(sign)):
            return sign
    return None


def circle(thing: SceneObject) -> Circle:
    """Return the smallest circle around an object's centre that contains it."""
    return thing.x, thing.y, reach(thing.shape, thing.radius)


def sign_circles(sign: Sign) -> tuple[Circle, ...]:
    """Return circles that together cover the sign."""
    half, steps = sign.width / 2, max(2, math.ceil(sign.width / (SIGN_HEIGHT / 2)))
    radius = math.hypot(SIGN_HEIGHT / 2, half / steps)
    return tuple((sign.x - half + sign.width * (k + 0.5) / steps, sign.y, radius) for k in range(steps))


def _covered(thing: SceneObject, action: str) -> Iterator[Circle]:
    x, y, radius = circle(thing)
    if action in DIRECTIONS:
        dx, dy = DIRECTIONS[action]
        for step in range(4):
            along = radius + _GAP + _ARROW * step / 3
            yield x + dx * along, y + dy * along, _HEAD
    elif action in (SPINNING, SHAKING):
        yield x, y, radius + _GAP + _HEAD


def _inside(covered: Circle, canvas: tuple[float, float]) -> bool:
    x, y, radius = covered
    room = radius + _EDGE
    return room <= x <= canvas[0] - room and room <= y <= canvas[1] - room


def _apart(covered: Circle, others: Sequence[Circle]) -> bool:
    x, y, radius = covered
    return all(math.hypot(x - a, y - b) >= radius + r + _CLEAR for a, b, r in others)


def _draw_cue(
    pen: ImageDraw.ImageDraw, thing: SceneObject, action: str, fine: Callable[[Point], Point], scale: float
) -> None:
    x, y, radius = circle(thing)
    width = max(1, round(_LINE * scale))
    if action in DIRECTIONS:
        dx, dy = DIRECTIONS[action]
        start, end = radius + _GAP, radius + _GAP + _ARROW
        tip = (x + dx * end, y + dy * end)
        neck = (x + dx * (end - _HEAD), y + dy * (end - _HEAD))
        pen.line([fine((x + dx * start, y + dy * start)), fine(neck)], fill=255, width=width)
        _draw_head(pen, tip, (dx, dy), fine)
    elif action == SPINNING:
        around = radius + _GAP + _HEAD / 2
        _draw_arc(pen, (x, y), around, (-60, 210), fine, scale, width)
        turn = math.radians(210)
        middle = (x + around * math.cos(turn), y + around * math.sin(turn))
        ahead = (-math.sin(turn), math.cos(turn))  # clockwise, as y grows downwards
        _draw_head(pen, (middle[0] + ahead[0] * _HEAD, middle[1] + ahead[1] * _HEAD), ahead, fine)
    elif action == SHAKING:
        for share in (0.35, 1.0):
            for side in (0, 180):
                _draw_arc(pen, (x, y), radius + _GAP + _HEAD * share, (side - 38, side + 38), fine, scale, width)


def _draw_head(pen: ImageDraw.ImageDraw, tip: Point, way: Point, fine: Callable[[Point], Point]) -> None:
    back = (tip[0] - way[0] * _HEAD * 1.3, tip[1] - way[1] * _HEAD * 1.3)
    side = (-way[1] * _HEAD * 0.75, way[0] * _HEAD * 0.75)
    corners = [tip, (back[0] + side[0], back[1] + side[1]), (back[0] - side[0], back[1] - side[1])]
    pen.polygon([fine(corner) for corner in corners], fill=255)


def _draw_arc(
    pen: ImageDraw.ImageDraw,
    middle: Point,
    radius: float,
    degrees: tuple[float, float],
    fine: Callable[[Point], Point],
    scale: float,
    width: int,
) -> None:
    x, y = fine(middle)
    extent = radius * scale + width / 2
    pen.arc((x - extent, y - extent, x + extent, y + extent), *degrees, fill=255, width=width)


def _draw_sign(image: Image.Image, sign: Sign, middle: Point, scale: float) -> None:
    ground, letters = SIGN_COLOURS[sign.colour]
    half = sign.width * scale / 2, SIGN_HEIGHT * scale / 2
    box = [round(v) for v in (middle[0] - half[0], middle[1] - half[1], middle[0] + half[0], middle[1] + half[1])]
    pen = ImageDraw.Draw(image)
    line = max(1, round(0.008 * scale))
    pen.rounded_rectangle(box, radius=round(0.02 * scale), fill=ground, outline=INK, width=line)
    pen.text(middle, sign.text, font=_font(round(_FONT_SIZE * scale)), fill=letters, anchor="mm")


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return Pillow's own font: the same letters for the same version of Pillow."""
    return ImageFont.load_default(size)
