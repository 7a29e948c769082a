"""Labels of points, by hand: a label of five characters in size 10 is 30 pixels wide and 11 high."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.report.label_places import Place, Point, places


def test_a_free_label_is_at_the_upper_right_of_its_point_and_on_the_right_side_at_its_left() -> None:
    found = places([Point("lefty", 20, 50, 10), Point("right", 90, 50, 10)], 100, 100)
    assert found == [Place(27, 42, "left", True), Place(83, 61, "right", True)]


def test_a_label_moves_away_from_points_labels_and_other_texts() -> None:
    found = places([Point("first", 20, 50, 10), Point("other", 40, 42, 10)], 100, 100)
    assert found[0] == Place(27, 61, "left", True)  # the other point is where its label would be
    assert places([Point("first", 20, 50, 10)], 100, 100, taken=[(27, 36, 57, 47)])[0] == Place(27, 61, "left", True)


def test_labels_of_a_crowd_have_leader_lines() -> None:
    found = places([Point(f"{number}", 50, 50, 10) for number in range(30)], 100, 100)
    assert 1 <= sum(place.near for place in found) < 10 and len({(p.x, p.y) for p in found}) == 30


def test_a_label_that_fits_nowhere_has_a_place() -> None:
    assert places([Point("x" * 50, 50, 50, 10)], 100, 100) == [Place(57, 42, "left", True)]


@given(st.lists(st.tuples(st.floats(0, 560), st.floats(0, 400)), max_size=60))
def test_no_number_covers_another_or_leaves_the_plot(spots) -> None:
    points = [Point(str(number), x, y, 10) for number, (x, y) in enumerate(spots)]
    boxes = []
    for point, place in zip(points, places(points, 560, 400), strict=True):
        length = 0.6 * 10 * len(point.label)
        left = place.x - {"left": 0, "center": length / 2, "right": length}[place.align]
        boxes.append((left, left + length, place.y))
    for number, (left, right, middle) in enumerate(boxes):
        assert left >= 0 and right <= 560 and 5.5 - 1e-9 <= middle <= 394.5 + 1e-9
        for low, high, other in boxes[:number]:
            assert right <= low + 1e-9 or high <= left + 1e-9 or abs(middle - other) >= 1.1 * 10 - 1e-9
