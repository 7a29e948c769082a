"""What is in the MLflow store after tracking."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Run, ViewType

from .world import World


def client(world: World) -> MlflowClient:
    return MlflowClient(f"sqlite:///{world.folder}/mlflow.db")


def runs(world: World, where: str = "", *, view: int = ViewType.ACTIVE_ONLY) -> list[Run]:
    store = client(world)
    experiment = store.get_experiment_by_name("known-unknowns")
    return list(store.search_runs([experiment.experiment_id], where, run_view_type=view))


def seeds(world: World, where: str = "") -> list[Run]:
    """The runs of a benchmark and seed."""
    return runs(world, "tags.level = 'seed'" + where)


def run_of(world: World, model: str) -> Run:
    (run,) = runs(world, f"tags.level = 'model' and params.model = '{model}'")
    return run


def seed_of(world: World, model: str) -> Run:
    """The run of a model's first seed and sample."""
    (run,) = seeds(world, f" and attributes.run_name = '{model}, humblebench, seed 0'")
    return run


def rows(file: Path) -> list[dict[str, Any]]:
    table = json.loads(file.read_text())
    return [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]


def artifact(world: World, run: Run, name: str) -> Path:
    return world.folder / "mlartifacts" / run.info.run_id / "artifacts" / name


def history(world: World, run: Run, metric: str) -> list[float]:
    return [m.value for m in client(world).get_metric_history(run.info.run_id, metric)]


def current(world: World, model: str) -> set[str]:
    """The runs of a model that are not superseded."""
    return {run.info.run_id for run in runs(world, "tags.superseded = 'false'") if run.data.params["model"] == model}
