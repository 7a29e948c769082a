"""The lines on models at the end of a run: the best one of each benchmark, unusable replies, and the caveat."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from known_unknowns.metrics import summary
from known_unknowns.metrics.summary import summarise
from known_unknowns.records import Reply
from known_unknowns.workflow.run import closing_message
from tests.unit.report import fake_run

MODELS = ("oracle", "pocket", "pocket-never-refuses")


def lines(folder: Path, **of_model: tuple[float | None, float]) -> list[str]:
    """The lines for a leaderboard with a dual accuracy and a share of unusable replies of each model."""
    rows: list[dict[str, Any]] = []
    for name, (value, unusable) in of_model.items():
        row = dict.fromkeys(summary.COLUMNS) | {"model": name.replace("_", "-"), "benchmark": "humblebench", "n": 300}
        row |= {"number": "dual_accuracy_answerable", "label": "dual accuracy", "variant": "original+nota_only"}
        rows.append(row | {"value": value, "low": 0.1, "high": 0.9, "unusable": unusable})
    with (folder / "leaderboard.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, summary.COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    text = closing_message(fake_run.params(models=MODELS), str(folder), 1.0)
    return [line for line in text.splitlines() if "HumbleBench" in line or "Caveat" in line]


def test_the_best_model_is_no_baseline_and_the_edition_is_named(tmp_path: Path) -> None:
    best, caveat = lines(tmp_path, oracle=(1.0, 0.0), pocket=(0.5, 0.01), pocket_never_refuses=(0.4, 0.0))
    assert best == (
        "Results    HumbleBench (rendered): dual accuracy 50.0% (interval 10.0 to 90.0, n = 300, unusable 1.0%) of "
        "pocket, the highest of 2 models"
    )
    assert caveat == "Caveat     rendered questions, not the published ones"


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_no_model_is_the_highest_at_a_tie(tmp_path: Path, value: float) -> None:
    best, _ = lines(tmp_path, pocket=(value, 0.0), pocket_never_refuses=(value, 0.0))
    assert best.endswith("of pocket, pocket-never-refuses, equal") and "highest" not in best


def test_a_model_without_a_number_is_no_rival(tmp_path: Path) -> None:
    best, _ = lines(tmp_path, pocket=(0.5, 0.0), pocket_never_refuses=(None, 0.0))
    assert best.endswith("of pocket, the only model")


def test_the_most_frequent_unusable_reply_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_run, "make_reply", lambda *_: Reply("I am \x1b[31m a fox"))
    run = fake_run.make(tmp_path, questions=5, variants_kept=["original", "nota_only"], models=("oracle", "pocket"))
    files = {
        "out": "metrics.json",
        "plot": "plot.csv",
        "leaderboard_table": "leaderboard.csv",
    }
    paths = {key: run.results / name for key, name in files.items()}
    summarise(run.params, run.metrics, models=run.results / "models", **paths)
    monkeypatch.chdir(run.folder)
    text = closing_message(run.params, "results/pocket", 1.0)
    assert "HumbleBench (rendered): pocket is not ranked. Unusable: " in text
    assert text.count("is 'I am \\x1b[31m a fox'.\n") == 1 and "the highest" not in text
