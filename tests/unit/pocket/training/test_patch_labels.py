"""Labels of patches: expected values are worked out by hand."""

from __future__ import annotations

from known_unknowns_pocket.scenes import Scene, SceneObject
from known_unknowns_pocket.training.patch_labels import patches_of
from known_unknowns_pocket.training.prompts import (
    WORDS,
)


def test_patches_of_a_scene_worked_out_by_hand():
    """A 2 x 2 grid: a large red square in the upper left, a small plain blue disc in the lower right."""
    scene = Scene(
        (
            SceneObject("square", "red", "striped", 0.25, 0.25, 0.2),
            SceneObject("disc", "blue", "plain", 0.75, 0.75, 0.09),
        )
    )
    found = patches_of(scene, 2)
    colour, shape, texture, size, anchor = found.labels
    # The disc covers pi * 0.09^2 / 0.25 = 10.2% of its patch, above the least share.
    assert colour.tolist() == [1 + WORDS["colour"].index("red"), 0, 0, 1 + WORDS["colour"].index("blue")]
    assert shape.tolist() == [1 + WORDS["shape"].index("square"), 0, 0, 1 + WORDS["shape"].index("disc")]
    assert texture.tolist() == [1 + WORDS["texture"].index("striped"), 0, 0, 1 + WORDS["texture"].index("plain")]
    assert size.tolist() == [1 + WORDS["size"].index("large"), 0, 0, 1 + WORDS["size"].index("small")]
    assert anchor.tolist() == [1, 0, 0, 1]
    assert found.shown == ((0,), (3,))
    assert found.anchors == (0, 3)


def test_an_object_inside_another_does_not_take_its_anchor():
    """A 3 x 3 grid: a large disc around the middle patch, which a small square fills."""
    scene = Scene(
        (
            SceneObject("disc", "red", "plain", 0.5, 0.5, 0.45),
            SceneObject("square", "blue", "plain", 0.5, 0.5, 0.2),
        )
    )
    found = patches_of(scene, 3)
    assert found.shown == ((0, 1, 2, 3, 5, 6, 7, 8), (4,))
    assert found.anchors == (1, 4)  # the first of four at the same distance
    assert found.labels[-1].tolist() == [0, 1, 0, 0, 1, 0, 0, 0, 0]


def test_no_object_takes_the_only_patch_of_another():
    """Two small squares in one patch of a 2 x 2 grid: the one that covers less has none, and nothing else's."""
    scene = Scene(
        (
            SceneObject("square", "red", "plain", 0.15, 0.25, 0.09),
            SceneObject("square", "blue", "plain", 0.35, 0.25, 0.10),
        )
    )
    assert patches_of(scene, 2).shown == ((), (0,))


def test_a_window_shows_its_content_at_its_scale():
    scene = Scene((SceneObject("square", "red", "plain", 0.75, 0.25, 0.1),))
    assert patches_of(scene, 4, (0.5, 0.0, 1.0, 0.5)).shown == ((5, 6, 9, 10),)
    hidden = patches_of(scene, 4, (0.0, 0.0, 0.5, 0.5))
    assert (hidden.shown, hidden.anchors) == (((),), (-1,))
    assert not hidden.labels.any()
