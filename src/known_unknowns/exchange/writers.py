"""Write replies in the formats for every benchmark. `known_unknowns.exchange.reader` has the table of formats."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from hashlib import sha256
from io import StringIO
from typing import Any

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.exchange.embedded_questions import function_of
from known_unknowns.files.csv_cells import escape_row
from known_unknowns.records import AnsweredTurn, Question
from known_unknowns.unusable import CUT_OFF

FAILURE = "Failed to obtain answer"
"""How VLMEvalKit's text begins if a model gave no answer ("... via API.", "...: <error>")."""

Answers = Sequence[tuple[Question, AnsweredTurn]]


def reply_text(turn: AnsweredTurn) -> str:
    """Return the text of a reply; "" for a failed one, for formats that have no other way to say so."""
    return "" if turn.reply.error is not None else turn.reply.text


def write_lmms_eval(answers: Answers) -> str:
    """Write JSON lines as ``--log_samples`` does, with the ``doc`` that newer versions leave out.

    A failed reply is an empty text; the format has no other value for it.
    """
    lines, function = [], function_of(question for question, _ in answers)
    for index, (question, turn) in enumerate(answers):
        target, text = _answer_label(question), reply_text(turn)
        doc = {
            "question_id": question.id,
            "question": question.rendered,
            "label": target,
            "type": question.category,
            **_extra_fields(question, function),
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


def write_vlmevalkit(answers: Answers) -> str:
    """Write a TSV as ``PRED_FORMAT=tsv`` does: index, the question's columns, prediction.

    A failed reply starts with `FAILURE`: VLMEvalKit asks it again, and `rescore` counts it as failed.
    """
    labels = sorted({label for question, _ in answers for label in question.labels})
    rows, function = [], function_of(question for question, _ in answers)
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
                **{name: _cell(value) for name, value in _extra_fields(question, function).items()},
                "prediction": f"{FAILURE}: {turn.reply.error}" if failed else turn.reply.text,
            }
        )
    return _separated(rows, delimiter="\t")


def write_csv(answers: Answers) -> str:
    """Write CSV. It has no null: a failed reply is empty, which is then unparsed."""
    return _separated([escape_row(row) for row in _plain_rows(answers)], delimiter=",")


def write_jsonl(answers: Answers) -> str:
    """Write JSON lines, in which a failed reply is null, with the log-probabilities of the labels if there are any."""
    rows = _plain_rows(answers)
    for row, (_, turn) in zip(rows, answers, strict=True):
        if turn.reply.logprobs and turn.reply.error is None:
            row["logprobs"] = {label: _finite(value) for label, value in turn.reply.logprobs.items()}
    return json_lines(rows)


def _finite(value: float) -> float | None:
    """A log-probability in JSON, which has no infinity: null is a label without one."""
    return value if math.isfinite(value) else None


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
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(buffer, columns, restval="", delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _extra_fields(question: Question, function: str) -> dict[str, Any]:
    """Return the further fields that rescoring needs.

    These are the function of the variant, the group (the original image), the texts of removed options, the label as
    published, and those of the benchmark.
    """
    exchange = registry.get(question.benchmark).exchange()
    names = (*exchange.exported_extra, "image_path", "removed")
    return {
        **{name: question.extra[name] for name in names if question.extra.get(name)},
        **({"published_label": question.extra[exchange.published_label]} if exchange.published_label else {}),
        "group": question.group,
        "variant": function,
    }


def _cell(value: Any) -> Any:
    """A value as a cell of a table: a list as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def _answer_label(question: Question) -> str:
    return "" if question.answer is None else question.labels[question.answer]


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
