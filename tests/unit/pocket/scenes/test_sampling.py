"""Sampled scenes: reproducible, within the limits asked for, and free of doubtful layouts."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from known_unknowns_pocket.scenes import (
    ALL_PAIRS,
    COLOURS,
    HELD_OUT_PAIRS,
    MAX_OBJECTS,
    PREDICATES,
    SHAPES,
    TRAINING_PAIRS,
    bounds,
    sample_scene,
    verdict,
)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(),
    count=st.integers(1, MAX_OBJECTS),
    aspect=st.floats(0.4, 2.5),
    chance=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_layout_is_clear(seed, count, aspect, chance):
    scene = sample_scene(seed, n_objects=(count, count), aspect=aspect, nested=chance, overlap=chance)
    assert len(scene.objects) == count
    width, height = scene.canvas
    assert width / height == pytest.approx(aspect)
    for one, thing in enumerate(scene.objects):
        x0, y0, x1, y1 = bounds(thing)
        assert x0 > 0 and y0 > 0 and x1 < width and y1 < height
        assert thing.size in ("small", "large")
        assert abs(thing.angle) < math.radians(15)  # a square further turned would be a diamond
        for other in range(count):
            if other != one:
                # Whether two objects touch, and how, is never in doubt; directions may be.
                assert verdict(scene, one, other, "inside") is not None
                if verdict(scene, one, other, "inside"):
                    assert thing.colour != scene.objects[other].colour


def test_arrangements_occur_only_if_requested():
    def found(**chances):
        scenes = [sample_scene(seed, n_objects=(4, 6), **chances) for seed in range(40)]
        held = dict.fromkeys(PREDICATES, 0)
        for scene in scenes:
            for a in range(len(scene.objects)):
                for b in range(len(scene.objects)):
                    for p in PREDICATES:
                        held[p] += a != b and verdict(scene, a, b, p) is True
        return held

    none = found(nested=0.0, overlap=0.0)
    assert none["inside"] == none["partly covering"] == 0
    both = found(nested=1.0, overlap=1.0)
    assert both["inside"] >= 20 and both["partly covering"] >= 15
    for here, there in zip(PREDICATES[::2], PREDICATES[1::2], strict=True):
        assert both[here] == both[there] > 0


def test_held_out_pairs_leave_every_colour_and_shape_to_learn():
    assert len(ALL_PAIRS) == len(COLOURS) * len(SHAPES)
    assert set(ALL_PAIRS) == HELD_OUT_PAIRS | TRAINING_PAIRS and not HELD_OUT_PAIRS & TRAINING_PAIRS
    assert {colour for colour, _ in HELD_OUT_PAIRS} == set(COLOURS)
    assert {shape for _, shape in HELD_OUT_PAIRS} == set(SHAPES)
    for shape in SHAPES:
        assert sum(pair[1] == shape for pair in TRAINING_PAIRS) >= 6
    for colour in COLOURS:
        assert sum(pair[0] == colour for pair in TRAINING_PAIRS) >= 5


def test_pairs_and_preference_are_kept():
    for seed in range(60):
        assert all(thing.pair in TRAINING_PAIRS for thing in sample_scene(seed, pairs=TRAINING_PAIRS).objects)
    things = [t for seed in range(100) for t in sample_scene(seed, prefer=HELD_OUT_PAIRS).objects]
    assert sum(thing.pair in HELD_OUT_PAIRS for thing in things) > len(things) / 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"n_objects": (0, 3)}, "n_objects"),
        ({"aspect": 0.1}, "aspect"),
        ({"pairs": [("red", "blob")]}, "blob"),
        ({"pairs": []}, "no .colour, shape. pair"),
    ],
)
def test_invalid_arguments_are_refused(arguments, told):
    with pytest.raises(ValueError, match=told):
        sample_scene(1, **arguments)
