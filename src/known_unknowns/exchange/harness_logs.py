"""Logs of evaluation harnesses: each sample of a log as rows with the fields of the plain format, one for each reply.

A log keeps the fields of the question in an object of its own, which becomes the field ``question`` of the row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from known_unknowns.benchmark.exchange import Row
from known_unknowns.errors import DataError


def expand_logs(row: Row) -> Iterator[Row]:
    """Expand a file of an older lmms-eval, which wrote one object with the samples under ``logs``."""
    entries = row.fields["logs"]
    if not isinstance(entries, list) or not entries:
        raise DataError("logs is not a list of samples", file=row.file)
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise DataError(f"{str(entry)[:60]!r} is not an object with fields", file=row.file, line=number)
        yield from expand_sample(Row(row.file, number, entry))


def expand_sample(row: Row) -> Iterator[Row]:
    """Expand a sample of lmms-eval or lm-evaluation-harness: one row for each repeat.

    The raw replies are read. lmms-eval leaves ``resps`` out if filters changed nothing. A task that compares
    likelihoods logs a pair (log-likelihood, whether it is the greedy text) per option.
    """
    values = row.fields
    doc = values.get("doc")
    if doc is not None and not isinstance(doc, dict):
        raise row.error(f"doc is {str(doc)[:60]!r}, not an object")
    number = values.get("doc_id")
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise row.error(f"doc_id is {number!r}, not a number from 0")
    question = None if doc is None else {"target": values.get("target"), **doc}
    known = {
        "number": number,
        "question": question,
        "question_id": (doc or {}).get("question_id"),
        "filter": values.get("filter"),
    }
    replies = values.get("resps", values.get("filtered_resps"))
    likelihoods = _likelihoods(replies)
    if likelihoods is not None:
        yield row._replace(fields={**known, "likelihoods": likelihoods})
        return
    # "text", ["text"], [["text"]], or [["first repeat", "second repeat"]]: one request, which has one or more replies
    while isinstance(replies, list) and len(replies) == 1:
        replies = replies[0]
    of_requests = values.get("resps")
    if isinstance(of_requests, list) and len(of_requests) > 1:
        raise row.error(f"{len(of_requests)} requests for one question, where the replies to one can be scored")
    if replies == []:
        raise row.error("an empty list of replies")
    for sample, text in enumerate(replies if isinstance(replies, list) else [replies]):
        yield row._replace(fields={**known, "prediction": text, "sample": sample})


def _likelihoods(replies: Any) -> tuple[float, ...] | None:
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
