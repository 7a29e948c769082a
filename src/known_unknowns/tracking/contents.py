"""What a tracked run shows: its metrics, its two tables, its description.

Every value goes into the tables. As MLflow metrics go the overall numbers of every scorer, and per category those in
`PER_CATEGORY`: about 230 values a run for HumbleBench, where all of them would be some 800 columns that nobody
can read.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from known_unknowns.errors import DataError
from known_unknowns.records import OVERALL, AnsweredTurn, Metric, Question, Score

PER_CATEGORY = ("accuracy",)
"""The metrics that are logged for each category; all are logged for all questions together."""

_FORBIDDEN = re.compile(r"[^\w\-. ]")  # MLflow also allows "/" and ":", which some of its stores make paths of


def allowed_name(name: str) -> str:
    """``name`` with what MLflow does not allow in the name of a metric or a parameter replaced by "_"."""
    return _FORBIDDEN.sub("_", name)


def metric_values(metrics: Iterable[Metric], *, file: Path) -> dict[str, float]:
    """``robust.accuracy.Overall`` and its ``.low``, ``.high`` and ``.n``, for every metric that is to be logged.

    What is undefined (None) has no entry. Raises DataError, naming ``file``, when two metrics get the same name.
    """
    values: dict[str, float] = {}
    for metric in metrics:
        if metric.value is None or not (metric.category == OVERALL or metric.name in PER_CATEGORY):
            continue
        name = allowed_name(f"{metric.scorer}.{metric.name}.{metric.category}")
        if name in values:
            raise DataError(
                f"{metric.model}, {metric.variant}, seed {metric.seed}: two metrics are named {name!r}",
                file=file,
            )
        bounds = {"": metric.value, ".low": metric.low, ".high": metric.high, ".n": metric.n}
        values |= {name + suffix: float(value) for suffix, value in bounds.items() if value is not None}
    return values


def metric_table(metrics: Iterable[Metric]) -> bytes:
    """All metrics of a run as CSV, undefined values empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [f.name for f in fields(Metric)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(metric) for metric in metrics)
    return text.getvalue().encode()


def question_table(
    questions: Sequence[Question],
    replies: Iterable[AnsweredTurn],
    scores: Iterable[Score],
    scorers: Sequence[str],
    *,
    file: Path,
) -> bytes:
    """One row a question and turn: what was right, what was replied, and how each scorer read it.

    In the JSON form of MLflow's own tables, so that its UI shows it and sets the replies of several runs side by
    side, and ``mlflow.load_table`` reads it. (JSON also keeps a reply such as "=1+1" from being run by a
    spreadsheet.) Columns: question_id, category, turn, step, answer (the right letter), reply, error, and for each
    scorer ``<scorer>`` (the letter read), ``<scorer>.outcome`` and ``<scorer>.correct``; these three are null for a
    turn that is not scored.

    Raises DataError, naming ``file``, unless every question was asked and read by every scorer, and no other was.
    """
    readings = _by_turn(scores, file=file)
    asked = list(replies)
    _check_complete({q.id for q in questions}, asked, readings, scorers, file=file)
    columns = ["question_id", "category", "turn", "step", "answer", "reply", "error"]
    columns += [scorer + suffix for scorer in scorers for suffix in ("", ".outcome", ".correct")]
    known = {question.id: question for question in questions}
    rows: list[list[Any]] = []
    for turn in asked:
        question = known[turn.question_id]
        answer = None if question.answer is None else question.labels[question.answer]
        row: list[Any] = [question.id, question.category, turn.turn, turn.step, answer]
        row += [turn.reply.text, turn.reply.error]
        for scorer in scorers:
            score = readings.get((question.id, turn.turn, scorer))
            row += [None] * 3 if score is None else [score.label, score.outcome, score.correct]
        rows.append(row)
    return json.dumps({"columns": columns, "data": rows}, allow_nan=False).encode()


_Readings = Mapping[tuple[str, int, str], Score]


def _by_turn(scores: Iterable[Score], *, file: Path) -> _Readings:
    readings: dict[tuple[str, int, str], Score] = {}
    for row, score in enumerate(scores):
        key = (score.question_id, score.turn, score.scorer)
        if key in readings:
            raise DataError(f"question {key[0]}, turn {key[1]}, is scored twice by {key[2]}", file=file, row=row)
        readings[key] = score
    return readings


def _check_complete(
    questions: set[str], asked: Iterable[AnsweredTurn], readings: _Readings, scorers: Sequence[str], *, file: Path
) -> None:
    seen = {"replies": {turn.question_id for turn in asked}}
    for scorer in scorers:
        seen[f"readings by the scorer {scorer}"] = {id for id, _, name in readings if name == scorer}
    for what, ids in seen.items():
        if ids != questions:
            odd = sorted(ids ^ questions)
            raise DataError(
                f"the {what} are of {len(ids)} questions where {len(questions)} were put "
                f"({', '.join(odd[:5])} without its counterpart); delete the file and run again",
                file=file,
            )


def description(title: str, facts: Mapping[str, str], metrics: Iterable[Metric]) -> str:
    """The run's note in Markdown: what was run, and the accuracy by each scorer with its interval."""
    lines = [f"**{title}**", "", *(f"- {name}: `{value}`" for name, value in facts.items()), ""]
    lines += ["| scorer | accuracy | interval | questions | method |", "|---|---|---|---|---|"]
    for metric in metrics:
        if metric.category == OVERALL and metric.name == "accuracy":
            interval = f"{_percent(metric.low)} to {_percent(metric.high)}"
            lines.append(f"| {metric.scorer} | {_percent(metric.value)} | {interval} | {metric.n} | {metric.method} |")
    lines += [
        "",
        "Artifacts: `questions.json` (every reply and how each scorer read it), `metrics.csv` (every metric), "
        "`engine.json` (what answered).",
    ]
    return "\n".join(lines)


def _percent(value: float | None) -> str:
    return "undefined" if value is None else f"{100 * value:.1f}%"
