"""Tables for a paper: their numbers by hand, and LaTeX that compiles and fits its text."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess

import pytest

from known_unknowns.benchmark.published import MODEL, PublishedCell
from known_unknowns.comparison import compare_cells, exported_tables, load
from known_unknowns.records import OVERALL, Metric

MODELS = ("ours", "Qwen/Qwen2.5-VL-72B_Instruct-AWQ")


def cell(row: str, column: str, value: float, *, variant: str = "original") -> PublishedCell:
    return PublishedCell("toy", "Table 1", row, column, variant, column, "accuracy", value, 2, "A paper", questions=200)


def metric(model: str, category: str, value: float, *, variant: str = "original") -> Metric:
    low, high = value - 0.05, value + 0.04
    return Metric(model, "toy", variant, 0, 0, "official", category, "accuracy", value, low, high, 200, "Wilson")


def table(cells, metrics) -> exported_tables.PaperTable:
    judged = compare_cells(cells, metrics, published_rows={"ours": "Theirs"}, parsers=["official"])
    (found,) = exported_tables.of_papers("toy", "Toy", cells, metrics, judged)
    return found


@pytest.fixture
def toy() -> exported_tables.PaperTable:
    """Ours is the published Theirs: 70.5 beside 70.52, and 40.0 beside 80.00, outside of 35 to 44."""
    cells = [cell("Theirs", OVERALL, 70.52), cell("Theirs", "Red", 80.0), cell("Other", OVERALL, 10.0)]
    return table(cells, [metric("ours", OVERALL, 0.705), metric("ours", "Red", 0.4), metric("new|<b>", "Red", 0.25)])


def test_markdown_has_intervals_and_the_published_numbers_that_differ_are_marked(toy):
    lines = exported_tables.as_markdown(toy).splitlines()
    assert lines[0] == "| model | Overall | Red |"
    assert lines[2:5] == [
        "| ours | 70.5 [65.5, 74.5] | 40.0 [35.0, 44.0] |",
        "| published | 70.5 | 80.0† |",
        r"| new\|\<b> |  | 25.0 [20.0, 29.0] |",
    ]
    assert "n = 200" in lines[-1] and "Wilson" in lines[-1] and "† differs" in lines[-1]


def test_csv_has_a_line_for_each_number(toy):
    lines = list(csv.DictReader(io.StringIO(exported_tables.as_csv(toy))))
    found = [(line["row"], line["column"], float(line["value"]), line["n"], line["published"]) for line in lines]
    assert found == [
        ("ours", "Overall", pytest.approx(70.5), "200", "70.52"),
        ("ours", "Red", pytest.approx(40), "200", "80.0"),
        ("new|<b>", "Red", pytest.approx(25), "200", ""),
    ]


def test_rows_that_were_asked_otherwise_are_rows_of_each_model():
    cells = [cell("Theirs", OVERALL, 70.5), cell("Theirs, prompted", OVERALL, 60.0, variant="prompted")]
    found = table(cells, [metric("ours", OVERALL, 0.7), metric("ours", OVERALL, 0.6, variant="prompted")])
    values = {row: entries[OVERALL].value for row, entries in found.rows().items()}
    assert values == {"ours, original": pytest.approx(70), "ours, prompted": pytest.approx(60)}


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
    kinds = {row: {name: entry.value for name, entry in entries.items()} for row, entries in found.rows().items()}
    assert kinds == {"ours, original": {"a": 50, "b": 50}, "ours, original, noise": {"a": 50, "b": 20}}


def test_an_undefined_number_is_a_dash_and_no_zero():
    undefined = Metric("ours", "toy", "original", 0, 0, "official", OVERALL, "accuracy", None, None, None, 0, "Wilson")
    found = table([cell("Theirs", OVERALL, 70.5)], [undefined])
    assert "| ours | -- |" in exported_tables.as_markdown(found)
    assert "ours & --" in exported_tables.as_latex(found)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("benchmark", ["humblebench", "mmsap", "actiview", "mm_upd"])
def test_latex_compiles_and_fits_the_text(benchmark, tmp_path):
    cells = load(benchmark)
    places = {(c.variant, c.category, c.metric, c.parser or "official") for c in cells if c.kind == MODEL}
    metrics = [
        Metric(model, benchmark, variant, None, None, parser, category, name, 1.0, 0.9, 1.0, 325, "Wilson, 100% & more")
        for model in MODELS
        for variant, category, name, parser in sorted(places)
    ]
    found = list(exported_tables.of_papers(benchmark, "Toy_#", cells, metrics, []))
    assert len(found) == len({c.table for c in cells if c.kind == MODEL and c.table.startswith("Table ")})
    body = "\n".join(map(exported_tables.as_latex, found))
    text = rf"\documentclass{{article}}\usepackage{{array,booktabs}}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "all.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape", "all.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
