"""A project with a finished run of an endpoint's model, a local model and a scripted respondent, on one benchmark."""

from __future__ import annotations

from typing import Any

from tests.servers.endpoint import LETTERS, MODEL, Request, Response, completion
from tests.workflow.project import reduce

MODELS = ["oracle", "pocket", "hosted"]
VARIANTS = ["original", "noise", "forced"]
METRICS = {model: f"results/pocket/metrics/{model}/humblebench/metrics.parquet" for model in MODELS}
REPLIES = {model: f"results/pocket/replies/{model}/humblebench/replies.parquet" for model in MODELS}


def configure(params: dict[str, Any], url: str) -> None:
    """Ask three models few questions, in a variant with an argument and one with a protocol that parses refusals."""
    params["variants"]["forced"] = {"function": "original", "protocol": "forced_choice"}
    reduce(params, models=MODELS, variants=VARIANTS, images=2, tracking=False)
    params["models"]["hosted"] = {"engine": "openai", "source": MODEL, "base_url": url, "max_retries": 0}


def by_temperature(request: Request) -> Response:
    """Reply with a label that follows from the temperature alone."""
    label = LETTERS[round(10 * (request.body.get("temperature") or 0)) % len(LETTERS)]
    return Response(200, completion(request.question or "q", content=label, logprobs=False))
