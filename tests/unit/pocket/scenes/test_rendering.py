"""Rendered pixels: the right colours in the right places, at any size."""

import numpy as np
import pytest

from known_unknowns_pocket.scenes import (
    COLOURS,
    SHAPES,
    TEXTURES,
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


@pytest.mark.parametrize("colour", COLOURS)
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


def test_named_colours_are_far_apart():
    values = [np.array(value) for value in COLOURS.values()]
    distances = [np.linalg.norm(a - b) for i, a in enumerate(values) for b in values[:i]]
    assert min(distances) > 85


@pytest.mark.parametrize("shape", SHAPES)
def test_outline_fills_its_box_exactly(shape):
    scene = solo(shape)
    drawn = np.abs(pixels(scene, 400, 400) - 255).max(axis=-1) > 8
    rows, columns = np.nonzero(drawn)
    box = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    assert np.abs(np.array(box) - 400 * np.array(bounds(scene.objects[0]))).max() <= 1.6
    assert drawn[200, 200] == (shape != "ring")


def test_shapes_and_textures_look_different():
    looks = [pixels(solo(shape, texture=texture)).tobytes() for shape in SHAPES for texture in TEXTURES]
    assert len(set(looks)) == len(looks)


def test_later_objects_are_in_front():
    one, other = (SceneObject("disc", colour, "plain", 0.5, 0.5, 0.3) for colour in ("red", "blue"))
    assert tuple(pixels(Scene((one, other)))[60, 60]) == COLOURS["blue"]
    assert tuple(pixels(Scene((other, one)))[60, 60]) == COLOURS["red"]


@pytest.mark.parametrize(("width", "height"), [(96, 96), (97, 131), (640, 256), (1920, 1080), (1, 1)])
def test_sizes(width, height):
    image = render(sample_scene(5), width, height)
    assert image.size == (width, height) and image.mode == "RGB"


def test_scale_does_not_change_the_image():
    scene = sample_scene(8, n_objects=(6, 6))
    small = pixels(scene, 100, 100)
    large = np.asarray(render(scene, 400, 400).reduce(4)).astype(int)
    assert np.abs(small - large).mean() < 3


def test_other_aspects_keep_shapes_and_centre_the_canvas():
    wide = pixels(solo(), 300, 100)
    drawn = np.abs(wide - 255).max(axis=-1) > 8
    rows, columns = np.nonzero(drawn)
    assert abs(np.ptp(rows) - np.ptp(columns)) <= 1
    assert abs(columns.mean() - 149.5) < 0.6 and abs(rows.mean() - 49.5) < 0.6


def test_small_objects_on_large_images():
    tiny = SceneObject("star", "red", "dotted", 0.3, 0.4, 0.006)
    image = np.asarray(render(Scene((tiny,), PLAIN, aspect=1920 / 1080), 1920, 1080)).astype(int)
    rows, columns = np.nonzero(np.abs(image - 255).max(axis=-1) > 8)
    assert np.abs(columns - 0.3 * 1080).max() < 10 and np.abs(rows - 0.4 * 1080).max() < 10


def test_backgrounds_are_pale_in_every_pattern():
    scenes = [Scene((), sample_scene(seed).background) for seed in range(30)]
    assert {scene.background.pattern for scene in scenes} == {"none", "lines", "grid"}
    for scene in scenes:
        image = pixels(scene, 64, 64)
        assert image.min() >= 200 and np.ptp(image, axis=(0, 1)).max() <= 30


def test_invalid_sizes_are_refused():
    with pytest.raises(ValueError, match="image size"):
        render(sample_scene(1), 0, 10)
