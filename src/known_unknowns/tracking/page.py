"""The first page of the experiment in MLflow's UI: a note and a table of models."""

from __future__ import annotations

import json
from collections.abc import Sequence

from known_unknowns.tracking.contents import RunContents
from known_unknowns.tracking.store import Store

_NOTE_LENGTH = 4900  # MLflow accepts 5000 characters


def describe(store: Store, edition: str, models: Sequence[RunContents]) -> str:
    """Update the note and the view of the experiment; return the address of the view, below that of the server.

    The UI selects tabs, filters and columns by its address only. The view is stored as the UI stores one that is
    shared (menu, "Share"), so that a short address selects it.
    """
    metrics = list(dict.fromkeys(name for model in models for name in model.metrics))
    numbers = [name for name in metrics if not name.endswith((".low", ".high", ".n"))]
    where = f"tags.edition = '{edition}' and tags.level = 'model' and tags.superseded = 'false'"
    view = {
        "searchFilter": where,
        "orderByKey": "attributes.start_time",
        "orderByAsc": False,
        "selectedColumns": [f"metrics.`{name}`" for name in numbers],
        "runsExpanded": {},
    }
    key = f"models-{edition}"
    page = f"#/experiments/{store.experiment_id}/runs?workflowType=machine_learning&viewStateShareKey={key}"
    note = [
        f"[Table of models]({page}): one run per model of the edition {edition}. Below it are "
        "one run per benchmark and, below that, one per variant and seed. "
        "Tags: `level` (model, benchmark, cell), `edition`, `superseded`.",
        "",
        "| model | " + " | ".join(numbers) + " |",
        "|---" * (len(numbers) + 1) + "|",
        *(
            f"| {model.name} | "
            + " | ".join(f"{model.metrics[name]:.1%}" if name in model.metrics else "" for name in numbers)
            + " |"
            for model in models
        ),
    ]
    while len("\n".join(note)) > _NOTE_LENGTH:
        note.pop()
    tags = {"mlflow.note.content": "\n".join(note), f"mlflow.sharedViewState.{key}": json.dumps(view)}
    for name, value in tags.items():
        store.client.set_experiment_tag(store.experiment_id, name, value)
    return page
