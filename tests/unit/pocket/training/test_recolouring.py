"""Recoloured images."""

from __future__ import annotations

import random

import numpy as np

from known_unknowns_pocket.scenes import COLOURS, HELD_OUT_PAIRS, TRAINING_PAIRS
from known_unknowns_pocket.training.recolouring import NEAR, colour_map, near_held_out, recoloured


def test_no_recoloured_object_resembles_a_held_out_pair():
    palette = {colour: np.array(rgb) / 255 for colour, rgb in COLOURS.items()}
    for colour, shape in HELD_OUT_PAIRS:
        assert near_held_out(palette[colour], shape)
        assert near_held_out(palette[colour] + [NEAR / 2, 0, 0], shape)
        assert not near_held_out(palette[colour] + [0, 1.1 * NEAR, 0], shape)
    rng, changed = random.Random(1), 0
    for pair in sorted(TRAINING_PAIRS):
        flat = np.full((2, 2, 3), COLOURS[pair[0]], np.uint8)
        other = recoloured(flat, [pair], rng)
        assert not near_held_out(other[0, 0] / 255 + 0.002, pair[1]) or other is None
        changed += bool((other != flat).any())
    assert changed > len(TRAINING_PAIRS) / 2


def test_greys_keep_their_colour_and_a_full_turn_of_hue_changes_colours():
    rng = random.Random(3)
    for _ in range(20):
        change = colour_map(rng)
        grey = np.full((1, 1, 3), 0.8)
        assert np.allclose(change(grey), grey, atol=1e-5)
    hues = {tuple(np.round(colour_map(rng)(np.array([0.9, 0.1, 0.1])), 1)) for _ in range(30)}
    assert len(hues) > 10
