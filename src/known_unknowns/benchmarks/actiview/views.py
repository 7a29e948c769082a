"""Views of a picture (ActiView, Sections 4.1 and 4.2): the parts it is split into, its grid, and its reduced whole.

All are references that `known_unknowns.images.open_image` draws on demand. The paper resizes each view to the size of
the initial view, and does not say what that is; the released toolkit takes the size of one part for both, so that a
part is cut out as it is and the full image is reduced to the size of a part. ``size`` is for data whose initial view
has another size than that.

A split into four is numbered down the columns: 1 upper left, 2 lower left, 3 upper right, 4 lower right. The others
are numbered along the rows, as their prompt tells the model. The released toolkit cuts them in columns all the same,
so that its part 2 of six is not the part that its prompt calls 2: ``released=True`` numbers them so.
"""

from __future__ import annotations

from collections.abc import Sequence

from known_unknowns.images import derived
from known_unknowns.records import Image

SPLITS: dict[int, tuple[int, int]] = {4: (2, 2), 6: (3, 2), 8: (4, 2), 9: (3, 3), 16: (4, 4)}
"""Columns and rows of the splits of Table 14, as the released toolkit has them."""

NAMES = ("upper-left", "lower-left", "upper-right", "lower-right")
"""The parts of a split into four, in the order of their numbers."""

Size = tuple[int, int]
Box = tuple[int, int, int, int]


def view(image: Image, number: int, split: int = 4, *, size: Size | None = None, released: bool = False) -> Image:
    """Part ``number`` (from 1) of the picture, in the initial view's ``size`` (by default a part's own).

    Raises ValueError for a part that does not exist, and for a split that is none of `SPLITS`.
    """
    width, height = size or initial_size(image, split)
    box = part(image.width, image.height, number, split, released=released)
    return derived("view", width, height, of=image, box=list(box), grid=None)


def resized(image: Image, split: int = 4, *, size: Size | None = None) -> Image:
    """The full picture of limited resolution: reduced to the initial view's ``size``."""
    width, height = size or initial_size(image, split)
    return derived("view", width, height, of=image, box=[0, 0, image.width, image.height], grid=None)


def gridded(image: Image, split: int = 4, *, size: Size | None = None) -> Image:
    """As `resized`, with lines between the parts: what views are chosen on."""
    width, height = size or initial_size(image, split)
    grid = list(_grid(split))
    return derived("view", width, height, of=image, box=[0, 0, image.width, image.height], grid=grid)


def side_by_side(images: Sequence[Image]) -> Image:
    """One picture of several, from left to right, for models that take only one (Appendix G.3).

    The paper stitches views of one size; of several heights the greatest is taken. Raises ValueError for none.
    """
    if not images:
        raise ValueError("no pictures to put side by side: give at least one")
    width, height = sum(image.width for image in images), max(image.height for image in images)
    return derived("side-by-side", width, height, of=images)


def initial_size(image: Image, split: int = 4) -> Size:
    """Width and height of the initial view, and so of each view, in the released toolkit: those of one part."""
    columns, rows = _grid(split)
    return image.width // columns, image.height // rows


def part(width: int, height: int, number: int, split: int = 4, *, released: bool = False) -> Box:
    """Left, top, right and bottom of part ``number`` in pixels.

    What a side has over a multiple of its parts is in no part, as in the released toolkit.
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


def describe(split: int = 4) -> str:
    """How the prompts say where the parts are, without the full stop: Appendix I.2 for four, else the released text."""
    if split == 4:
        return (
            "1 is the upper-left part, 2 is the lower-left part, 3 is the upper-right part, "
            "and 4 is the lower-right part"
        )
    columns, rows = _grid(split)
    return (
        f"images are split into {columns}*{rows} grids, and the index of image are arranged in left-to-right and then "
        "up-to-down order. For exampel, 1 is the first part from the left in the first row, 2 is the second part from "
        f"the left in the first row, etc; and {split} is the last part from the left in the last row"
    )


def _grid(split: int) -> tuple[int, int]:
    if split not in SPLITS:
        raise ValueError(f"a split into {split}: choose one of {', '.join(map(str, SPLITS))}")
    return SPLITS[split]
