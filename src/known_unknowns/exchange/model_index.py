"""Results in the hub's model-index form, the metadata of a model card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from known_unknowns.benchmark import registry
from known_unknowns.config import Params
from known_unknowns.metrics.leaderboard import NUMBERS
from known_unknowns.metrics.proportions import RECOGNISED

_TASK = "visual-question-answering"


def evaluation_results(rows: Iterable[Mapping[str, Any]], params: Params) -> list[EvalResult]:
    """Return the results of one model, one for each number of its rows of the leaderboard.

    Parameters
    ----------
    rows : iterable of mapping
        Rows of one model (`known_unknowns.metrics.leaderboard`).
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
        variants = {"accuracy": row.get("variant"), "dual_accuracy": row.get("dual_variant")}
        for number in NUMBERS:
            if number not in row:
                continue
            metric_type = next(
                name for name in ("dual_accuracy", *RECOGNISED[::-1], "accuracy") if number.endswith(name)
            )
            arguments = {
                "variant": variants.get(number) or number.removesuffix(f"_{metric_type}"),
                "parser": row["parser"],
                "n": row[f"{number}_n"],
                "low": row.get(f"{number}_low"),
                "high": row.get(f"{number}_high"),
                "confidence": params.statistics.confidence,
                "method": row.get(f"{number}_method"),
            }
            found.append(
                EvalResult(
                    task_type=_TASK,
                    dataset_type=getattr(data, "repository", row["benchmark"]).removeprefix("https://"),
                    dataset_name=registry.get(row["benchmark"]).title,
                    dataset_config=params.edition,
                    dataset_revision=getattr(data, "revision", None),
                    metric_type=metric_type,
                    metric_name=number.replace("_", " "),
                    metric_value=row[number],
                    metric_args=arguments,
                )
            )
    return found


def as_yaml(model: str, rows: Iterable[Mapping[str, Any]], params: Params) -> str:
    """Return the results of one model as the metadata of a model card, in YAML."""
    card = ModelCardData(model_name=model, eval_results=evaluation_results(rows, params))
    return f"{card.to_yaml()}\n"
