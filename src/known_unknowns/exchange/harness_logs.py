"""Logs of evaluation harnesses: each sample of a log as rows with the fields of the plain format, one for each reply.

A log keeps the fields of the question in an object of its own, which becomes the field ``question`` of the row.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

from pydantic import TypeAdapter, ValidationError

from known_unknowns.benchmark.exchange import Row, is_number
from known_unknowns.errors import DataError
from known_unknowns.exchange.rows import parse_rows
from known_unknowns.records import Question
from known_unknowns.unusable import CUT_OFF, FILTERED, STOP

_VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""What inspect_ai's scorers call right, partly right, wrong, and without an answer."""
_LIMITS = ("max_tokens", "model_length", "length", "max_output_tokens")
"""Why a reply ended, if a limit of its length ended it."""
_SUCCESS = "success"
"""The status of a log whose evaluation came to its end; the others are started, cancelled and error."""
_LONGEST_PATH = 500
_QUESTION = TypeAdapter(Question)
PROMPT = "arguments"
"""The field of a question with the text of the request, which contains the question."""
RECORD = "known_unknowns"
"""The key of a sample's metadata with the complete question, in logs of our tasks (known_unknowns_inspect)."""


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
    beside = {"target": values.get("target"), PROMPT: _prompt(values)}
    question = {name: value for name, value in beside.items() if value is not None} | (doc or {})
    known = {
        "number": number,
        "question": question,
        "question_id": (doc or {}).get("question_id"),
        "filter": values.get("filter"),
    }
    known["stated"] = _of_metrics(values)
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
    repeats = replies if isinstance(replies, list) else [replies]
    if len(repeats) > 1:
        known["stated"] = {}  # a filter such as majority_vote judges all repeats, and the log does not say which
    for sample, text in enumerate(repeats):
        yield row._replace(fields={**known, "prediction": text, "sample": sample})


def _prompt(values: Mapping[str, Any]) -> str | None:
    """Return the text of the first request of a sample: lm-evaluation-harness nests it in ``arguments``."""
    value = values.get("arguments", values.get("input"))
    while value and isinstance(value, list | Mapping):
        value = value[0] if isinstance(value, list) else next(iter(value.values()))
    return value if isinstance(value, str) else None


