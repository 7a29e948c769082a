"""Rendering of scenes. The pixels depend on the scene, the size and the version of Pillow only."""

import math
from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image, ImageDraw

from known_unknowns_pocket.scenes.model import (
    COLOURS,
    RGB,
    RING_HOLE,
    Background,
    Point,
    Scene,
    SceneObject,
    Viewport,
    bounds,
    outline,
    viewport,
)

SUPERSAMPLE = 4
"""Subpixels along each axis of a pixel."""

_EDGE_WIDTH = 0.055  # all in radii of the object
_PERIOD = 0.60
_STRIPE = 0.27
_DOT_PERIOD = 0.56
_DOT = 0.155
_STRIPE_TURN = math.radians(40)
_PATTERN_PERIOD, _PATTERN_LINE = 0.085, 0.010  # in canvas units


def render(scene: Scene, width: int, height: int) -> Image.Image:
    """Render a scene as an RGB image of exactly ``width`` x ``height`` pixels.

    The canvas is fitted into the image and centred; the background fills the rest.
    """
    view = viewport(scene, width, height)
    image = _background(scene.background, view, width, height)
    for thing in scene.objects:
        _paint(image, thing, view)
    return image


def _mix(colour: RGB, other: RGB, share: float) -> RGB:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue


def drawing_colours(colour: str) -> tuple[RGB, RGB, RGB]:
    """Return the colours of an object's body, its edge, and its stripes or dots."""
    body = COLOURS[colour]
    # White marks are invisible on yellow. On every other colour they leave the body colour unambiguous.
    marks = _mix(body, (0, 0, 0), 0.72) if colour == "yellow" else _mix(body, (255, 255, 255), 0.9)
    return body, _mix(body, (0, 0, 0), 0.45), marks


def _background(background: Background, view: Viewport, width: int, height: int) -> Image.Image:
    share = ((np.arange(height) + 0.5) / height)[:, None, None]
    top, bottom = np.array(background.top, float), np.array(background.bottom, float)
    levels = top + (bottom - top) * share
    if background.pattern != "none":
        # Pixel centres are at halves, so that x + y and x - y are integers: one value for each diagonal.
        falling = _lines(np.arange(1, width + height), view.scale)
        lines = sliding_window_view(falling, width)
        if background.pattern == "grid":
            rising = _lines(np.arange(1 - height, width), view.scale)
            lines = np.maximum(lines, sliding_window_view(rising, width)[::-1])
        levels = levels - lines[:, :, None] * background.contrast
    np.clip(np.rint(levels, out=levels), 0, 255, out=levels)
    return Image.fromarray(np.broadcast_to(levels.astype(np.uint8), (height, width, 3)))


def _lines(across: np.ndarray, scale: float) -> np.ndarray:
    """Return how much of each pixel a set of diagonal lines covers, 0 to 1; `across` is x + y or x - y in pixels."""
    period, line = _PATTERN_PERIOD * scale * math.sqrt(2), _PATTERN_LINE * scale * math.sqrt(2)
    from_centre = np.abs(across % period - period / 2)
    return np.clip((line - from_centre) / math.sqrt(2) + 0.5, 0.0, 1.0)


def _paint(image: Image.Image, thing: SceneObject, view: Viewport) -> None:
    """Draw one object: its colours at the finer scale, pasted through its outline."""
    x0, y0, x1, y1 = view.box(bounds(thing))
    left, top = math.floor(x0), math.floor(y0)
    size = (math.ceil(x1) - left + 1) * SUPERSAMPLE, (math.ceil(y1) - top + 1) * SUPERSAMPLE
    fine = Viewport(view.scale * SUPERSAMPLE, (view.left - left) * SUPERSAMPLE, (view.top - top) * SUPERSAMPLE)
    body, edge, marks = drawing_colours(thing.colour)
    patch, mask = Image.new("RGB", size, body), Image.new("L", size)
    draw, cut = ImageDraw.Draw(patch), ImageDraw.Draw(mask)
    if thing.texture == "striped":
        _stripes(draw, thing, fine, marks)
    elif thing.texture == "dotted":
        _dots(draw, thing, fine, marks)
    line = max(2, round(2 * _EDGE_WIDTH * thing.radius * fine.scale))  # the outer half is cut away
    for place, ring in enumerate(outline(thing)):
        corners = [fine.pixel(point) for point in ring]
        cut.polygon(corners, fill=255 if place == 0 else 0)
        draw.line([*corners, *corners[:2]], fill=edge, width=line, joint="curve")
    image.paste(patch.reduce(SUPERSAMPLE), (left, top), mask.reduce(SUPERSAMPLE))


def _frame(thing: SceneObject, view: Viewport, turn: float) -> Callable[[float, float], Point]:
    """Return a map from coordinates in radii, rotated around the object's centre, to pixels."""
    cos, sin = math.cos(turn) * thing.radius, math.sin(turn) * thing.radius
    return lambda u, v: view.pixel((thing.x + u * cos - v * sin, thing.y + u * sin + v * cos))


def _stripes(draw: ImageDraw.ImageDraw, thing: SceneObject, view: Viewport, marks: RGB) -> None:
    place = _frame(thing, view, thing.angle + _STRIPE_TURN)
    for step in range(-2, 3):
        v0, v1 = step * _PERIOD - _STRIPE / 2, step * _PERIOD + _STRIPE / 2
        draw.polygon([place(-2, v0), place(2, v0), place(2, v1), place(-2, v1)], fill=marks)


def _dots(draw: ImageDraw.ImageDraw, thing: SceneObject, view: Viewport, marks: RGB) -> None:
    place = _frame(thing, view, thing.angle)
    if thing.shape == "ring":  # along the band: of a lattice only a few cut-off dots would be visible
        share, middle = 0.105, (1 + RING_HOLE) / 2
        turns = [2 * math.pi * k / 12 for k in range(12)]
        centres = [(middle * math.cos(turn), middle * math.sin(turn)) for turn in turns]
    else:
        share, high = _DOT, _DOT_PERIOD * math.sqrt(3) / 2
        steps = range(-3, 4)
        centres = [((column + row % 2 / 2) * _DOT_PERIOD, row * high) for row in steps for column in steps]
    radius = share * thing.radius * view.scale
    for x, y in (place(*centre) for centre in centres):
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=marks)
