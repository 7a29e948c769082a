"""The formats that predictions come in. Each is a `Format`, and a line in `FORMATS`.

| format      | who writes it                | fields of a row                                                     |
|-------------|------------------------------|---------------------------------------------------------------------|
| humblebench | the package ``humblebench``  | label, question, type, image, question_id, prediction               |
| lmms_eval   | lmms-eval, ``--log_samples`` | doc_id, filtered_resps; resps, doc, target                          |
| vlmevalkit  | VLMEvalKit                   | index, prediction; question_id, question, A, B, ..., answer         |
| plain       | anybody                      | question_id, prediction; step                                       |
| actiview    | ActiView's toolkit           | one object: {"preds": [...], "acc": ...}, in the order of data.json |

A file's format is the first of these that any of its rows fits; every row must then fit it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from known_unknowns.errors import DataError
from known_unknowns.exchange.rows import Row, identifier_of, parsed, rows
from known_unknowns.scoring.table import ANSWER_STEP

NO_PREDICTION = "the file holds no prediction (null)"
_FAILURE = "Failed to obtain answer"
"""What VLMEvalKit writes where its model gave no answer ("... via API.", "...: <error>")."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One reply to one question, as a file has it.

    ``id`` is the question's, or ``place`` its number (from 0) in published order, whichever the format knows.
    ``error`` says why there is no reply. ``fields`` is what the row tells of the question itself; ``logprobs`` are of
    the options, in their order.
    """

    row: Row
    text: str
    error: str | None = None
    id: str | None = None
    place: int | None = None
    step: str = ANSWER_STEP
    fields: Mapping[str, Any] | None = None
    logprobs: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Predictions:
    """A file of predictions. ``claimed`` is the accuracy that the file itself states, if it does."""

    file: Path
    format: str
    predictions: tuple[Prediction, ...]
    claimed: float | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """``needs`` are the fields that tell the format; ``read`` makes a prediction of a row that has them."""

    needs: tuple[str, ...]
    read: Callable[[Row], Prediction]


def read(file: Path) -> Predictions:
    """The predictions of a file, in its order. DataError names the line of a row that does not fit, and why."""
    if file.suffix.lower() == ".json":
        whole = parsed(file)
        if isinstance(whole, dict):
            return _object(file, whole)
    return _of_rows(file, rows(file))


def _object(file: Path, whole: Mapping[str, Any]) -> Predictions:
    if "preds" in whole:
        return _actiview(file, whole)
    logs = whole.get("logs")
    if isinstance(logs, list):  # lmms-eval, before it wrote a file a task
        return _of_rows(file, [Row(file, n, entry) for n, entry in enumerate(logs, 1) if _is_row(file, n, entry)])
    raise DataError("an object without preds (ActiView's results) or logs (old lmms-eval's)", file=file)


def _is_row(file: Path, line: int, entry: Any) -> bool:
    if not isinstance(entry, dict):
        raise DataError(f"{str(entry)[:60]!r} is not an object with fields", file=file, line=line)
    return True


def _of_rows(file: Path, found: list[Row]) -> Predictions:
    name = next((n for n, format in FORMATS.items() if any(_fits(row, format) for row in found)), None)
    if name is None:
        known = "; ".join(f"{n}: {', '.join(format.needs)}" for n, format in FORMATS.items())
        has = ", ".join(map(str, found[0].fields)) if found else "no rows"
        raise DataError(f"the fields are those of no known format ({has}); known are {known}", file=file)
    format = FORMATS[name]
    for row in found:
        missing = [field for field in format.needs if field not in row.fields]
        if missing:
            raise row.error(f"{', '.join(missing)} missing, which a row of the format {name} has")
    return Predictions(file, name, tuple(format.read(row) for row in found))


def _fits(row: Row, format: Format) -> bool:
    return all(field in row.fields for field in format.needs)


def _humblebench(row: Row) -> Prediction:
    text, error = reply(row, row.fields["prediction"])
    return Prediction(row, text, error, id=identifier_of(row, "question_id"), fields=row.fields)


def _plain(row: Row) -> Prediction:
    text, error = reply(row, row.fields["prediction"])
    step = row.fields.get("step") or ANSWER_STEP
    if not isinstance(step, str):
        raise row.error(f"the step is {step!r}, not a name")
    return Prediction(row, text, error, id=identifier_of(row, "question_id"), step=step)


def _vlmevalkit(row: Row) -> Prediction:
    """A ``question_id`` beside VLMEvalKit's own ``index`` says which question of the benchmark it is."""
    text, error = reply(row, row.fields["prediction"])
    if text.startswith(_FAILURE):
        text, error = "", text
    named = "question_id" if row.fields.get("question_id") not in (None, "") else "index"
    return Prediction(row, text, error, id=identifier_of(row, named), fields=row.fields)


