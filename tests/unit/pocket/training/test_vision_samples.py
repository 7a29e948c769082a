"""Images to learn looking from: what is asked of a patch is what the image shows there, however it is turned."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from known_unknowns_pocket.scenes import COLOURS
from known_unknowns_pocket.training.patch_labels import NOT_ASKED, PATCH_LABELS
from known_unknowns_pocket.training.vision_samples import vision_samples

SIDE, GRID = 96, 6
PALETTE = np.array([*COLOURS.values()])


def seen(views: bool, recoloured: float, many: int = 30):
    return [
        one
        for number in range(many)
        for one in vision_samples(f"looks/{number}", side=SIDE, grid=GRID, recoloured=recoloured, views=views)
    ]


@pytest.mark.parametrize("views", [False, True])
def test_an_image_in_its_own_hues_asks_for_no_shape_and_one_in_others_for_no_colour(views):
    kinds = Counter()
    for one in seen(views, 0.75):
        assert one.prompts == ()
        if not one.patches.any():
            continue
        colour, shape, texture, _, _ = one.patches[0]
        kinds[bool((colour > 0).any()), bool((shape > 0).any())] += 1
        for label in (colour, shape):
            assert ((label == 0) == (texture == 0)).all()
            assert set(np.unique(label < 0)) <= {True, False}
            assert label.min() in (0, 1, NOT_ASKED)
    assert set(kinds) == {(True, False), (False, True)}
    assert kinds[False, True] > kinds[True, False] > 3


@pytest.mark.parametrize("views", [False, True])
def test_patch_labels_of_a_rotated_image_match_its_patches(views):
    """In its own hues the reddest, bluest, ... pixels of an object's patch are those of the colour that is asked."""
    cell, right = SIDE // GRID, Counter()
    for one in seen(views, 0.0):
        anchors = one.patches[0, PATCH_LABELS.index("anchor")] == 1
        for patch in np.flatnonzero(anchors):
            row, column = divmod(patch, GRID)
            cells = one.pixels[0, row * cell : (row + 1) * cell, column * cell : (column + 1) * cell]
            asked = PALETTE[one.patches[0, PATCH_LABELS.index("colour"), patch] - 1]
            distances = np.linalg.norm(cells.reshape(-1, 3).astype(float) - asked, axis=1)
            right[bool(distances.min() < 60)] += 1
    assert right[True] > 100
    assert right[True] / right.total() > 0.9
