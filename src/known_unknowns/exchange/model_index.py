"""Results in the hub's model-index form, the metadata of a model card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from known_unknowns.benchmark import registry
from known_unknowns.config import Params

_TASK = "visual-question-answering"


def evaluation_results(rows: Iterable[Mapping[str, Any]], params: Params) -> list[EvalResult]:
    """Return the results of one model, one for each number of its rows of the leaderboard.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of one model (`known_unknowns.metrics.summary`).
    params : Params
        The configuration, for the data's repository and revision.

    Returns
    -------
    list of EvalResult
        Shares between 0 and 1. ``metric_args`` has n, the interval with its method and confidence, the variant, and the
        parser.
    """
    found = []
    for row in rows:
        data = params.data(row["benchmark"])
        if row["value"] is None:
            continue
        arguments = {name: row[name] for name in ("variant", "parser", "n", "low", "high", "method", "caveat")}
        found.append(
            EvalResult(
                task_type=_TASK,
                dataset_type=getattr(data, "repository", row["benchmark"]).removeprefix("https://"),
                dataset_name=registry.get(row["benchmark"]).title,
                dataset_config=params.edition,
                dataset_revision=getattr(data, "revision", None),
                metric_type=row["metric"],
                metric_name=row["label"],
                metric_value=row["value"],
                metric_args=arguments | {"confidence": params.statistics.confidence},
            )
        )
    return found


def as_yaml(model: str, rows: Iterable[Mapping[str, Any]], params: Params) -> str:
    """Return the results of one model as the metadata of a model card, in YAML."""
    card = ModelCardData(model_name=model, eval_results=evaluation_results(rows, params))
    return f"{card.to_yaml()}\n"
