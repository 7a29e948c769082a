"""The report's part on released replies: what only raw replies show.

The numbers are those of results/<edition>/released (`known_unknowns.comparison.reply_tables`) and of the metrics.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pandas as pd

from known_unknowns import json_files
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.benchmark.released import ANSWERS_ONLY
from known_unknowns.comparison.published import read_released
from known_unknowns.metrics.run import Run
from known_unknowns.report.formatting import Cell, Head, Row, Table, interval, metric_cell, move_n_to_heading, percent

_SHOWN = 25
_PARSERS = ("official", "robust")


@dataclass(frozen=True, slots=True)
class HardQuestion:
    """A question that no model answers correctly, with its place in the question browser."""

    text: str
    label: str
    top: str
    count: int
    models: int
    link: str


@dataclass(frozen=True, slots=True)
class ReleasedPart:
    """What released.html.j2 shows.

    ``files`` are the tables beside the report, relative to it. ``assumed`` are models whose file names no setting.
    ``problems`` are all statements on missing, broken and changed files.
    """

    tables: tuple[Table, ...]
    problems: tuple[str, ...]
    not_exact: tuple[str, ...]
    absent: tuple[str, ...]
    assumed: tuple[str, ...]
    hard: tuple[HardQuestion, ...]
    hard_count: int
    hard_file: str
    files: tuple[str, ...]


def released_part(run: Run, results: Path) -> ReleasedPart | None:
    """Return the part; None if the edition's replies are not released ones to the questions as published."""
    folder, numbers = results / "released" / run.benchmark, results / "released" / f"{run.benchmark}.json"
    if not _is_released(run, results) or "original" not in run.variants:
        return None
    _, logs = read_released(numbers)
    frames = {file.stem: pd.read_csv(file, keep_default_na=False, na_values=[""]) for file in folder.glob("*.csv")}
    hard = frames["all_wrong"].sort_values(["top_count", "id"], ascending=[False, True])
    found = [_logs(logs), *_exact(run), _parsers(run, frames["parsers"])]
    found += [*_sensitivity(run, frames["sensitivity"]), _agreement(run, frames["agreement"])]
    assumed = tuple(row["model"] for row in logs if row["outcome"] == ANSWERS_ONLY and row["model"] in run.models)
    return ReleasedPart(
        tables=tuple(_with_n_in_headings(table) for table in found if table.rows),
        problems=tuple(_problems(run, results, assumed)),
        not_exact=tuple(
            f"{row['log']}: {row['reason']}" for row in logs if row.get("log") and row["outcome"] != "exact"
        ),
        absent=tuple(row["model"] for row in logs if not row.get("log") and row["outcome"] != ANSWERS_ONLY),
        assumed=assumed,
        hard=tuple(_hard(run, row) for _, row in hard.head(_SHOWN).iterrows()),
        hard_count=len(hard),
        hard_file=f"results/{run.params.edition}/released/{run.benchmark}/all_wrong.csv",
        files=tuple(f"../released/{run.benchmark}/{name}.csv" for name in sorted(frames)),
    )


def _is_released(run: Run, results: Path) -> bool:
    numbers = results / "released" / f"{run.benchmark}.json"
    return run.params.data(run.benchmark).source == "released" and numbers.is_file()


def _problems(run: Run, results: Path, answers_only: Collection[str]) -> Iterator[str]:
    """Yield what is wrong with the files of each model, and the variants that it has no predictions of."""
    for model in run.models:
        facts = json_files.read(results / "replies" / model / run.benchmark / "engine.json")["facts"]
        variants = [name.partition("/")[0] for name in facts]
        for variant, of_cell in zip(variants, facts.values(), strict=True):
            for note in of_cell["notes"]:
                yield f"{model}, {run.section.name(variant)}: {note}."
        lacking = [run.section.name(variant) for variant in run.variants if variant not in variants]
        if lacking and model not in answers_only:
            yield f"{model}: no predictions of {', '.join(lacking)}; not run."


def _with_n_in_headings(table: Table) -> Table:
    columns, rows = move_n_to_heading(table.columns, table.rows)
    return replace(table, columns=columns, rows=rows)


def released_cells(run: Run, results: Path) -> list[PublishedCell]:
    """Return the numbers of the released logs; none if the edition's replies are not released ones."""
    if not _is_released(run, results):
        return []
    return read_released(results / "released" / f"{run.benchmark}.json")[0]


def _text(value: Any) -> Cell:
    return Cell(str(value), kind="text")


def _count(value: float) -> Cell:
    return Cell(f"{int(value):,}")


def _logs(rows: Sequence[dict[str, Any]]) -> Table:
    """The number of logs of each setting that the raw predictions reproduce to the last digit."""
    frame = pd.DataFrame([row for row in rows if row.get("log")], columns=["setting", "outcome"])
    return Table(
        "Released logs, recomputed from the raw predictions by the official parser",
        (Head("Setting"),),
        (Head("Logs"), Head("Equal in every digit"), Head("Different"), Head("Without predictions")),
        tuple(
            Row(
                (Head(str(setting)),),
                (
                    _count(len(part)),
                    *(_count(part.outcome.isin(names).sum()) for names in (["exact"], ["differs", "unreadable"])),
                    _count((part.outcome == "no replies").sum()),
                ),
            )
            for setting, part in frame.groupby("setting", sort=False)
        ),
    )


