"""The notebooks: their cells run in order, without a kernel."""

from __future__ import annotations

import json

import nbformat

from known_unknowns import tables
from known_unknowns.records import Metric
from scripts.notebook import executed
from tests.paths import ROOT

PATH = ROOT / "docs/notebooks/humblebench_figure4.ipynb"
EVALUATE = ROOT / "docs/notebooks/evaluate.ipynb"


def run() -> dict:
    """The names that the cells define."""
    names: dict = {}
    for cell in nbformat.read(PATH, as_version=4).cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, str(PATH), "exec"), names)
    return names


def metric(variant: str, name: str, value: float | None) -> Metric:
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    return Metric("ours", "humblebench", variant, 0, 0, "official", "Overall", name, value, low, high, 100, "Wilson")


def test_published_models_and_those_of_a_run_are_drawn(tmp_path, monkeypatch):
    (tmp_path / "docs/notebooks").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "docs/notebooks")
    alone = run()
    assert len(alone["ours"]) == 0 and len(alone["published"]) == 19
    cambrian = alone["published"].set_index("model").loc["Cambrian"]
    assert cambrian["nota_only"] == 60.68  # Figure 4
    tables.write_metrics(
        tmp_path / "results/pocket/metrics/ours/humblebench/metrics.parquet",
        [metric("original", "accuracy", 0.5), metric("nota_only", "exact_refusal_recall", 0.25)],
    )
    names = run()
    (row,) = names["ours"].to_dict("records")
    assert (row["original percent"], row["nota_only percent"]) == (50, 25)
    assert (row["nota_only low"], row["nota_only high"]) == (15, 35)
    assert len(json.loads(names["chart"].to_json())["layer"]) == 4


def test_the_notebook_is_valid_and_holds_no_output():
    book = nbformat.read(PATH, as_version=4)
    nbformat.validate(book)
    assert not any(cell.get("outputs") for cell in book.cells)


def test_the_evaluation_prints_what_the_notebook_shows(tmp_path, monkeypatch):
    """The same lines with the same names. scripts/notebook.py writes the numbers, which depend on the parser."""
    (tmp_path / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(tmp_path)
    stored = nbformat.read(EVALUATE, as_version=4)
    nbformat.validate(stored)
    shown, printed = outputs(stored), outputs(executed(EVALUATE))
    assert shown[0] == printed[0] == "answer on HumbleBench (rendered), 20 of 300 questions"
    assert names_of(shown) == names_of(printed)
    assert {"accuracy", "dual accuracy of answerable questions", "unparsed"} <= set(names_of(printed))
    assert (tmp_path / "evaluation.html").is_file()


def outputs(book: nbformat.NotebookNode) -> list[str]:
    return [line for cell in book.cells for output in cell.get("outputs", ()) for line in output.text.splitlines()]


def names_of(lines: list[str]) -> list[str]:
    """The first column of the tables."""
    return [line.partition("  ")[0] for line in lines if "  " in line]
