"""Views of an image: the parts of a split, the gridded image and the reduced full image.

All functions return references that `known_unknowns.images.open_image` draws on demand. The paper resizes each view to
the size of the initial view, but does not state that size. The released toolkit uses the size of one part for both: a
part is cut out without resizing, and the full image is reduced to the size of a part. ``size`` is for data whose
initial view has another size.

A split into four is numbered down the columns: 1 upper left, 2 lower left, 3 upper right, 4 lower right. Other splits
are numbered along the rows, as the prompt tells the model. The released toolkit cuts all splits in columns, so its part
2 of six is not the part that its prompt calls 2. ``released=True`` numbers the parts as the toolkit does.

References
----------
.. [1] Wang et al., ActiView, Sections 4.1 and 4.2, Table 14.
"""

from __future__ import annotations

from collections.abc import Sequence

from known_unknowns.images import composite_image
from known_unknowns.records import Image

SPLITS: dict[int, tuple[int, int]] = {4: (2, 2), 6: (3, 2), 8: (4, 2), 9: (3, 3), 16: (4, 4)}
"""Columns and rows of the splits of Table 14, in the released toolkit."""

NAMES = ("upper-left", "lower-left", "upper-right", "lower-right")
"""The parts of a split into four, in the order of their numbers."""

Size = tuple[int, int]
Box = tuple[int, int, int, int]


def view(image: Image, number: int, split: int = 4, *, size: Size | None = None, released: bool = False) -> Image:
    """Return a reference to one part of the image, in the size of the initial view.

    The parts are numbered from 1, with ``released`` as in the released toolkit; their number is a key of `SPLITS`.
    ``size`` is the width and height of the initial view in pixels, by default that of a part. Raises
    ValueError if the part or the split does not exist.
    """
    width, height = size or initial_size(image, split)
    box = part_box(image.width, image.height, number, split, released=released)
    return composite_image("view", width, height, of=image, box=list(box), grid=None)


def reduce(image: Image, split: int = 4, *, size: Size | None = None) -> Image:
    """Return the full image of limited resolution: reduced to the initial view's ``size``."""
    width, height = size or initial_size(image, split)
    return composite_image("view", width, height, of=image, box=[0, 0, image.width, image.height], grid=None)


def add_grid(image: Image, split: int = 4, *, size: Size | None = None) -> Image:
    """Return the reduced full image with lines between the parts, from which a model selects views."""
    width, height = size or initial_size(image, split)
    grid = list(_grid(split))
    return composite_image("view", width, height, of=image, box=[0, 0, image.width, image.height], grid=grid)


def concatenate(images: Sequence[Image]) -> Image:
    """Return one image that shows several from left to right, for models that take only one (Appendix G.3).

    The paper joins views of equal size. If the heights differ, the result has the greatest one. Raises ValueError if
    there are no images.
    """
    if not images:
        raise ValueError("no images to put side by side: give at least one")
    width, height = sum(image.width for image in images), max(image.height for image in images)
    return composite_image("side-by-side", width, height, of=images)


def initial_size(image: Image, split: int = 4) -> Size:
    """Return the width and height of the initial view in the released toolkit: those of one part."""
    columns, rows = _grid(split)
    return image.width // columns, image.height // rows


def part_box(width: int, height: int, number: int, split: int = 4, *, released: bool = False) -> Box:
    """Return left, top, right and bottom of part ``number`` in pixels.

    If a side does not divide evenly, the remainder is in no part, as in the released toolkit.
    """
    columns, rows = _grid(split)
    if not 1 <= number <= split:
        raise ValueError(f"part {number} of {split}: give 1 to {split}")
    if split == 4 or released:
        column, row = divmod(number - 1, rows)
    else:
        row, column = divmod(number - 1, columns)
    across, down = width // columns, height // rows
    return column * across, row * down, (column + 1) * across, (row + 1) * down


def _grid(split: int) -> tuple[int, int]:
    if split not in SPLITS:
        raise ValueError(f"a split into {split}: choose one of {', '.join(map(str, SPLITS))}")
    return SPLITS[split]
