"""The files of the rule `summarise`: headline, leaderboard, a record per model for DVC, data of a plot."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.files import atomic_path, write_text
from known_unknowns.files.csv_cells import escape_row
from known_unknowns.metrics import summary
from known_unknowns.metrics.measure import headline
from known_unknowns.metrics.summary import rounded
from known_unknowns.records import OVERALL, Metric

if TYPE_CHECKING:
    from known_unknowns.config import Params

METRIC_COLUMNS = tuple(field.name for field in fields(Metric))


def summarise(
    params: Params,
    metrics: Sequence[Path],
    *,
    out: Path,
    plot: Path,
    headline_table: Path,
    leaderboard_table: Path,
    models: Path,
) -> None:
    """Write the summaries of all metrics. An undefined number is an empty cell of a CSV and null in JSON.

    Parameters
    ----------
    params : Params
        The configuration.
    metrics : sequence of Path
        Tables of metrics (Parquet), one per model and benchmark.
    out : Path
        JSON with a short record per model: the numbers of the leaderboard by benchmark.
    plot : Path
        CSV of the benchmarks and their stress tests.
    headline_table : Path
        CSV of the headline metrics, one row per model, benchmark, variant and parser.
    leaderboard_table : Path
        CSV of the leaderboard, one row per model, benchmark and headline number, the primary one first.
    models : Path
        Folder for the record of each model, <model>.json, for ``dvc metrics``. Records of other models are removed.
    """
    chosen: list[Metric] = []
    rows: list[dict[str, Any]] = []
    for path in metrics:
        of_path = [metric for metric in headline(tables.read_metrics(path)) if metric.category == OVERALL]
        if of_path:
            rows += summary.leaderboard_rows(params, of_path[0].model, of_path[0].benchmark, of_path)
        chosen += of_path
    chosen.sort(key=_order)
    rows.sort(key=lambda row: (row["benchmark"], row["model"]))
    write_text(headline_table, _csv(*summary.headline_rows(params, chosen)))
    write_text(leaderboard_table, _csv(summary.COLUMNS, rows))
    of_model = {metric.model: [row for row in rows if row["model"] == metric.model] for metric in chosen}
    records = {model: summary.by_benchmark(own) for model, own in of_model.items()}
    write_text(out, _json(records))
    for model, record in records.items():
        write_text(models / f"{model}.json", _json(record))
    _remove_other_records(models, records)
    columns = plot_columns(dict.fromkeys(metric.benchmark for metric in chosen))
    write_text(plot, _csv(("benchmark", "model", *columns), plot_rows(chosen, columns)))


def _remove_other_records(folder: Path, models: Collection[str]) -> None:
    """Remove the records of models that were removed from the edition, which ``dvc metrics`` would show as current.

    A record has benchmarks as its keys. Other files are kept.
    """
    for path in folder.glob("*.json"):
        if path.stem not in models:
            with suppress(ValueError):
                record = json.loads(path.read_text(encoding="utf-8"))
                if isinstance(record, dict) and record.keys() <= set(registry.names()):
                    path.unlink()


def write_all_metrics(metrics: Sequence[Path], out: Path, *, chosen: Mapping[str, str | None]) -> int:
    """Write the rows of tables of metrics as one CSV.

    Parameters
    ----------
    metrics : sequence of Path
        Tables of metrics (Parquet).
    out : Path
        The CSV.
    chosen : mapping of str to (str or None)
        Columns and the value that their rows must have; None for any.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    ConfigError
        If no row has these values. The file is not written.
    """
    count, found = 0, {name: set[str]() for name in chosen}
    with atomic_path(out) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, METRIC_COLUMNS, lineterminator="\n")
        writer.writeheader()
        for path in metrics:
            rows = [asdict(metric) for metric in sorted(tables.read_metrics(path), key=_order)]
            for name, values in found.items():
                values.update(row[name] for row in rows)
            rows = [row for row in rows if all(value is None or row[name] == value for name, value in chosen.items())]
            writer.writerows(map(escape_row, rows))  # None is written as an empty cell
            count += len(rows)
        if any(chosen.values()) and not count:
            raise _no_rows(chosen, found)
    return count


def _no_rows(chosen: Mapping[str, str | None], found: Mapping[str, Collection[str]]) -> ConfigError:
    """Return the error for values that no row has: the first unknown one, or that they do not occur together."""
    for name, value in chosen.items():
        if value is not None and value not in found[name]:
            return ConfigError(unknown_name(value, found[name]), path=f"--{name}")
    return ConfigError("no metric has all these values: " + ", ".join(filter(None, chosen.values())))


def plot_columns(names: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    """Columns of the plot, to variant, parser and metric, as the benchmarks define them."""
    columns: dict[str, tuple[str, str, str]] = {}
    for name in names:
        columns |= registry.get(name).plot
    return columns


def plot_rows(metrics: Iterable[Metric], columns: Mapping[str, tuple[str, str, str]]) -> list[dict[str, Any]]:
    """Return the rows of a plot.

    Parameters
    ----------
    metrics : iterable of Metric
        The metrics of all models over all questions.
    columns : mapping from str to (str, str, str)
        Columns, and the variant, parser and metric of each (`plot_columns`).

    Returns
    -------
    list of dict
        One row per benchmark and model. A metric that was not measured has no value.
    """
    column_of = {source: column for column, source in columns.items()}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for metric in metrics:
        column = column_of.get((metric.variant, metric.parser, metric.name))
        if column is not None:
            key = (metric.benchmark, metric.model)
            row = rows.setdefault(key, {"benchmark": metric.benchmark, "model": metric.model})
            row[column] = rounded(metric.value)
    return list(rows.values())


def _order(metric: Metric) -> tuple[Any, ...]:
    """Sort key: every key column; Overall before the categories, means over seeds before single seeds."""
    return (
        metric.model,
        metric.benchmark,
        metric.variant,
        metric.parser,
        metric.category != OVERALL,
        metric.category,
        metric.name,
        -1 if metric.seed is None else metric.seed,
    )


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(escape_row, rows))  # None is written as an empty cell
    return text.getvalue()


def _json(records: Mapping[str, Any]) -> str:
    return json.dumps(records, indent=2, sort_keys=True, allow_nan=False) + "\n"
