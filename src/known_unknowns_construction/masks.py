"""Panoptic masks: ids from colours, and polygons around segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from known_unknowns_construction.candidates import Outline

if TYPE_CHECKING:
    from PIL import Image as Pillow


TOLERANCE = 1.0
"""Largest distance, in pixels, between a polygon and the boundary of its mask."""
_SMALLEST_AREA = 4.0


def segment_ids(mask: Pillow.Image) -> np.ndarray:
    """Return the segment of each pixel of a panoptic PNG, as int64 of shape (height, width).

    The id is red + 256 green + 65536 blue, as in COCO's panoptic format.
    """
    pixels = np.asarray(mask.convert("RGB"), dtype=np.int64)
    return pixels[..., 0] + 256 * pixels[..., 1] + 65536 * pixels[..., 2]


def colour_of(segment: int) -> tuple[int, int, int]:
    """Return the colour of a segment in a panoptic PNG."""
    return segment % 256, segment // 256 % 256, segment // 65536


def outlines(mask: np.ndarray, *, tolerance: float = TOLERANCE) -> tuple[Outline, ...]:
    """Return polygons around a mask, booleans of shape (height, width), in pixel coordinates, the longest first.

    They are outer boundaries and those of holes. Corners nearer than ``tolerance`` pixels to the polygon are removed,
    and specks of less than 4 square pixels are left out.
    """
    from contourpy import contour_generator

    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if rows.size == 0:
        return ()
    top, left = rows[0], columns[0]
    part = np.pad(mask[top : rows[-1] + 1, left : columns[-1] + 1].astype(float), 1)
    # A pixel's centre is at half a pixel, and the padding moves everything by one pixel.
    offset = np.array([left - 0.5, top - 0.5])
    lines = [np.asarray(line) + offset for line in contour_generator(z=part, name="serial").lines(0.5)]
    lines = sorted((line for line in lines if _area(line) >= _SMALLEST_AREA), key=len, reverse=True)
    found = (_simplified(line, tolerance) for line in lines)
    return tuple(Outline((round(float(x), 1), round(float(y), 1)) for x, y in line[:-1]) for line in found)


def _area(line: np.ndarray) -> float:
    x, y = line[:, 0], line[:, 1]
    return abs(float(np.dot(x[:-1], y[1:]) - np.dot(x[1:], y[:-1]))) / 2


def _simplified(line: np.ndarray, tolerance: float) -> np.ndarray:
    """Remove corners of a closed line (Douglas and Peucker), from its first point and the point farthest from it."""
    far = int(np.argmax(((line - line[0]) ** 2).sum(axis=1)))
    keep = np.zeros(len(line), dtype=bool)
    keep[[0, far, -1]] = True
    open_parts = [(0, far), (far, len(line) - 1)]
    while open_parts:
        start, end = open_parts.pop()
        if end - start < 2:
            continue
        along = line[end] - line[start]
        between = line[start + 1 : end] - line[start]
        length = float(np.hypot(*along))
        if length == 0:
            distances = np.hypot(between[:, 0], between[:, 1])
        else:
            distances = np.abs(along[0] * between[:, 1] - along[1] * between[:, 0]) / length
        worst = int(np.argmax(distances))
        if distances[worst] > tolerance:
            middle = start + 1 + worst
            keep[middle] = True
            open_parts += [(start, middle), (middle, end)]
    return line[keep]
