"""Answers in JSON and in Python's literals: ``{"answer": "D"}``, ``{'A': False, 'C': True}``, ``["B"]``."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

_MAX_LENGTH = 20_000  # a longer reply is text
_ANSWER_KEY = re.compile(
    r"(?:^|[ _-])(?:answer|choice|option|label|letter|prediction|selection|selected|result|response|conclusion|output"
    r"|answers|答案|答え)$|^(?:answer|selected)[ _-]|^(?:final|text|right|correct)$",
    re.IGNORECASE,
)
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TRUE = frozenset({"true", "yes", "correct", "right", "1"})
_FALSE = frozenset({"false", "no", "incorrect", "wrong", "0", "none", "null", ""})


def parse_structure(text: str) -> Any:
    """Return the object or list that ends the text, or None.

    Parameters
    ----------
    text : str
        A reply without its reasoning, before its markup is removed.
    """
    text = text.strip().removesuffix("```").rstrip()
    if not text.endswith(("}", "]")) or len(text) > _MAX_LENGTH:
        return None
    opening = "{" if text.endswith("}") else "["
    start = text.find(opening)
    if start < 0 or text[:start].endswith(("boxed", "text")):
        return None
    body = text[start:]
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(body)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def statements(structure: Any, labels: Sequence[str]) -> list[str] | None:
    """Return the texts in a structure that give the answer; several are several answers.

    Parameters
    ----------
    structure : object
        A parsed object or list.
    labels : sequence of str
        The labels of the options.

    Returns
    -------
    list of str or None
        None if the structure is not one that holds an answer, so that the reply is parsed as text.
    """
    if isinstance(structure, Mapping):
        return _of_mapping(structure, labels)
    if isinstance(structure, (list, tuple, set)):
        parts = [statements(part, labels) for part in structure]
        return [text for part in parts for text in part or ()]
    if structure is None or isinstance(structure, str | Real):
        return [] if structure is None else [str(structure)]
    return None


def _of_mapping(structure: Mapping[Any, Any], labels: Sequence[str]) -> list[str] | None:
    verdicts = {str(key).strip().casefold(): value for key, value in structure.items()}
    by_label = {label: verdicts[label.casefold()] for label in labels if label.casefold() in verdicts}
    if by_label and len(by_label) == len(verdicts):
        return _true_labels(by_label)
    found = [value for key, value in structure.items() if _ANSWER_KEY.search(_CAMEL_CASE.sub("_", str(key)))]
    if not found:
        return []
    parts = [statements(value, labels) for value in found]
    return [text for part in parts for text in part or ()]


def _true_labels(by_label: Mapping[str, Any]) -> list[str]:
    """The labels with a true value, or the label with the highest of several numbers."""
    if all(isinstance(value, Real) and not isinstance(value, bool) for value in by_label.values()):
        highest = max(by_label.values())
        best = [label for label, value in by_label.items() if value == highest]
        return best if len(by_label) > 1 else []
    if len(by_label) == 1:
        ((label, value),) = by_label.items()
        if isinstance(value, str) and value.strip().casefold() not in _TRUE | _FALSE:
            return [f"{label}. {value}"]
    words = {label: str(value).strip().casefold() for label, value in by_label.items()}
    if not all(word in _TRUE | _FALSE for word in words.values()):
        return []  # a copy of the options, or remarks on them
    return [label for label, word in words.items() if word in _TRUE]
