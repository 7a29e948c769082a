"""The notebooks: their cells run in order, without a kernel."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat

from known_unknowns import tables
from known_unknowns.records import Metric
from tests.paths import ROOT

PATH = ROOT / "notebooks/humblebench_figure4.ipynb"
EVALUATE = ROOT / "notebooks/evaluate.ipynb"


def run(path: Path = PATH) -> dict:
    """The names that the cells define."""
    names: dict = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, str(path), "exec"), names)
    return names


def metric(variant: str, name: str, value: float | None) -> Metric:
    low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
    return Metric("ours", "humblebench", variant, 0, "official", "Overall", name, value, low, high, 100, "Wilson")


def test_published_models_and_those_of_a_run_are_drawn(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
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


def test_the_evaluation_prints_what_the_notebook_shows(tmp_path, monkeypatch, capsys):
    book = nbformat.read(EVALUATE, as_version=4)
    nbformat.validate(book)
    (tmp_path / "models").symlink_to(ROOT / "models")
    monkeypatch.chdir(tmp_path)
    run(EVALUATE)
    shown = "".join(output.text for cell in book.cells for output in cell.get("outputs", ()))
    assert "dual accuracy" in shown and capsys.readouterr().out == shown
    assert (tmp_path / "evaluation.html").is_file()
