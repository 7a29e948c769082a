"""Our replies as the sample logs of the two common evaluation harnesses, for whatever reads those."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from io import StringIO
from typing import Any

from known_unknowns.records import AnsweredTurn, Question

FAILED = "Failed to obtain answer"
"""What VLMEvalKit writes where a model gave no answer."""


def lmms_eval(answered: Sequence[tuple[Question, AnsweredTurn]]) -> str:
    """JSON lines as lmms-eval's ``--log_samples`` writes them, with the ``doc`` that newer versions leave out.

    A failed reply is an empty one: lmms-eval knows no other.
    """
    lines = []
    for place, (question, asked) in enumerate(answered):
        doc, target = _doc(question), _letter(question)
        text = "" if asked.reply.error is not None else asked.reply.text
        lines.append(
            {
                "doc_id": place,
                "doc": doc,
                "target": target,
                "resps": [[text]],
                "filtered_resps": [text],
                "doc_hash": _hash(json.dumps(doc, indent=2, ensure_ascii=False)),
                "prompt_hash": _hash(asked.text),
                "target_hash": _hash(target),
                "input": asked.text,
            }
        )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def vlmevalkit(answered: Sequence[tuple[Question, AnsweredTurn]]) -> str:
    """A TSV as VLMEvalKit writes it with ``PRED_FORMAT=tsv``: index, the question's columns, prediction.

    A failed reply reads `FAILED`, which VLMEvalKit asks again and our rescoring counts as failed.
    """
    labels = sorted({label for question, _ in answered for label in question.labels})
    rows = []
    for place, (question, asked) in enumerate(answered):
        texts = {option.label: option.text for option in question.options}
        failed = asked.reply.error is not None
        rows.append(
            {
                "index": place,
                "question": question.text,
                **{label: texts.get(label, "") for label in labels},
                "answer": _letter(question),
                "category": question.category,
                "question_id": question.id,
                **_own(question),
                "prediction": f"{FAILED}: {asked.reply.error}" if failed else asked.reply.text,
            }
        )
    return separated(rows, delimiter="\t")


def separated(rows: Sequence[Mapping[str, Any]], *, delimiter: str) -> str:
    """Rows with the same columns as text, every cell quoted, since replies hold anything."""
    buffer = StringIO(newline="")
    writer = csv.DictWriter(buffer, list(rows[0]) if rows else [], delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _doc(question: Question) -> Mapping[str, Any]:
    return {
        "question_id": question.id,
        "question": question.rendered,
        "label": _letter(question),
        "type": question.category,
        **_own(question),
    }


def _own(question: Question) -> dict[str, Any]:
    """What else rescoring must know: MM-SAP's subset, and the path that tells which questions share a picture."""
    own = {"subset": question.extra["subset"]} if "subset" in question.extra else {}
    return own | ({"image_path": question.extra["image_path"]} if question.extra.get("image_path") else {})


def _letter(question: Question) -> str:
    return "" if question.answer is None else question.labels[question.answer]


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
