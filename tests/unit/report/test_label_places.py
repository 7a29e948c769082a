"""Labels of points, by hand: a label of five characters in size 10 is 30 pixels wide and 11 high."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.report.drawing import model_colours
from known_unknowns.report.label_places import Point, Side, sides_of
from known_unknowns.report.overview_figure import range_of


def test_a_free_label_is_at_the_upper_right_of_its_point_and_on_the_right_side_at_its_left() -> None:
    found = sides_of([Point("lefty", 20, 50, 10), Point("right", 90, 50, 10)], 100, 100)
    assert found == {"lefty": Side("left", 7, -8), "right": Side("right", -7, 11)}


def test_a_label_moves_away_from_points_and_labels_and_the_last_are_left_out() -> None:
    found = sides_of([Point("first", 20, 50, 10), Point("other", 40, 42, 10)], 100, 100)
    assert found["first"] == Side("left", 7, 11)  # the other point is where its label would be
    crowd = [Point(f"name{number}", 50, 50, 10) for number in range(30)]
    kept = sides_of(crowd, 100, 100)
    assert 0 <= len(kept) < 10


@given(st.lists(st.tuples(st.floats(0, 330), st.floats(0, 205), st.integers(1, 20)), max_size=25))
def test_no_label_covers_another(places) -> None:
    points = [Point(f"{number:02}" + "x" * length, x, y, 12) for number, (x, y, length) in enumerate(places)]
    found = sides_of(points, 330, 205)
    boxes = []
    for point in points:
        if point.label in found:
            side, length = found[point.label], 0.6 * 12 * len(point.label)
            left = point.x + side.dx - {"left": 0, "center": length / 2, "right": length}[side.align]
            boxes.append((left, left + length, point.y + side.dy))
    for number, (left, right, middle) in enumerate(boxes):
        assert left >= 0 and right <= 330
        for low, high, other in boxes[:number]:
            assert right <= low or high <= left or abs(middle - other) >= 1.1 * 12 - 1e-9


def test_an_axis_ends_at_tens_around_the_values() -> None:
    assert range_of([41.0, 58.2]) == (40, 60)
    assert range_of([0.0, 100.0]) == (0, 100)
    assert range_of([99.0, 100.0]) == (80, 100)
    assert range_of([52.0, 53.0]) == (40, 70)


def test_no_two_models_of_a_large_run_have_the_same_colour() -> None:
    names, colours = model_colours([f"model-{number}" for number in range(33)])
    assert len(names) == 33 == len(set(colours))