def _exact(run: Run) -> Iterator[Table]:
    """Yield the share of replies that are exactly the label of the refusal, and as the two parsers parse it."""
    for metric in run.section.official_metrics:
        if metric.name not in registry.get(run.benchmark).official_only_metrics:
            continue  # it does not compare the exact string
        columns = [
            ("official", metric.name, metric.heading),
            ("official", "refusal_recall", "official parser"),
            ("robust", "refusal_recall", "robust parser"),
        ]
        shown = [variant for variant in ("original", "nota_only") if variant in run.variants]
        label = run.section.refusal_label
        yield Table(
            f"{label} where {label} is right: the exact string against parsed replies, in percent",
            (Head("Model"),),
            tuple(Head(heading) for _ in shown for _, _, heading in columns),
            tuple(
                Row(
                    (Head(model),),
                    tuple(
                        _metric(run, model, variant, parser, name) for variant in shown for parser, name, _ in columns
                    ),
                )
                for model in run.models
            ),
            groups=tuple(Head(run.section.name(variant), span=len(columns)) for variant in shown),
        )


def _metric(run: Run, model: str, variant: str, parser: str, name: str) -> Cell:
    found = run.numbers.get(model, run.benchmark, variant, parser, name)
    return Cell("not run") if found is None else metric_cell(found)


def _parsers(run: Run, frame: pd.DataFrame) -> Table:
    """What the robust parser changes: the number of replies, and the accuracy."""
    shown = [variant for variant in ("original", "nota_only") if variant in set(frame.variant)]
    rows = []
    for model in run.models:
        cells: list[Cell] = []
        for variant in shown:
            part = frame[(frame.model == model) & (frame.variant == variant)]
            cells += _parser_cells(part.iloc[0]) if len(part) else [Cell("not run"), Cell("not run")]
        rows.append(Row((Head(model),), tuple(cells)))
    return Table(
        "Robust parser less official parser on the same replies, in percentage points",
        (Head("Model"),),
        tuple(Head(heading) for _ in shown for heading in ("replies parsed differently", "accuracy")),
        tuple(rows),
        groups=tuple(Head(run.section.name(variant), span=2) for variant in shown),
    )


def _parser_cells(row: pd.Series) -> list[Cell]:
    return [Cell(f"{int(row.changed):,}", n=int(row.n)), _difference(row)]


def _difference(row: pd.Series) -> Cell:
    low, high = (None if pd.isna(bound) else float(bound) for bound in (row.low, row.high))
    return Cell(
        percent(float(row.difference), signed=True), interval(low, high, signed=True), int(row.n), title=str(row.method)
    )


def _sensitivity(run: Run, frame: pd.DataFrame) -> Iterator[Table]:
    """The change of accuracy, and of the shares of refused and abstained questions, by variant."""
    frame = frame[frame.parser == "robust"]
    measures = {
        "accuracy": "accuracy",
        "refused": "share of replies that choose the refusal",
        "abstained": "share of replies that abstain without choosing it",
    }
    for measure, title in measures.items():
        part = frame[frame.measure == measure]
        variants = [variant for variant in run.variants if variant in set(part.variant)]
        part = part.set_index(["model", "variant"])
        yield Table(
            f"Change of the {title} from the questions as published, in percentage points (robust parser)",
            (Head("Model"),),
            tuple(Head(run.section.name(variant)) for variant in variants),
            tuple(
                Row(
                    (Head(model),),
                    tuple(
                        _difference(part.loc[(model, variant)]) if (model, variant) in part.index else Cell("not run")
                        for variant in variants
                    ),
                )
                for model in run.models
            ),
        )


def _agreement(run: Run, frame: pd.DataFrame) -> Table:
    """How often a model gives the same option as the other models, on the questions as published."""
    frame = frame[(frame.parser == "robust") & (frame.variant == "original")]
    rows = []
    for model in run.models:
        pairs = frame[(frame.model_a == model) | (frame.model_b == model)].dropna(subset=["same"])
        if not len(pairs):
            continue
        closest = pairs.loc[pairs.same.idxmax()]
        other = closest.model_b if closest.model_a == model else closest.model_a
        cells = (percent(pairs.same.mean()), f"{pairs.kappa.mean():.2f}", percent(pairs.same_wrong.mean()))
        nearest = Cell(percent(closest.same), n=int(closest.n))
        rows.append(Row((Head(model),), (*map(Cell, cells), nearest, _text(other))))
    return Table(
        "Agreement with the other models on the questions as published (means over the other models)",
        (Head("Model"),),
        tuple(
            map(
                Head,
                (
                    "same option, percent",
                    "Cohen’s kappa",
                    "same wrong option",
                    "with the closest model",
                    "closest model",
                ),
            )
        ),
        tuple(rows),
    )


def _hard(run: Run, row: pd.Series) -> HardQuestion:
    query = urlencode({"benchmark": run.benchmark, "question": row.id})
    top = "" if pd.isna(row.top) else row.top
    return HardQuestion(row.question, row.label, top, row.top_count, row.models, f"questions.html#{query}")
