"""Rendered pixels: the right colours in the right places, at any size."""

import numpy as np
import pytest

from known_unknowns_pocket.scenes import (
    COLOURS,
    SHAPES,
    Background,
    Scene,
    SceneObject,
    bounds,
    render,
    sample_scene,
)

PLAIN = Background((255, 255, 255), (255, 255, 255))


def solo(shape="disc", colour="red", texture="plain", radius=0.3):
    return Scene((SceneObject(shape, colour, texture, 0.5, 0.5, radius),), PLAIN)


def pixels(scene, width=120, height=120):
    return np.asarray(render(scene, width, height)).astype(int)


def share_of(image, colour):
    """Share of the pixels that are close to a colour."""
    return (np.abs(image - np.array(colour)).max(axis=-1) <= 24).mean()


@pytest.mark.parametrize("colour", ["yellow", "black"])
def test_colour_and_marks(colour):
    for shape in SHAPES:
        plain = pixels(solo(shape, colour))
        drawn = np.abs(plain - 255).max(axis=-1) > 8
        body = plain[drawn]
        assert share_of(body, COLOURS[colour]) > 0.6
        for texture in ("striped", "dotted"):
            marked = pixels(solo(shape, colour, texture))[drawn]
            assert 0.2 < share_of(marked, COLOURS[colour]) < 0.85
            changed = np.abs(marked - body).sum(axis=-1) > 60
            assert 0.1 < changed.mean() < 0.65


@pytest.mark.parametrize("shape", ["triangle", "ring"])
def test_outline_fills_its_box_exactly(shape):
    scene = solo(shape)
    drawn = np.abs(pixels(scene, 400, 400) - 255).max(axis=-1) > 8
    rows, columns = np.nonzero(drawn)
    box = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    assert np.abs(np.array(box) - 400 * np.array(bounds(scene.objects[0]))).max() <= 1.6
    assert drawn[200, 200] == (shape != "ring")


def test_later_objects_are_in_front():
    one, other = (SceneObject("disc", colour, "plain", 0.5, 0.5, 0.3) for colour in ("red", "blue"))
    assert tuple(pixels(Scene((one, other)))[60, 60]) == COLOURS["blue"]
    assert tuple(pixels(Scene((other, one)))[60, 60]) == COLOURS["red"]


@pytest.mark.parametrize(("width", "height"), [(97, 131), (1920, 1080), (1, 1)])
def test_sizes(width, height):
    image = render(sample_scene(5), width, height)
    assert image.size == (width, height) and image.mode == "RGB"


def test_scale_does_not_change_the_image():
    scene = sample_scene(8, n_objects=(6, 6))
    small = pixels(scene, 100, 100)
    large = np.asarray(render(scene, 400, 400).reduce(4)).astype(int)
    assert np.abs(small - large).mean() < 3
