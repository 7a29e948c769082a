from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.comparison import compare_cells, load
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report import verdict_tables
from known_unknowns.report.figures import answer_shares, published_points
from known_unknowns.report.formatting import (
    DASH,
    Cell,
    Head,
    Row,
    counted,
    metric_cell,
    move_n_to_heading,
    percent,
    sentence_case,
    unbroken,
)
from known_unknowns.report.page import run_of
from known_unknowns.report.section import section
from known_unknowns.report.verdict_tables import comparison
from known_unknowns.tables import read_metrics

from .fake_run import FakeRun, params

METRIC = Metric("m", "humblebench", "original", 0, 0, "robust", OVERALL, "accuracy", 0.722, 0.67, 0.774, 300, "wilson")


def test_number_format() -> None:
    assert [counted(n, "model") for n in (0, 1, 2, 22831)] == ["0 models", "1 model", "2 models", "22,831 models"]
    cell = metric_cell(replace(METRIC, spread=0.012))
    assert (cell.text, cell.interval, cell.n) == ("72.2", "[67.0, 77.4]", 300)
    assert cell.title == "wilson; standard deviation over seeds 1.2"
    assert percent(0.05, signed=True) == "+5.0"
    assert (percent(-0.0004), percent(-0.0004, signed=True), percent(-0.0006)) == ("0.0", "+0.0", "-0.1")


def test_an_undefined_number_is_a_dash() -> None:
    undefined = replace(METRIC, value=None, low=None, high=None, n=0, method="undefined: nothing in the denominator")
    assert percent(None) == DASH
    cell = metric_cell(undefined, gauge=True)
    assert (cell.text, cell.gauge, cell.title) == (DASH, None, "undefined: nothing in the denominator")
    assert metric_cell(None).title == "not measured"
    assert metric_cell(replace(METRIC, value=0.0)).text == "0.0"


def test_a_heading_has_a_capital_unless_it_is_a_name_and_numbers_are_unbroken() -> None:
    assert sentence_case("right, by parser") == "Right, by parser"
    for same in ("n", "p, corrected", "score_sa", "mPLUG-Owl", ""):
        assert sentence_case(same) == same
    assert unbroken("HumbleBench, n = 300") == "HumbleBench, n\u00a0=\u00a0300"
    assert unbroken("p < 0.0001 (Holm)") == "p\u00a0<\u00a00.0001 (Holm)"
    assert unbroken("mean = 3, n = few") == "mean = 3, n = few"


@given(st.lists(st.lists(st.sampled_from([None, 10, 20]), min_size=2, max_size=2), max_size=4))
def test_n_is_in_the_heading_or_in_every_cell(counts: list[list[int | None]]) -> None:
    rows = [Row((Head("m"),), tuple(Cell("1" if n else DASH, n=n) for n in row)) for row in counts]
    columns, written = move_n_to_heading([Head("a"), Head("b")], rows)
    for index, column in enumerate(columns):
        before = [row[index] for row in counts]
        after = [row.cells[index].n for row in written]
        said = {n for n in before if n is not None}
        if len(said) == 1:
            assert column.note == f"n = {said.pop()}" and not any(after)
        else:
            assert column.note == "" and after == before


def test_the_published_points_of_figure_4() -> None:
    points = published_points(section("humblebench").scatters[0], load("humblebench"))
    glm = {p.series: (p.x.value, p.y.value) for p in points if p.model == "GLM-4.1V-Thinking"}
    assert glm == {"as in the paper": (73.46, 0.06), "robust parser": (73.46, 55.02)}
    assert len({p.model for p in points}) == 19


def test_the_answers_of_a_bar_add_up(run: FakeRun) -> None:
    numbers = MetricIndex(m for path in run.metrics for m in read_metrics(path))
    shown = run_of(run.params, numbers, "humblebench")
    bars: dict[tuple[str, str], float] = {}
    for bar in answer_shares(shown):
        key = bar["model"], bar["variant"]
        bars[key] = bars.get(key, 0) + bar["share"]
    assert len(bars) == len(shown.models) * len(shown.variants)
    assert list(bars.values()) == pytest.approx([100] * len(bars))


def test_verdicts_are_grouped_under_the_official_parser() -> None:
    official = replace(METRIC, parser="official", low=0.716, high=0.728, n=22_831)
    robust = replace(official, parser="robust", value=0.9, low=0.88, high=0.92)
    cells = [c for c in load("humblebench") if c.table == "Table 3" and c.row in ("Qwen2.5-VL", "Phi-4")]
    rows = compare_cells(cells, [official, robust], published_rows={"m": "Qwen2.5-VL"}, parsers=["official", "robust"])
    groups = {group.verdict: group for group in comparison(rows, ["official", "robust"])}
    assert {verdict: group.count for verdict, group in groups.items()} == {"parser": 1, "not run": 7}
    (row,) = groups["parser"].table.rows
    assert [cell.text for cell in row.cells[1:4]] == ["72.20", "72.2", "90.0"]
    assert groups["parser"].table.columns[0].text == "reason" and row.cells[0].text
    assert [head.text for head in row.heads] == ["Table 3", "Qwen2.5-VL (our m)", "Overall"]


def test_the_table_of_verdicts_has_no_column_of_zeros() -> None:
    rows = compare_cells(load("humblebench"), [METRIC], published_rows={"m": "Qwen2.5-VL"}, parsers=["robust"])
    found = verdict_tables.summary(rows, params())
    verdicts = {row.verdict for row in rows}
    assert {head.text for head in found["table"].columns} == verdicts and len(verdicts) < 8
    assert all(cell.text != "0" for row in found["table"].rows for cell in row.cells)


def test_a_number_of_verdicts_links_to_the_published_numbers_that_it_counts() -> None:
    rows = compare_cells(load("humblebench"), [METRIC], published_rows={"m": "Qwen2.5-VL"}, parsers=["robust"])
    table = verdict_tables.summary(rows, params())["table"]
    (row,) = table.rows
    anchors = {group.verdict: group.anchor for group in comparison(rows, ["robust"])}
    links = {head.text: cell.link for head, cell in zip(table.columns, row.cells, strict=True)}
    assert links == {verdict: f"benchmark-humblebench.html#humblebench-{a}" for verdict, a in anchors.items()}
    assert anchors["not run"] == "verdict-not-run"
