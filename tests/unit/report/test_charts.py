"""Charts: every point has a name, and placed names cover no other and are inside the plot."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.comparison import load
from known_unknowns.report import charts
from known_unknowns.report.charts import MODEL, PUBLISHED, SCRIPTED, Axis, Coordinate, Dot, Point
from known_unknowns.report.drawing import figure
from known_unknowns.report.figures import published_points
from known_unknowns.report.label_places import Label, Place, places
from known_unknowns.report.section import section

MODELS = [f"organisation/vision-language-model-{number}b-instruct" for number in range(1, 21)]


def drawn(chart: object) -> str:
    return figure("name", "A title", chart, "a chart", caveat="Rendered questions, not the published ones.").svg


def point(model: str, x: float, y: float, series: str = "one", kind: str = MODEL) -> Point:
    return Point(model, series, Coordinate(x, x - 2, x + 2), Coordinate(y, y - 2, y + 2), kind)


def names(svg: str) -> list[str]:
    return re.findall(r">([^<>]+)</t(?:ext|span)>", svg)


def crowd() -> list[Point]:
    """Twenty models, four baselines, and the published models of Figure 4, in two series each."""
    dice = random.Random(1)
    found = [
        point(model, dice.uniform(55, 70), dice.uniform(0, 60), series) for model in MODELS for series in ("one", "two")
    ]
    found += [point(name, x, y, kind=SCRIPTED) for name, x, y in (("oracle", 98, 98), ("always_refuse", 20, 98))]
    spec = section("humblebench").scatters[0]
    series = {spec.series[0].name: "one", spec.series[1].name: "two"}
    return found + [
        Point(p.model, series[p.series], p.x, p.y, PUBLISHED) for p in published_points(spec, load("humblebench"))
    ]


def test_points_of_many_models_in_many_series_are_told_apart_by_series() -> None:
    series = [f"pipeline {number}" for number in range(5)]
    many = [point(f"model-{number}", 2 * number, 50, each) for number in range(25) for each in series]
    assert charts.is_crowded(many, series) and not charts.is_crowded(many, ["one"])
    assert not charts.is_crowded([p for p in many if p.model in ("model-0", "model-1")], series)
    svg = drawn(charts.points_of_series(many, Axis("images"), Axis("right (%)"), series))
    assert [name for name in names(svg) if name in series] == series
    assert not [name for name in names(svg) if name.startswith("model-")]
    assert len(re.findall(r"<title>model-\d+, pipeline \d: ", svg)) == len(many)  # at the pointer


def test_the_heading_of_a_facet_is_as_wide_as_the_facet() -> None:
    long = "organisation/vision-language-model-with-a-long-name-72b-instruct\nn = 1,234 to 12,345"
    rows = [{"facet": long, "series": "one", "x": x, "y": x, "hover": "h"} for x in (10, 20)]
    svg = drawn(charts.curves(rows, Axis("x"), Axis("y"), facets=[long], series=["one"]))
    lines = [name for name in names(svg) if name in long]
    assert lines[-1] == "n = 1,234 to 12,345" and "".join(lines[:-1]) == long.partition("\n")[0]
    assert all(0.6 * charts.FONT * len(line) <= 250 for line in lines)


def test_every_point_of_a_crowd_is_named() -> None:
    found = crowd()
    svg = drawn(charts.points(found, Axis("right (%)"), Axis("refused (%)"), MODELS, series=["one", "two"]))
    numbers = charts.numbered(p.model for p in found)
    assert len(numbers) == 20 + 2 + 19
    shown = names(svg)
    for model, number in numbers.items():
        assert f"{number} {model}" in shown  # in the key, not shortened
    spots: dict[tuple[float, float], list[str]] = {}
    for p in found:
        spots.setdefault((p.x.value, p.y.value), []).append(numbers[p.model])
    labels = [text for text in shown if re.fullmatch(r"\d+(, \d+)*", text)]
    for at in spots.values():
        assert ", ".join(dict.fromkeys(at)) in labels
    titles = re.findall(r"<title>([^<]+)</title>", svg)
    assert len(titles) == len(found) and f"{found[0].model}, one: {found[0].x}; {found[0].y}" in titles


def test_few_models_have_their_names_at_their_points_and_no_key() -> None:
    found = [point("pocket", 70, 40), point("tiny", 40, 60), point("oracle", 90, 90, kind=SCRIPTED)]
    found += [point("twin", 70, 40)]  # models at one point share a name
    svg = drawn(
        charts.points(found, Axis("right (%)"), Axis("refused (%)"), ["pocket", "tiny", "twin"], size=(330, 215))
    )
    assert {"pocket, twin", "tiny", "oracle"} <= set(names(svg)) and "Models" not in names(svg)


def test_a_name_is_not_on_an_error_bar_if_another_place_is_free() -> None:
    """A label of five characters in size 10 is 30 pixels wide: all places to the right of its point are on the bar."""
    bar = (60, 0, 60, 100)
    found = places([Label("first", 40, 50, 10), Label("other", 100, 90, 10, (bar,))], 200, 100)
    assert found[0] == Place(33, 61, "right")
    assert places([Label("first", 40, 50, 10)], 200, 100)[0] == Place(47, 42, "left")


@given(st.lists(st.tuples(st.floats(0, 560), st.floats(0, 400)), max_size=40))
def test_no_number_covers_another_or_leaves_the_plot(spots: list[tuple[float, float]]) -> None:
    points = [Label(str(number), x, y, 10) for number, (x, y) in enumerate(spots)]
    boxes = []
    for label, place in zip(points, places(points, 560, 400), strict=True):
        length = 0.6 * 10 * len(label.text)
        left = place.x - {"left": 0, "center": length / 2, "right": length}[place.align]
        boxes.append((left, left + length, place.y))
    for number, (left, right, middle) in enumerate(boxes):
        assert left >= 0 and right <= 560 and 5.5 - 1e-9 <= middle <= 394.5 + 1e-9
        for low, high, other in boxes[:number]:
            assert right <= low + 1e-9 or high <= left + 1e-9 or abs(middle - other) >= 1.1 * 10 - 1e-9


def dots(count: int) -> list[Dot]:
    dice = random.Random(count)
    ours = [
        Dot(model, row, Coordinate(at := dice.uniform(30, 80), at - 5, at + 5))
        for model in MODELS[:3]
        for row in ("zooming", "shifting")
    ]
    ours += [
        Dot(name, row, Coordinate(at), SCRIPTED)
        for name, at in (("oracle", 100), ("uniform", 31))
        for row in ("zooming", "shifting")
    ]
    return ours + [
        Dot(f"published {n}", row, Coordinate(dice.uniform(40, 70)), PUBLISHED)
        for n in range(count)
        for row in ("zooming", "shifting")
    ]


def test_every_dot_of_a_row_is_named_and_baselines_are_lines() -> None:
    found = dots(27)
    svg = drawn(charts.dots(found, Axis("right (%)"), MODELS[:3], ["zooming", "shifting"], lines={"chance": 33.0}))
    shown = names(svg)
    for number, model in enumerate([*MODELS[:3], *(f"published {n}" for n in range(27))], 1):
        assert f"{number} {model}" in shown and shown.count(str(number)) >= 2
    assert {"oracle", "uniform", "chance"} <= set(shown)
    titles = re.findall(r"<title>([^<]+)</title>", svg)
    assert len(titles) == len(found)


def test_parts_of_bars_are_in_their_order_and_have_hover_text() -> None:
    rows = [
        {"model": "pocket", "category": "all", "part": part, "share": share} for part, share in (("b", 60), ("a", 40))
    ]
    colours = {"a": "#3f7fbf", "b": "#e08a2e"}
    svg = drawn(charts.shares(rows, ["pocket"], part="part", colours=colours, facet="category", order=["all"]))
    assert re.findall(r"<title>([^<]+)</title>", svg) == ["pocket, all: b, 60.0", "pocket, all: a, 40.0"]
    assert re.search(r'd="M0,[^>]*fill="#3f7fbf"', svg) and not re.search(r'd="M0,[^>]*fill="#e08a2e"', svg)


def test_bars_of_baselines_have_the_colours_of_their_parts_below_a_rule() -> None:
    rows = [{"model": model, "facet": "all", "part": "a", "share": 100} for model in ("oracle", "pocket")]
    chart = charts.shares(
        rows, ["pocket", "oracle"], part="part", colours={"a": "#3f7fbf"}, facet="facet", order=["all"],
        baselines=["oracle"],
    )  # fmt: skip
    svg = drawn(chart)
    bars = [mark for mark in re.findall(r"<path [^>]*>", svg) if "#3f7fbf" in mark and "M0,0h" in mark]
    assert "opacity" not in "".join(bars) and len(re.findall(r'fill="#3f7fbf"', svg)) == 3  # and the legend
    assert [name for name in names(svg) if name in ("pocket", "oracle")] == ["pocket", "oracle"]
    alone = charts.shares(
        rows, ["pocket", "oracle"], part="part", colours={"a": "#3f7fbf"}, facet="facet", order=["all"]
    )
    assert svg.count('role="graphics-symbol"') == drawn(alone).count('role="graphics-symbol"')


def test_a_grid_has_the_number_of_every_model_in_every_column() -> None:
    columns = ["zooming", "mixed"]
    rows = [
        {"model": model, "column": column, "group": "", "value": 3.0 * place + 0.4, "hover": f"{model}, {column}"}
        for place, model in enumerate([*MODELS, "oracle"])
        for column in columns
    ]
    svg = drawn(charts.grid(rows, [*MODELS, "oracle"], columns, baselines=["oracle"]))
    shown = names(svg)
    assert set(MODELS) | {"oracle", *columns} <= set(shown)
    assert [shown.count(str(3 * place)) for place in range(21)] == [2] * 21
    assert len(re.findall(r"<title>", svg)) == 42


@pytest.mark.parametrize(
    ("values", "ends"),
    [([41.0, 58.2], (40, 60)), ([0.0, 100.0], (0, 100)), ([99.0, 100.0], (80, 100)), ([52.0, 53.0], (40, 70))],
)
def test_an_axis_ends_at_tens_around_the_values(values: list[float], ends: tuple[float, float]) -> None:
    axis = Axis.around("right (%)", values)
    assert (axis.low, axis.high) == ends
    assert axis.at(axis.share(50)) == pytest.approx(50)
