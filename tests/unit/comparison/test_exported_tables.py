"""Tables for a paper: their numbers by hand, and LaTeX that compiles and fits its text."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import pytest

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.layout import Layout, read_layouts
from known_unknowns.benchmark.published import MODEL, PublishedCell
from known_unknowns.comparison import compare_cells, exported_tables, load
from known_unknowns.comparison.paper_tables import PaperTable, paper_tables
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.records import OVERALL, Metric

TABLES = {"humblebench": (3,), "mmsap": (1, 2, 3, 4, 7), "actiview": (2, 3, 5, 8, 13, 14), "mm_upd": (1, 3)}
"""Some tables of each benchmark's papers."""
MODELS = ("ours", "Qwen/Qwen2.5-VL-72B_Instruct-AWQ")


def cell(row: str, column: str, value: float, *, variant: str = "original") -> PublishedCell:
    return PublishedCell("toy", "Table 1", row, column, variant, column, "accuracy", value, 2, "A paper", questions=200)


def metric(model: str, category: str, value: float, *, variant: str = "original") -> Metric:
    low, high = value - 0.05, value + 0.04
    return Metric(model, "toy", variant, 0, 0, "official", category, "accuracy", value, low, high, 200, "Wilson")


def built(benchmark, layouts, cells, metrics, *, baselines=()) -> list[PaperTable]:
    judged = compare_cells(cells, metrics, published_rows={"ours": "Theirs"}, parsers=["official"])
    numbers = MetricIndex(metrics)
    run = SimpleNamespace(
        models=tuple(dict.fromkeys(each.model for each in metrics)),
        baselines=baselines,
        table_parser="official",
        get=lambda model, *place: numbers.get(model, benchmark, *place),
    )
    return [exported_tables.named(each, benchmark, "Toy_#") for each in paper_tables(run, layouts, cells, judged)]


def table(cells, metrics, *, baselines=()) -> PaperTable:
    (found,) = built("toy", {"Table 1": Layout("Table 1, colours")}, cells, metrics, baselines=baselines)
    return found


def values(found: PaperTable) -> dict[str, dict[str, float]]:
    """The numbers of the run by row, with the row's condition, and column."""
    rows: dict[str, dict[str, float]] = {}
    for line in csv.DictReader(io.StringIO(exported_tables.as_csv(found))):
        rows.setdefault(line["row"], {})[line["column"]] = pytest.approx(float(line["value"]))
    return rows


@pytest.fixture
def toy() -> PaperTable:
    """Ours is the published Theirs: 70.5 beside 70.52, and 40.0 beside 80.00, outside of 35 to 44."""
    cells = [cell("Theirs", OVERALL, 70.52), cell("Theirs", "Red", 80.0), cell("Other", OVERALL, 10.0)]
    measured = [metric("dice", OVERALL, 0.5), metric("ours", OVERALL, 0.705), metric("ours", "Red", 0.4)]
    return table(cells, [*measured, metric("new|<b>", "Red", 0.25)], baselines=["dice"])


def test_markdown_has_models_then_baselines_and_marks_the_numbers_that_differ(toy):
    lines = exported_tables.as_markdown(toy).splitlines()
    assert lines[0] == "| model | Overall | Red |"
    assert lines[2:7] == [
        r"| new\|\<b> |  | 25.0 [20.0, 29.0] |",
        "| Theirs, published | 70.52 | 80.00 |",
        "| ours | 70.5 [65.5, 74.5] | 40.0 [35.0, 44.0]† |",
        "| *baselines* |  |  |",
        "| dice | 50.0 [45.0, 54.0] |  |",
    ]
    assert "n = 200" in lines[-1] and "Wilson" in lines[-1] and "† differs" in lines[-1]


def test_latex_has_a_rule_above_the_baselines(toy):
    *_, models, baselines = exported_tables.as_latex(toy).split("\\midrule\n")
    assert r"ours & $70.5_{65.5}^{74.5}$ & $40.0_{35.0}^{44.0}$\rlap{$^\dagger$}" in models
    assert baselines.startswith(r"dice & $50.0_{45.0}^{54.0}$ &")


def test_csv_has_a_line_for_each_number(toy):
    lines = list(csv.DictReader(io.StringIO(exported_tables.as_csv(toy))))
    found = [(line["row"], line["column"], float(line["value"]), line["n"], line["published"]) for line in lines]
    assert found == [
        ("new|<b>", "Red", pytest.approx(25), "200", ""),
        ("ours", "Overall", pytest.approx(70.5), "200", "70.52"),
        ("ours", "Red", pytest.approx(40), "200", "80.0"),
        ("dice", "Overall", pytest.approx(50), "200", ""),
    ]


def test_rows_that_were_asked_otherwise_are_rows_of_each_model():
    """Also of a model that stands for a published row which was asked in one of these ways only."""
    cells = [cell("Theirs", OVERALL, 70.5), cell("Other", OVERALL, 60.0, variant="prompted")]
    found = table(cells, [metric("ours", OVERALL, 0.7), metric("ours", OVERALL, 0.6, variant="prompted")])
    assert values(found) == {"ours, original": {OVERALL: 70}, "ours, prompted": {OVERALL: 60}}


@pytest.mark.parametrize("rows", [["part", "whole", "other"], ["other", "part", "whole"], ["whole", "other", "part"]])
def test_a_row_without_some_columns_is_of_the_kind_that_has_them_in_any_order(rows):
    """The row "part" lacks a column, "other" was asked otherwise in one column only."""
    of = {
        "part": [cell("part", "a", 50)],
        "whole": [cell("whole", "a", 50), cell("whole", "b", 50)],
        "other": [cell("other", "a", 50), cell("other", "b", 50, variant="noise")],
    }
    measured = [metric("ours", "a", 0.5), metric("ours", "b", 0.5), metric("ours", "b", 0.2, variant="noise")]
    found = table([each for row in rows for each in of[row]], measured)
    assert values(found) == {"ours, original": {"a": 50, "b": 50}, "ours, original, noise": {"a": 50, "b": 20}}


def test_an_undefined_number_is_a_dash_and_a_row_without_any_is_left_out():
    undefined = Metric("ours", "toy", "original", 0, 0, "official", OVERALL, "accuracy", None, None, None, 0, "Wilson")
    cells = [cell("Theirs", OVERALL, 70.5), cell("Theirs", "Red", 50)]
    measured = [undefined, metric("ours", "Red", 0.5), replace(undefined, model="silent")]
    found = table(cells, measured)
    assert "| ours | -- | 50.0 [45.0, 54.0] |" in exported_tables.as_markdown(found)
    assert "ours & -- &" in exported_tables.as_latex(found)
    assert "silent" not in exported_tables.as_markdown(found)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("benchmark", TABLES)
def test_latex_compiles_and_fits_the_text(benchmark, tmp_path):
    cells = load(benchmark)
    places = {(c.variant, c.category, c.metric, c.parser or "official") for c in cells if c.kind == MODEL}
    metrics = [
        Metric(model, benchmark, variant, None, None, parser, category, name, 1.0, 0.9, 1.0, 325, "Wilson, 100% & more")
        for model in MODELS
        for variant, category, name, parser in sorted(places)
    ]
    found = built(benchmark, read_layouts(registry.get(benchmark).folder), cells, metrics)
    assert {each.name for each in found} >= {f"{benchmark}_table_{number}" for number in TABLES[benchmark]}
    body = "\n".join(map(exported_tables.as_latex, found))
    text = rf"\documentclass{{article}}\usepackage{{array,booktabs}}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "all.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
