"""What MLflow's UI shows first: the note and the table of models of the experiment, and the note of a model's run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from known_unknowns.benchmark.caveats import caveat
from known_unknowns.tracking.contents import Column, RunContents
from known_unknowns.tracking.store import Store

if TYPE_CHECKING:
    from known_unknowns.config import Params

_NOTE_LENGTH = 4900  # MLflow accepts 5000 characters
_WIDTH = 115
"""Width of a column in pixels. Its head has up to 13 characters; a column of MLflow's own width shows 11."""
_REPORT = "[report](http://127.0.0.1:8000/index.html) (while the first command of `known-unknowns open` serves it)"


def note_of(contents: RunContents, caveat: str) -> str:
    """Return the description of a run: the caveat, and of a model the report and what its metrics are."""
    lines = [f"**{caveat}**", ""] if caveat else []
    if contents.level == "model":
        lines += [_REPORT, "", *_described(contents.columns)]
    return _cut(lines)


def describe(store: Store, params: Params, models: Sequence[RunContents]) -> str:
    """Update the note and the view of the experiment; return the address of the view, below that of the server.

    The UI selects tabs, filters and columns by its address only. The view is stored as the UI stores one that is
    shared (menu, "Share"), so that a short address selects it. Its columns are the primary number of each benchmark
    with its interval; without their order, the UI would sort them by their names. A window of 1280 pixels shows five
    of them. The models are sorted by the primary number of the first benchmark.
    """
    edition = params.edition
    where = f"tags.edition = '{edition}' and tags.level = 'model' and tags.superseded = 'false'"
    compared = [model for model in models if model.tags["baseline"] == "false"]
    if compared:
        where += " and tags.baseline = 'false'"
    rows = compared or list(models)
    columns = {column.head: column for model in rows for column in model.columns}
    primary = [column for column in columns.values() if column.is_primary]
    measured = {name for model in rows for name in model.metrics}
    intervals = []
    for column in primary:
        intervals += [f"metrics.`{name}`" for name in column.names if name in measured]
    others = [f"metrics.`{column.head}`" for column in columns.values() if not column.is_primary]
    order = [*intervals, *others]
    first = primary[0] if primary else Column("", "", None)
    view: dict[str, Any] = {"searchFilter": where, "orderByKey": f"metrics.`{first.head}`"}
    view |= {"orderByAsc": first.lower_is_better, "runsExpanded": {}}
    view |= {"selectedColumns": intervals, "columnOrder": order, "columnWidths": dict.fromkeys(order, _WIDTH)}
    key = f"models-{edition}"
    page = f"#/experiments/{store.experiment_id}/runs?workflowType=machine_learning&viewStateShareKey={key}"
    rows.sort(key=lambda model: model.metrics.get(first.head, 0.0), reverse=not first.lower_is_better)
    lines = [
        f"[Table of models]({page}), {_REPORT}",
        "",
        f"One run per model of the edition {edition}, and below it one per benchmark and seed. Tags: `level` (model, "
        "seed), `edition`, `baseline`, `superseded`.",
        "",
    ]
    if caveat(params):
        lines += [f"**{caveat(params)}**", ""]
    lines += [*_described(columns.values()), "", _row(["model", *columns]), _row(["---"] * (len(columns) + 1))]
    for model in rows:
        values = [model.metrics.get(head) for head in columns]
        lines.append(_row([model.name, *("" if value is None else f"{value:.1%}" for value in values)]))
    store.client.set_experiment_tag(store.experiment_id, "mlflow.note.content", _cut(lines))
    store.client.set_experiment_tag(store.experiment_id, f"mlflow.sharedViewState.{key}", json.dumps(view))
    return page


def _described(columns: Iterable[Column]) -> list[str]:
    """Return what each column is, as the items of a list."""
    lines = []
    for column in columns:
        interval = f"; `{column.names[1]}` and `{column.names[2]}` are its interval" if column.is_primary else ""
        lines.append(f"- `{column.head}`: {column.label}{interval}")
    return lines


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cut(lines: list[str]) -> str:
    """Return the text without the last lines that MLflow does not accept."""
    while len("\n".join(lines)) > _NOTE_LENGTH:
        lines.pop()
    return "\n".join(lines)
