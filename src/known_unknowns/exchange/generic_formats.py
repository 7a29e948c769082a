"""The file formats that hold predictions for any benchmark.

| format     | written by                   | fields of a row                                               |
|------------|------------------------------|---------------------------------------------------------------|
| lmms_eval  | lmms-eval, ``--log_samples`` | doc_id, filtered_resps; resps, doc, target                    |
| vlmevalkit | VLMEvalKit                   | index, prediction; question_id, question, A, B, ..., answer   |
| plain      | any program                  | question_id, prediction; step, finish. Exported as ``csv``,   |
|            |                              | ``jsonl``                                                     |

A file holds replies; their outcomes follow when it is scored. Only ``plain`` says that the length limit ended a reply
(``finish`` is "length"), which distinguishes a cut reply from an unparsed one.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.exchange import FileFormat, Prediction, Row
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.engines.unusable import CUT_OFF
from known_unknowns.errors import DataError
from known_unknowns.exchange.formats import parse_reply, parse_rows, reply_text
from known_unknowns.exchange.rows import parse_identifier
from known_unknowns.files.csv_cells import escape_row
from known_unknowns.records import AnsweredTurn, Question

FAILURE = "Failed to obtain answer"
"""What VLMEvalKit writes if a model gave no answer ("... via API.", "...: <error>")."""

Answers = Sequence[tuple[Question, AnsweredTurn]]


def _parse_lmms_eval(row: Row) -> Prediction:
    """Parse the raw reply; lmms-eval leaves ``resps`` out if filters changed nothing.

    A task that compares likelihoods logs a pair (log-likelihood, whether it is the greedy text) per option. These
    become the ``logprobs``, and the most likely option the reply (`known_unknowns.exchange.matching`).
    """
    values = row.fields
    doc = values.get("doc")
    if doc is not None and not isinstance(doc, dict):
        raise row.error(f"doc is {str(doc)[:60]!r}, not an object")
    index = values["doc_id"]
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        raise row.error(f"doc_id is {index!r}, not a number from 0")
    fields = None if doc is None else {"target": values.get("target"), **doc}
    identified = fields if fields is not None and fields.get("question_id") not in (None, "") else None
    known: dict[str, Any] = {
        "id": parse_identifier(Row(row.file, row.line, identified), "question_id") if identified else None,
        "index": index,
        "fields": fields,
    }
    replies = values.get("resps", values.get("filtered_resps"))
    logprobs = _log_likelihoods(replies)
    if logprobs is not None:
        return Prediction(row, "", logprobs=logprobs, **known)
    while isinstance(replies, list):
        if len(replies) != 1:
            raise row.error(f"{len(replies)} replies to one question, where one can be scored")
        replies = replies[0]
    text, error = parse_reply(row, replies)
    return Prediction(row, text, error, **known)


def _log_likelihoods(replies: Any) -> tuple[float, ...] | None:
    """Return the log-likelihoods of a list of pairs; None for anything else."""
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


def _parse_lmms_eval_object(file: Path, content: Mapping[str, Any]) -> tuple[list[Prediction], None]:
    """Parse a file of an older lmms-eval, which wrote one object with the samples under ``logs``."""
    entries = content["logs"]
    if not isinstance(entries, list) or not entries:
        raise DataError("logs is not a list of samples", file=file)
    for line, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise DataError(f"{str(entry)[:60]!r} is not an object with fields", file=file, line=line)
    return parse_rows(LMMS_EVAL, [Row(file, line, entry) for line, entry in enumerate(entries, 1)]), None


def _write_lmms_eval(answers: Answers) -> str:
    """Write JSON lines as ``--log_samples`` does, with the ``doc`` that newer versions leave out.

    A failed reply is an empty text; the format has no other value for it.
    """
    lines = []
    for index, (question, turn) in enumerate(answers):
        target, text = _answer_label(question), reply_text(turn)
        doc = {
            "question_id": question.id,
            "question": question.rendered,
            "label": target,
            "type": question.category,
            **_extra_fields(question),
        }
        lines.append(
            {
                "doc_id": index,
                "doc": doc,
                "target": target,
                "resps": [[text]],
                "filtered_resps": [text],
                "doc_hash": _hash(json.dumps(doc, indent=2, ensure_ascii=False)),
                "prompt_hash": _hash(turn.text),
                "target_hash": _hash(target),
                "input": turn.text,
            }
        )
    return json_lines(lines)


def _parse_vlmevalkit(row: Row) -> Prediction:
    """Parse a row; a ``question_id`` beside VLMEvalKit's own ``index`` is the question's id in the benchmark."""
    text, error = parse_reply(row, row.fields["prediction"])
    if text.startswith(FAILURE):
        text, error = "", text
    name = "question_id" if row.fields.get("question_id") not in (None, "") else "index"
    return Prediction(row, text, error, id=parse_identifier(row, name), fields=row.fields)


def _write_vlmevalkit(answers: Answers) -> str:
    """Write a TSV as ``PRED_FORMAT=tsv`` does: index, the question's columns, prediction.

    A failed reply starts with `FAILURE`: VLMEvalKit asks it again, and `rescore` counts it as failed.
    """
    labels = sorted({label for question, _ in answers for label in question.labels})
    rows = []
    for index, (question, turn) in enumerate(answers):
        texts = {option.label: option.text for option in question.options}
        failed = turn.reply.error is not None
        rows.append(
            {
                "index": index,
                "question": question.text,
                **{label: texts.get(label, "") for label in labels},
                "answer": _answer_label(question),
                "category": question.category,
                "question_id": question.id,
                **_extra_fields(question),
                "prediction": f"{FAILURE}: {turn.reply.error}" if failed else turn.reply.text,
            }
        )
    return _separated(rows, delimiter="\t")


def _parse_plain(row: Row) -> Prediction:
    text, error = parse_reply(row, row.fields["prediction"])
    step = row.fields.get("step") or ANSWER
    if not isinstance(step, str):
        raise row.error(f"the step is {step!r}, not a name")
    finish = row.fields.get("finish") or "stop"
    if not isinstance(finish, str):
        raise row.error(f"finish is {finish!r}, not a word such as {CUT_OFF!r}")
    return Prediction(row, text, error, id=parse_identifier(row, "question_id"), step=step, finish=finish)


def _write_csv(answers: Answers) -> str:
    """Write CSV. It has no null: a failed reply is empty, which is then unparsed."""
    return _separated([escape_row(row) for row in _plain_rows(answers)], delimiter=",")


def _write_jsonl(answers: Answers) -> str:
    """Write JSON lines, in which a failed reply is null."""
    return json_lines(_plain_rows(answers))


def _plain_rows(answers: Answers) -> list[dict[str, Any]]:
    """Return question_id and prediction; step, if a question has further turns; finish, if a limit ended a reply."""
    with_steps = any(turn.step != ANSWER for _, turn in answers)
    with_finish = any(turn.reply.finish == CUT_OFF for _, turn in answers)
    return [
        {"question_id": question.id}
        | ({"step": turn.step} if with_steps else {})
        | {"prediction": None if turn.reply.error is not None else turn.reply.text}
        | ({"finish": turn.reply.finish} if with_finish else {})
        for question, turn in answers
    ]


def json_lines(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return one JSON object per line."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _separated(rows: Sequence[Mapping[str, Any]], *, delimiter: str) -> str:
    """Return rows with the same columns as text; every cell is quoted, because replies contain any character."""
    buffer = StringIO(newline="")
    writer = csv.DictWriter(buffer, list(rows[0]) if rows else [], delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _extra_fields(question: Question) -> dict[str, Any]:
    """Return the further fields that rescoring needs: those of the benchmark, and the image's path (for groups)."""
    names = (*registry.get(question.benchmark).exchange().exported_extra, "image_path")
    return {name: question.extra[name] for name in names if question.extra.get(name)}


def _answer_label(question: Question) -> str:
    return "" if question.answer is None else question.labels[question.answer]


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()


LMMS_EVAL = FileFormat(
    name="lmms_eval",
    fields=("doc_id", "filtered_resps"),
    parse_row=_parse_lmms_eval,
    object_key="logs",
    parse_object=_parse_lmms_eval_object,
    write=_write_lmms_eval,
    suffix=".lmms_eval.jsonl",
)
FORMATS = (
    LMMS_EVAL,
    FileFormat(
        name="vlmevalkit",
        fields=("index", "prediction"),
        parse_row=_parse_vlmevalkit,
        write=_write_vlmevalkit,
        suffix=".tsv",
    ),
    FileFormat(name="plain", fields=("question_id", "prediction"), parse_row=_parse_plain),
    FileFormat(name="csv", write=_write_csv, every_turn=True, suffix=".csv"),
    FileFormat(name="jsonl", write=_write_jsonl, every_turn=True),
)