def _of_metrics(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of a sample of lm-evaluation-harness, by metric and filter."""
    names, filter = values.get("metrics"), values.get("filter")
    if not isinstance(names, list):
        return {}
    under = f", filter {filter}" if filter not in (None, "none") else ""
    return {f"{name}{under}": float(values[name]) for name in map(str, names) if is_number(values.get(name))}


def expand_inspect(row: Row) -> Iterator[Row]:
    """Expand a log of inspect_ai: one row for each sample of the data set and epoch."""
    samples = row.fields["samples"]
    if not isinstance(samples, list) or not samples:
        raise DataError("a log without samples; run inspect with --log-samples, and to its end", file=row.file)
    for number, sample in enumerate(samples, 1):
        place = row._replace(line=number)
        try:
            fields = _of_sample(sample)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise place.error(f"not a sample of inspect_ai ({type(error).__name__}: {error})") from error
        yield place._replace(fields=fields)


def _of_sample(sample: Mapping[str, Any]) -> dict[str, Any]:
    metadata = sample.get("metadata") or {}
    question = {**metadata, **_asked(sample)}
    if RECORD in metadata:
        record = parse_record(metadata[RECORD])
        question = {"question": record.rendered, "variant": metadata.get("variant"), RECORD: record}
    fields: dict[str, Any] = {
        "question_id": metadata.get("question_id", sample["id"]),
        "sample": sample["epoch"] - 1,
        "question": question,
        "error": (sample.get("error") or {}).get("message"),
        "stated": {},
    }
    choices = sample["output"]["choices"]
    if choices:
        fields |= _of_message(choices[0]["message"]["content"], choices[0].get("stop_reason"))
    elif fields["error"] is None:
        fields["error"] = sample["output"].get("error") or "the log has no reply"
    for name, score in (sample.get("scores") or {}).items():
        value = _VALUES.get(score["value"]) if isinstance(score["value"], str) else score["value"]
        if isinstance(value, int | float):
            fields["stated"][name] = float(value)
    return fields


def _of_message(content: Any, reason: Any) -> dict[str, Any]:
    """Return the text of a message, which is a text or a list of parts, and why it ended."""
    if isinstance(content, list):
        content = "\n".join(part["text"] for part in content if part.get("type") in ("text", "output_text"))
    return {"prediction": content, "finish": finish_of(reason)}


def parse_record(values: Any) -> Question:
    """Return the question that `dataclasses.asdict` made these values of. ValueError if they are of none."""
    try:
        return _QUESTION.validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def finish_of(reason: Any) -> str:
    """Return what the reason of another tool means for the end of a reply."""
    if reason == FILTERED:
        return FILTERED
    return CUT_OFF if reason in _LIMITS else STOP


def _asked(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the question of a sample: its text, options, answer and image."""
    asked, images = sample["input"], []
    if isinstance(asked, list):
        parts: list[Any] = []
        for message in asked:
            if message["role"] == "user":
                content = message["content"]
                parts += content if isinstance(content, list) else [{"type": "text", "text": content}]
        asked = "\n".join(part["text"] for part in parts if part["type"] == "text")
        images = [part["image"] for part in parts if part["type"] == "image"]
    target = sample.get("target")
    found: dict[str, Any] = {"question": asked, "answer": target[0] if isinstance(target, list) and target else target}
    found |= dict(zip(string.ascii_uppercase, sample.get("choices") or (), strict=False))
    if images:
        path = "".join(images)
        found["image"] = {"path": path if len(path) < _LONGEST_PATH else sha256(path.encode()).hexdigest()}
    return found


def inspect_facts(row: Row) -> dict[str, Any]:
    """Return the model, the generation settings and the versions of a log of inspect_ai."""
    log = _object(row.fields["eval"])
    of_plan = _object(_object(row.fields.get("plan")).get("config"))
    settings = {**of_plan, **_object(log.get("model_generate_config"))}
    epochs = _object(log.get("config")).get("epochs")
    if epochs:
        settings["epochs"] = epochs
    packages = _object(log.get("packages"))
    found = {"model": log.get("model"), "task": log.get("task"), "settings": settings, "packages": packages}
    return {name: value for name, value in found.items() if value}


def inspect_unfinished(row: Row) -> str:
    """Return how many samples a log of inspect_ai has of its data set, and why; "" if it has all of them."""
    log, samples = _object(row.fields["eval"]), row.fields["samples"]
    config, total = _object(log.get("config")), _object(log.get("dataset")).get("samples")
    status, limit = row.fields.get("status", _SUCCESS), config.get("limit")
    asked = {(str(sample.get("id")), sample.get("epoch")) for sample in samples if isinstance(sample, dict)}
    expected = total * (config.get("epochs") or 1) if isinstance(total, int) else len(asked)
    if len(asked) >= expected and status == _SUCCESS:
        return ""
    parts = [f"{len(asked)} of {expected} samples"]
    if status != _SUCCESS:
        parts.append(f"the log ended with {status}")
    if limit is not None:
        parts.append(f"inspect had --limit {limit if isinstance(limit, int) else '-'.join(map(str, limit))}")
    return "; ".join(parts)


def _object(value: Any) -> Mapping[str, Any]:
    """Return an object of JSON; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def accuracy_beside(row: Row) -> float | None:
    """Return the accuracy that VLMEvalKit wrote beside a file of predictions, to <name>_acc.csv; None if it did not.

    The file has one row unless the data have several splits, whose accuracies are not those of the whole file.
    """
    file = row.file.with_name(f"{row.file.stem}_acc.csv")
    if not file.is_file():
        return None
    rows = parse_rows(file)
    try:
        return float(rows[0].fields["Overall"]) if len(rows) == 1 else None
    except (KeyError, ValueError):
        return None


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
