"""Relations on scenes laid out by hand, and sampled scenes without ambiguous layouts."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from known_unknowns_pocket.scenes import (
    CONVERSE,
    MAX_OBJECTS,
    PREDICATES,
    Scene,
    SceneObject,
    bounds,
    relation_holds,
    relations,
    sample_scene,
)


def thing(x, y, radius=0.08, shape="disc", colour="red"):
    return SceneObject(shape, colour, "plain", x, y, radius)


def truths(first, second):
    """What holds of the second object, painted later, in relation to the first."""
    scene = Scene((first, second))
    return {predicate: relation_holds(scene, 1, 0, predicate) for predicate in PREDICATES}


def true(found):
    return [predicate for predicate, holds in found.items() if holds]


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [(0.1, 0.5, "left of"), (0.9, 0.5, "right of"), (0.5, 0.1, "above"), (0.5, 0.9, "below")],
)
def test_plain_directions(x, y, expected):
    found = truths(thing(0.5, 0.5), thing(x, y))
    assert true(found) == [expected]
    assert all(holds is False for predicate, holds in found.items() if predicate != expected)


@pytest.mark.parametrize(
    ("degrees", "left", "above"),
    [
        (0, True, False),
        (14, True, False),
        (20, True, None),
        (30, None, None),
        (45, None, None),
        (80, False, True),
    ],
)
def test_slanted_directions_are_grey(degrees, left, above):
    turn = math.radians(degrees)
    found = truths(thing(0.5, 0.5), thing(0.5 - 0.4 * math.cos(turn), 0.5 - 0.4 * math.sin(turn)))
    assert (found["left of"], found["above"]) == (left, above)
    assert found["right of"] is False and found["below"] is False


@pytest.mark.parametrize("shape", ["disc", "square", "ring"])
def test_inside(shape):
    found = truths(thing(0.5, 0.5, 0.18, shape), thing(0.51, 0.5, 0.07, colour="blue"))
    assert true(found) == ["inside"]
    assert found["partly covering"] is None  # it lies on its container, if it is solid
    assert [p for p, holds in found.items() if holds is None] == ["partly covering"]


def test_hidden_object_and_object_in_a_hole_painted_first():
    small = thing(0.5, 0.5, 0.07, colour="blue")
    hidden = Scene((small, thing(0.5, 0.5, 0.18)))
    assert relation_holds(hidden, 0, 1, "inside") is None
    shown = Scene((small, thing(0.5, 0.5, 0.18, "ring")))
    assert relation_holds(shown, 0, 1, "inside") is True and relation_holds(shown, 1, 0, "around") is True


def test_partly_covering_needs_a_plain_part():
    back = thing(0.4, 0.5, 0.16)
    found = truths(back, thing(0.62, 0.5, 0.16, colour="blue"))
    assert true(found) == ["partly covering"]
    # To the right as well, in a way; but certainly not on the other side.
    assert found["right of"] is None and found["left of"] is False and found["above"] is False
    for x in (0.42, 0.71, 0.723):  # nearly hidden, barely touching, and a hair's breadth apart
        assert truths(back, thing(x, 0.5, 0.16, colour="blue"))["partly covering"] is None
    assert truths(back, thing(0.75, 0.5, 0.16, colour="blue"))["partly covering"] is False


@settings(max_examples=40, deadline=None)
@given(st.integers())
def test_relations_are_the_converse_of_each_other_and_consistent(seed):
    scene = sample_scene(seed, nested=0.7, overlap=0.7)
    held = set(relations(scene))
    assert held == {(target, subject, CONVERSE[name]) for subject, target, name in held}
    assert len({(subject, target) for subject, target, _ in held}) == len(held)  # one at most for a pair


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
                assert relation_holds(scene, one, other, "inside") is not None
                if relation_holds(scene, one, other, "inside"):
                    assert thing.colour != scene.objects[other].colour
