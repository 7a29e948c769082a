"""Training curves in MLflow (optional)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from known_unknowns.errors import ConfigError

if TYPE_CHECKING:
    from known_unknowns_pocket.training.loop import Report, Settings

EXPERIMENT = "pocket-model"


@contextmanager
def curves(uri: str, settings: Settings) -> Iterator[Report]:
    """Open a run in the tracking store at ``uri``; yield the function that logs lines of the training log.

    A metric is named after its stage and head, such as "answer/spots"; its step is that of the stage. A training that
    is resumed has a run of its own. Raises ConfigError if MLflow is not installed.
    """
    try:
        import mlflow
    except ImportError as error:
        raise ConfigError(
            "curves are drawn by MLflow, which is not installed: install it, or leave --mlflow out"
        ) from error

    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment(EXPERIMENT)

    def report(line: dict[str, Any]) -> None:
        values = {key: value for key, value in line.items() if key not in ("stage", "step")}
        mlflow.log_metrics(
            {f"{line['stage']}/{key}".replace(" ", "_"): value for key, value in values.items()}, step=line["step"]
        )

    with mlflow.start_run():
        mlflow.log_dict(asdict(settings), "settings.json")
        yield report
