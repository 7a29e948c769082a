"""The first page of the experiment in MLflow's UI: a note and a table of models."""

from __future__ import annotations

import json

from known_unknowns.tracking.store import Store

_NOTE_LENGTH = 4900  # MLflow accepts 5000 characters


def describe(store: Store, edition: str) -> str:
    """Update the note and the view of the experiment; return the address of the view, below that of the server.

    The UI selects tabs, filters and columns by its address only. The view is stored as the UI stores one that is
    shared (menu, "Share"), so that a short address selects it.
    """
    where = f"tags.edition = '{edition}' and tags.level = 'model' and tags.superseded = 'false'"
    models = list(store.search(where))
    names = dict.fromkeys(name for model in models for name in model.data.metrics)
    numbers = [name for name in names if not name.endswith((".low", ".high", ".n"))]
    view = {"searchFilter": where, "orderByKey": "attributes.start_time", "orderByAsc": False, "runsExpanded": {}}
    view["selectedColumns"] = [f"metrics.`{name}`" for name in numbers]
    key = f"models-{edition}"
    page = f"#/experiments/{store.experiment_id}/runs?workflowType=machine_learning&viewStateShareKey={key}"
    rows = [["model", *numbers], ["---"] * (len(numbers) + 1)]
    for model in models:
        shares = {name: f"{value:.1%}" for name, value in model.data.metrics.items()}
        rows.append([model.info.run_name, *(shares.get(name, "") for name in numbers)])
    note = [
        f"[Table of models]({page}): one run per model of the edition {edition}. Below it are one run per benchmark "
        "and, below that, one per variant and seed. Tags: `level` (model, benchmark, cell), `edition`, `superseded`.",
        "",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    while len("\n".join(note)) > _NOTE_LENGTH:
        note.pop()
    store.client.set_experiment_tag(store.experiment_id, "mlflow.note.content", "\n".join(note))
    store.client.set_experiment_tag(store.experiment_id, f"mlflow.sharedViewState.{key}", json.dumps(view))
    return page
