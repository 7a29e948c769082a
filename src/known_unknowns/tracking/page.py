"""The first page of the experiment in MLflow's UI: a note and a table of models."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from known_unknowns.benchmark.caveats import caveat
from known_unknowns.metrics.summary import numbers_of
from known_unknowns.tracking.contents import AREA, allowed_name
from known_unknowns.tracking.store import Store

if TYPE_CHECKING:
    from known_unknowns.config import Params

_NOTE_LENGTH = 4900  # MLflow accepts 5000 characters


def describe(store: Store, params: Params) -> str:
    """Update the note and the view of the experiment; return the address of the view, below that of the server.

    The UI selects tabs, filters and columns by its address only. The view is stored as the UI stores one that is
    shared (menu, "Share"), so that a short address selects it. Its columns are the primary number of each benchmark,
    the AUROC of confidences and the share of unusable replies. Its models are sorted by the first column.
    """
    edition = params.edition
    where = f"tags.edition = '{edition}' and tags.level = 'model' and tags.superseded = 'false'"
    models = list(store.search(where))
    if any(run.data.tags.get("baseline") == "false" for run in models):
        where += " and tags.baseline = 'false'"
        models = [run for run in models if run.data.tags.get("baseline") == "false"]
    measured = {name for run in models for name in run.data.metrics}
    numbers: list[str] = []
    lower = False
    for benchmark in params.benchmarks:
        own = [(f"{benchmark}.{number.name}", number.lower_is_better) for number, _ in numbers_of(params, benchmark)]
        primary = [(name, sign) for each, sign in own if (name := allowed_name(each)) in measured][:1]
        lower = primary[0][1] if primary and not numbers else lower
        areas = sorted(name for name in measured if name.startswith(f"{benchmark}.{AREA}"))
        numbers += [*(name for name, _ in primary), *areas, *({f"{benchmark}.unusable"} & measured)]
    first = numbers[0] if numbers else ""
    view: dict[str, Any] = {"searchFilter": where, "orderByKey": f"metrics.`{first}`", "orderByAsc": lower}
    view |= {"runsExpanded": {}, "selectedColumns": [f"metrics.`{name}`" for name in numbers]}
    key = f"models-{edition}"
    page = f"#/experiments/{store.experiment_id}/runs?workflowType=machine_learning&viewStateShareKey={key}"
    models.sort(key=lambda run: run.data.metrics.get(first, 0.0), reverse=not lower)
    rows = [["model", *numbers], ["---"] * (len(numbers) + 1)]
    for model in models:
        shares = {name: f"{value:.1%}" for name, value in model.data.metrics.items()}
        rows.append([model.info.run_name, *(shares.get(name, "") for name in numbers)])
    note = [
        f"[Table of models]({page}): one run per model of the edition {edition}. Below it are one run per benchmark "
        "and, below that, one per variant, seed and sample. Tags: `level` (model, benchmark, cell), `edition`, "
        "`baseline`, `superseded`.",
        *([f"**{caveat(params)}**"] if caveat(params) else []),
        "",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    while len("\n".join(note)) > _NOTE_LENGTH:
        note.pop()
    store.client.set_experiment_tag(store.experiment_id, "mlflow.note.content", "\n".join(note))
    store.client.set_experiment_tag(store.experiment_id, f"mlflow.sharedViewState.{key}", json.dumps(view))
    return page