def _lmms_eval(row: Row) -> Prediction:
    """The raw reply where the log has it (it leaves ``resps`` out where filters changed nothing).

    A task that compares likelihoods logs a pair (log-likelihood, whether it is the greedy text) an option: they are
    the options' ``logprobs``, and the likeliest option is the reply (`known_unknowns.exchange.matching`).
    """
    values = row.fields
    doc = values.get("doc")
    if doc is not None and not isinstance(doc, dict):
        raise row.error(f"doc is {str(doc)[:60]!r}, not an object")
    doc_id = values["doc_id"]
    if isinstance(doc_id, bool) or not isinstance(doc_id, int) or doc_id < 0:
        raise row.error(f"doc_id is {doc_id!r}, not a number from 0")
    fields = None if doc is None else {"target": values.get("target"), **doc}
    own = fields is not None and fields.get("question_id") not in (None, "")
    known: dict[str, Any] = {
        "id": identifier_of(Row(row.file, row.line, fields), "question_id") if own else None,
        "place": doc_id,
        "fields": fields,
    }
    replies = values.get("resps", values.get("filtered_resps"))
    pairs = _pairs(replies)
    if pairs is not None:
        return Prediction(row, "", logprobs=pairs, **known)
    text, error = reply(row, _only(row, replies))
    return Prediction(row, text, error, **known)


def _only(row: Row, replies: Any) -> Any:
    """The one reply in lists of lists of one."""
    while isinstance(replies, list):
        if len(replies) != 1:
            raise row.error(f"{len(replies)} replies to one question, where one can be scored")
        replies = replies[0]
    return replies


def _pairs(replies: Any) -> tuple[float, ...] | None:
    """The log-likelihoods of a list of pairs (written as texts); None where it is no such list."""
    if not isinstance(replies, list) or len(replies) < 2:
        return None
    pairs = [entry[0] if isinstance(entry, list) and len(entry) == 1 else entry for entry in replies]
    if not all(isinstance(pair, list) and len(pair) == 2 and str(pair[1]) in ("True", "False") for pair in pairs):
        return None
    try:
        found = tuple(float(pair[0]) for pair in pairs)
    except (TypeError, ValueError):
        return None
    return None if any(map(math.isnan, found)) else found


def _actiview(file: Path, whole: Mapping[str, Any]) -> Predictions:
    preds, claimed = whole["preds"], whole.get("acc")
    if not isinstance(preds, list) or not preds:
        raise DataError("preds is no list of replies", file=file)
    found = []
    for place, value in enumerate(preds):
        row = Row(file, place + 1, {"prediction": value})
        text, error = reply(row, value)
        found.append(Prediction(row, text, error, place=place))
    number = isinstance(claimed, int | float) and not isinstance(claimed, bool)
    return Predictions(file, "actiview", tuple(found), float(claimed) if number else None)


def reply(row: Row, value: Any) -> tuple[str, str | None]:
    """The text of a prediction, and why there is none. Null counts as no reply; what is no text, as a mistake."""
    if value is None:
        return "", NO_PREDICTION
    if not isinstance(value, str):
        raise row.error(f"the prediction is {str(value)[:60]!r} ({type(value).__name__}), not a text")
    return value, None


FORMATS: dict[str, Format] = {
    "humblebench": Format(("label", "question", "type", "question_id", "prediction"), _humblebench),
    "lmms_eval": Format(("doc_id", "filtered_resps"), _lmms_eval),
    "vlmevalkit": Format(("index", "prediction"), _vlmevalkit),
    "plain": Format(("question_id", "prediction"), _plain),
}
"""By rows; ActiView's result is one object and is told by its ``preds``."""
