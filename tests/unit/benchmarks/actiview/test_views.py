"""Views are cut where the paper and the released toolkit cut them, and are the same pixels wherever they are drawn."""

from hashlib import sha256
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from known_unknowns import images
from known_unknowns.errors import DataError
from known_unknowns.records import Image
from known_unknowns_benchmarks.actiview import views

WIDTH, HEIGHT = 24, 16


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "images").mkdir()
    return tmp_path


@pytest.fixture
def image(folder):
    """Red counts the columns, green the rows, so that every pixel tells where it is from."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    return save(folder, np.dstack([columns, rows, np.full_like(rows, 200)]).astype(np.uint8))


def save(folder, pixels):
    path = folder / "images" / "new.png"
    Pillow.fromarray(pixels).save(path)
    digest = sha256(path.read_bytes()).hexdigest()
    named = path.rename(path.with_name(f"{digest}.png"))
    return Image(f"images/{named.name}", digest, pixels.shape[1], pixels.shape[0])


def pixels(image, folder):
    opened = images.open_image(image, folder)
    assert opened.mode == "RGB" and opened.size == (image.width, image.height)
    return np.asarray(opened)


@pytest.mark.parametrize(
    ("number", "column", "row"), [(1, 0, 0), (2, 0, 8), (3, 12, 0), (4, 12, 8)], ids=views.NAMES
)  # Section I.2: 1 is the upper-left part, 2 the lower-left, 3 the upper-right, 4 the lower-right
def test_the_four_views_are_numbered_as_in_the_paper_and_not_resized(folder, image, number, column, row):
    cut = pixels(views.view(image, number), folder)
    assert cut.shape == (8, 12, 3)
    assert cut[0, 0].tolist() == [column, row, 200] and cut[-1, -1].tolist() == [column + 11, row + 7, 200]


# Six parts stand in three columns and two rows; the prompt counts along the rows, the toolkit down the columns.
@pytest.mark.parametrize(
    ("number", "released", "corner"),
    [(2, False, (8, 0)), (2, True, (0, 8)), (4, False, (0, 8)), (4, True, (8, 8)), (6, False, (16, 8))],
)
def test_other_splits_are_numbered_as_in_their_prompt_or_the_toolkit(folder, image, number, released, corner):
    cut = pixels(views.view(image, number, 6, released=released), folder)
    assert cut.shape == (8, 8, 3) and tuple(cut[0, 0, :2].tolist()) == corner


@given(st.sampled_from(sorted(views.SPLITS)), st.integers(16, 400), st.integers(16, 400), st.booleans())
def test_the_parts_of_a_split_are_equal_and_cover_the_image_once(split, width, height, released):
    boxes = [views.part_box(width, height, number, split, released=released) for number in range(1, split + 1)]
    columns, rows = views.SPLITS[split]
    assert {(right - left, low - top) for left, top, right, low in boxes} == {(width // columns, height // rows)}
    assert (min(b[0] for b in boxes), min(b[1] for b in boxes)) == (0, 0)
    assert (max(b[2] for b in boxes), max(b[3] for b in boxes)) == (width // columns * columns, height // rows * rows)
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_the_grid_is_red_on_white_between_the_views(folder):
    grey = save(folder, np.full((1200, 1600, 3), 128, np.uint8))
    plain, lined = pixels(views.reduce(grey), folder), pixels(views.add_grid(grey), folder)
    assert plain.shape == lined.shape == (600, 800, 3) and (plain == 128).all()
    for line in (lined[100, :, :], lined[:, 100, :]):  # across the upright line, and across the level one
        changed = np.flatnonzero((line != 128).any(axis=1))
        middle = len(line) // 2
        assert changed.tolist() == list(range(middle - 7, middle + 8))
        red = [place for place in changed if line[place].tolist() == [255, 0, 0]]
        assert red == list(range(middle - 2, middle + 3))
        assert all(line[place].tolist() == [255, 255, 255] for place in changed if place not in red)


def test_the_digest_follows_the_source_and_what_is_made_of_it(image):
    other = Image("images/other.png", "b" * 64, WIDTH, HEIGHT)
    made = [
        views.view(image, number, split, size=size)
        for image in (image, other)
        for number, split in ((1, 4), (2, 4), (1, 9))
        for size in (None, (5, 5))
    ]
    assert len({image.sha256 for image in made}) == len(made)
    assert views.view(image, 1) == views.view(image, 1) and image.source in views.view(image, 1).source
    assert all(not images.is_recipe_image(image) for image in made)


@pytest.mark.parametrize("number", [0, 5, -1])
def test_a_view_that_does_not_exist_is_refused(image, number):
    with pytest.raises(ValueError, match=f"part {number} of 4: give 1 to 4"):
        views.view(image, number)


def test_an_absent_or_broken_source_is_named(folder):
    gone = Image("images/gone.png", "a" * 64, WIDTH, HEIGHT)
    with pytest.raises(DataError, match=r"gone\.png"):
        images.open_image(views.view(gone, 1), folder)
    (folder / "images" / "gone.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"gone\.png.*does not decode"):
        images.open_image(views.view(gone, 1), folder)
