"""The reader of predictions: a file, in any known format, as the replies to questions.

| format     | written by                            | a row                                                        |
|------------|---------------------------------------|--------------------------------------------------------------|
| plain      | any program; ``csv`` and ``jsonl``    | question_id, prediction; step, sample, finish, logprobs      |
| vlmevalkit | VLMEvalKit                            | index, prediction; question_id, question, A, B, ..., answer  |
| lmms_eval  | lmms-eval, lm-evaluation-harness      | doc_id, filtered_resps; resps, doc, target, filter           |
| inspect    | inspect_ai, ``.json`` and ``.eval``   | one object: eval, samples                                    |

A benchmark adds the formats of its own tools (`known_unknowns.benchmark.exchange.Exchange`). A file holds replies;
their outcomes follow when it is scored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.exchange import NO_PREDICTION, FileFormat, Prediction, PredictionFile, Row, is_number
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.errors import DataError
from known_unknowns.exchange import harness_logs, writers
from known_unknowns.exchange.rows import parse_identifier, parse_rows
from known_unknowns.unusable import CUT_OFF, FILTERED

FORMATS = (
    FileFormat(
        name="lmms_eval",
        fields=("doc_id", "filtered_resps"),
        expand=harness_logs.expand_sample,
        write=writers.write_lmms_eval,
    ),
    FileFormat(name="lmms_eval (one object)", fields=("logs",), expand=harness_logs.expand_logs),
    FileFormat(
        name="inspect",
        fields=("eval", "samples"),
        expand=harness_logs.expand_inspect,
        facts=harness_logs.inspect_facts,
        unfinished=harness_logs.inspect_unfinished,
    ),
    FileFormat(
        name="vlmevalkit",
        fields=("index", "prediction"),
        id=("question_id", "index"),
        failure=writers.FAILURE,
        stated={"hit": "VLMEvalKit"},
        stated_accuracy=harness_logs.accuracy_beside,
        write=writers.write_vlmevalkit,
        suffix=".tsv",
    ),
    FileFormat(name="plain", fields=("question_id", "prediction"), has_turns=True),
    FileFormat(name="csv", write=writers.write_csv, every_turn=True, suffix=".csv"),
    FileFormat(name="jsonl", write=writers.write_jsonl, every_turn=True),
)
"""The formats for every benchmark, in the order in which they are tried."""


_HITS = ("0", "1", "0.0", "1.0")


@cache
def formats() -> tuple[FileFormat, ...]:
    """Return every format: those of the benchmarks first, which need more fields, then the generic ones."""
    own = [format for name in registry.names() for format in registry.get(name).exchange().formats]
    return (*own, *FORMATS)


def parse_file(file: Path, problems: list[DataError] | None = None) -> PredictionFile:
    """Parse a file of predictions, which keep their order.

    The format is the first one whose fields any row has. Raises DataError naming a line that does not fit; with a list
    of ``problems``, errors of single lines are added to it, and the other lines are read.
    """
    rows = parse_rows(file, problems)
    format = next((f for f in formats() if f.fields and any(_has_fields(row, f) for row in rows)), None)
    if format is None:
        known = "; ".join(f"{f.name}: {', '.join(f.fields)}" for f in formats() if f.fields)
        fields = ", ".join(map(str, rows[0].fields))
        raise DataError(f"the fields are those of no known format ({fields}); known are {known}", file=file)
    predictions = tuple(_without_filters(_predictions(format, rows, problems)))
    stated = format.stated_accuracy(rows[0]) if format.stated_accuracy else None
    facts = format.facts(rows[0]) if format.facts else {}
    unfinished = format.unfinished(rows[0]) if format.unfinished else ""
    return PredictionFile(file, format, predictions, stated, facts, unfinished)


def _has_fields(row: Row, format: FileFormat) -> bool:
    return all(field in row.fields for field in format.fields)


def _predictions(format: FileFormat, rows: Iterable[Row], problems: list[DataError] | None) -> Iterator[Prediction]:
    for row in rows:
        try:
            missing = [field for field in format.fields if field not in row.fields]
            if missing:
                raise row.error(f"{', '.join(missing)} missing, which a row of the format {format.name} has")
            expanded = [row] if format.expand is None else list(format.expand(row))
        except DataError as error:
            _report(error, problems)
            continue
        for each in expanded:
            try:
                yield _prediction(format, each)
            except DataError as error:
                _report(error, problems)


def _without_filters(predictions: Iterable[Prediction]) -> list[Prediction]:
    """Join the lines of lm-evaluation-harness with the same raw reply under other filters: it is scored once."""
    kept: list[Prediction] = []
    places: dict[tuple[str, int], int] = {}
    for prediction in predictions:
        filter = prediction.row.fields.get("filter")
        place = places.setdefault((prediction.name, prediction.sample), len(kept))
        if filter is None or place == len(kept):
            kept.append(prediction)
            continue
        first = kept[place]
        is_repeated = (first.text, first.likelihoods) == (prediction.text, prediction.likelihoods)
        of_first = first.row.fields["filter"]
        if is_repeated and filter != of_first and not first.stated.keys() & prediction.stated.keys():
            kept[place] = replace(first, stated={**first.stated, **prediction.stated})
        else:
            kept.append(prediction)
    return kept


def _report(error: DataError, problems: list[DataError] | None) -> None:
    if problems is None:
        raise error
    problems.append(error)


def _prediction(format: FileFormat, row: Row) -> Prediction:
    """Return the prediction in a row, each part of which is a field."""
    values = row.fields
    text, error = _reply(row, values.get(format.reply))
    if format.failure and text.startswith(format.failure):
        text, error = "", text
    named = [name for name in format.id if values.get(name) not in (None, "")]
    is_expanded = format.expand is not None
    number = values.get("number") if is_expanded and not named else None
    fields = values.get("question") if is_expanded else values
    known: dict[str, Any] = {"index": number, "fields": fields or {}}
    if number is None:
        present = [name for name in format.id if name in values]
        known["id"] = parse_identifier(row, (named or present or format.id)[0])
    if is_expanded or format.has_turns:
        known |= _turn(row)
    if known.get("likelihoods") is not None:
        error = None
    if is_expanded and values.get("error"):
        text, error = "", str(values["error"])
    if error is None and known.get("finish") == FILTERED:
        error = "the content filter stopped the answer"  # failed, as in a run
    stated = dict(values.get("stated") or {}) if is_expanded else {}
    for name, scorer in format.stated.items():
        if str(values.get(name)) in _HITS:
            stated[scorer] = float(values[name])
    known["stated"] = stated
    return Prediction(row, text, error, **known)


def _reply(row: Row, value: Any) -> tuple[str, str | None]:
    """Return the text of a prediction, and why there is none. Null means no reply; other types are errors."""
    if value is None:
        return "", NO_PREDICTION
    if not isinstance(value, str):
        raise row.error(f"the prediction is {str(value)[:60]!r} ({type(value).__name__}), not a text")
    return value, None


def _turn(row: Row) -> dict[str, Any]:
    """Return what the plain format says of a turn."""
    values = row.fields
    step, finish, sample = values.get("step") or ANSWER, values.get("finish") or "stop", values.get("sample") or 0
    if not isinstance(step, str):
        raise row.error(f"the step is {step!r}, not a name")
    if not isinstance(finish, str):
        raise row.error(f"finish is {finish!r}, not a word such as {CUT_OFF!r}")
    if isinstance(sample, str) and sample.isdecimal() and len(sample) < 10:
        sample = int(sample)
    if isinstance(sample, bool) or not isinstance(sample, int) or sample < 0:
        raise row.error(f"the sample is {sample!r}, not a number from 0")
    return {
        "step": step,
        "finish": finish,
        "sample": sample,
        "logprobs": _label_logprobs(row),
        "likelihoods": values.get("likelihoods"),
    }


def _label_logprobs(row: Row) -> dict[str, float] | None:
    """The log-probabilities by label; null is minus infinity."""
    values = row.fields.get("logprobs")
    if values is None or values == "":
        return None
    if not isinstance(values, dict) or not all(v is None or is_number(v) for v in values.values()):
        raise row.error(f"logprobs are {str(values)[:60]!r}, not an object of labels and numbers")
    return {str(label): -math.inf if value is None else float(value) for label, value in values.items()}


def file_names(files: Sequence[PredictionFile]) -> str:
    """Return the names of the files, for error messages."""
    return ", ".join(str(file.file) for file in files)


def unfinished_notes(files: Sequence[PredictionFile]) -> tuple[str, ...]:
    """Return the files that say that they lack samples, with what they say."""
    return tuple(f"{file.file}: {file.unfinished}" for file in files if file.unfinished)


def facts_note(file: PredictionFile) -> str:
    """Return what a file says of its model, as a text; "" if it says nothing."""
    stated = dict(file.facts)
    settings = [
        f"{name} {value}" for name, value in {**stated.pop("settings", {}), **stated.pop("packages", {})}.items()
    ]
    facts = [f"{name} {value}" for name, value in stated.items()]
    return f"{file.file} states {', '.join([*facts, *settings])}" if file.facts else ""
