"""Training curves in a real MLflow store."""

from __future__ import annotations

from pathlib import Path

import pytest

mlflow = pytest.importorskip("mlflow")
pytest.importorskip("torch")

from known_unknowns_pocket.training import SMOKE
from known_unknowns_pocket.training.curves import EXPERIMENT, curves


def test_each_log_line_adds_one_point_per_curve(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    uri = f"sqlite:///{tmp_path}/curves.db"
    with curves(uri, SMOKE) as report:
        report({"stage": "answer", "step": 20, "say colour": 0.25, "loss": 2.0})
        report({"stage": "answer", "step": 40, "say colour": 0.5, "loss": 1.0})
    client = mlflow.MlflowClient(uri)
    (run,) = client.search_runs([client.get_experiment_by_name(EXPERIMENT).experiment_id])
    history = client.get_metric_history(run.info.run_id, "answer/say_colour")
    assert [(point.step, point.value) for point in history] == [(20, 0.25), (40, 0.5)]
    assert run.info.status == "FINISHED"
