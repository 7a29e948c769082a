"""Charts: legends, axes and headings name what is drawn, and marks have their numbers as hover text."""

from __future__ import annotations

import random
import re

import pytest

from known_unknowns.comparison import load
from known_unknowns.report import charts
from known_unknowns.report.charts import MODEL, PUBLISHED, SCRIPTED, Axis, Coordinate, Dot, Point
from known_unknowns.report.drawing import figure
from known_unknowns.report.figures import published_points
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


def headings(svg: str) -> list[str]:
    """Return the headings of facets. The title of the figure is bold, too."""
    return [text for text in re.findall(r'font-weight="bold"[^>]*>([^<]+)<', svg) if text != "A title"]


def shapes_of(svg: str, colour: str) -> set[str]:
    """Return the outlines of the points of a colour, whatever their size."""
    paths = re.findall(rf'<path transform="[^"]*" d="([^"]*)"[^>]*fill="{colour}"[^>]*><title>', svg)
    return {re.sub(r"[\d.,-]+", "", path) for path in paths}


def test_dots_of_several_series_have_a_facet_for_each_model_and_a_shape_for_each_series() -> None:
    series = ["full image", "zooming", "mixed"]
    models = [f"model-{number}" for number in range(25)]
    found = [
        {"facet": model, "series": each, "x": place, "y": 50, "low": 40, "high": 60, "hover": f"{model}, {each}: 50"}
        for model in models
        for place, each in enumerate(series)
    ]
    svg = drawn(charts.curves(Axis("images", 0, 3, 1), Axis("right (%)"), facets=models, series=series, dots=found))
    assert [name for name in names(svg) if name in models] == models
    assert [name for name in names(svg) if name in series] == series
    assert sorted(re.findall(r"<title>([^<]+)</title>", svg)) == sorted(row["hover"] for row in found)
    first, second, third = (shapes_of(svg, colour) for colour in ("#2a78c8", "#d9722e", "#22936b"))
    assert len(first | second | third) == 3


def test_the_heading_of_a_facet_is_as_wide_as_the_facet() -> None:
    long = "organisation/vision-language-model-with-a-long-name-72b-instruct\nn = 1,234 to 12,345"
    rows = [{"facet": long, "series": "one", "x": x, "y": x} for x in (10, 20)]
    svg = drawn(charts.curves(Axis("x"), Axis("y"), facets=[long], series=["one"], lines=rows))
    lines = [name for name in names(svg) if name in long]
    assert lines[-1] == "n = 1,234 to 12,345" and "".join(lines[:-1]) == long.partition("\n")[0]
    assert all(0.6 * charts.FONT * len(line) <= 250 for line in lines)


def test_a_crowd_of_points_has_its_models_and_baselines_in_legends_and_published_models_as_one() -> None:
    found = crowd()
    svg = drawn(charts.points(found, Axis("right (%)"), Axis("refused (%)"), MODELS, series=["one", "two"]))
    shown = names(svg)
    for name in (*MODELS, "oracle", "always_refuse", "published models", "one", "two"):
        assert shown.count(name) == 1
    published = {p.model for p in found if p.kind == PUBLISHED}
    assert len(published) == 19 and not published & set(shown)
    titles = re.findall(r"<title>([^<]+)</title>", svg)
    assert len(titles) == len(found) and f"{found[0].model}, one: {found[0].x}; {found[0].y}" in titles
    assert published == {title.partition(",")[0] for title in titles} - {*MODELS, "oracle", "always_refuse"}


def test_baselines_have_one_colour_and_different_shapes() -> None:
    found = [point("pocket", 70, 40), point("oracle", 90, 90, kind=SCRIPTED), point("uniform", 20, 20, kind=SCRIPTED)]
    svg = drawn(charts.points(found, Axis("right (%)"), Axis("refused (%)"), ["pocket"], series=["one"]))
    assert len(shapes_of(svg, "#6f675d")) == 2 and len(shapes_of(svg, "#2a78c8")) == 1
    assert {"pocket", "oracle", "uniform"} <= set(names(svg)) and "one" not in names(svg)


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


def test_each_row_is_a_facet_with_a_line_for_each_model_and_one_for_published_models() -> None:
    found = dots(27)
    svg = drawn(charts.dots(found, Axis("right (%)"), MODELS[:3], lines={"chance": 33.0}))
    shown = names(svg)
    assert [name for name in shown if name in ("zooming", "shifting")] == ["zooming", "shifting"]
    lines = ["published models", "oracle", "uniform"]
    assert [name for name in shown if name in lines] == lines and set(MODELS[:3]) <= set(shown)
    assert shown.count("chance") == 1
    titles = re.findall(r"<title>([^<]+)</title>", svg)
    assert sorted(titles) == sorted(f"{dot.model}, {dot.row}: {dot.x}" for dot in found)


def test_models_are_the_facets_if_they_are_fewer_than_the_rows() -> None:
    rows = {"BasicVisQA": ["Action", "Color"], "KnowVisQA": ["Art"]}
    found = [
        Dot(model, row, Coordinate(50, 40, 60), kind, group)
        for model, kind in (("pocket", MODEL), ("oracle", SCRIPTED))
        for group, of_group in rows.items()
        for row in of_group
    ]
    shown = names(drawn(charts.dots(found, Axis("right (%)"), ["pocket"])))
    assert [name for name in shown if name in ("pocket", "oracle")] == ["pocket", "oracle"]
    lines = ["BasicVisQA", "Action", "Color", "KnowVisQA", "Art"]
    assert [name for name in shown if name in lines] == lines


def test_published_models_count_for_the_choice_of_facets() -> None:
    """One model is a facet with three rows. With three published models, there are more models than rows."""
    rows = ("zooming", "shifting", "mixed")
    found = [Dot("pocket", row, Coordinate(50, 40, 60)) for row in rows]
    published = [Dot(f"published {number}", row, Coordinate(60), PUBLISHED) for number in range(3) for row in rows]
    assert headings(drawn(charts.dots(found, Axis("right (%)"), ["pocket"]))) == ["pocket"]
    assert headings(drawn(charts.dots([*found, *published], Axis("right (%)"), ["pocket"]))) == list(rows)


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


@pytest.mark.parametrize("width", [400, 400.5])
def test_the_file_of_a_figure_has_the_drawing_below_its_title(width):
    """Steps of fractions of a pixel give drawings of such a size."""
    import altair as alt

    chart = alt.Chart(alt.Data(values=[{"x": 1}])).mark_point().encode(x="x:Q").properties(width=width, height=50)
    svg = drawn(chart)
    whole, inner = re.findall(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"', svg)
    top = float(re.search(r'<svg y="(\d+)"', svg)[1])
    assert names(svg)[:2] == ["A title", "Rendered questions, not the published ones."]
    assert float(inner[0]) <= float(whole[0]) < float(inner[0]) + 1
    assert top > 0 and float(inner[1]) + top <= float(whole[1]) < float(inner[1]) + top + 1


def test_points_of_baselines_alone_have_a_finite_size():
    """A legend without entries gave the drawing the size of the largest number."""
    svg = drawn(charts.points([point("oracle", 98, 98, kind=SCRIPTED)], Axis("x", 0, 100), Axis("y", 0, 100), []))
    assert "oracle" in names(svg) and "e+308" not in svg
