"""Answers in JSON and in Python's literals: ``{"answer": "D"}``, ``{'A': False, 'C': True}``, ``["B"]``."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Collection, Mapping
from numbers import Real
from typing import Any

_MAX_LENGTH = 20_000  # a longer reply is text
_ANSWER_KEY = re.compile(
    r"(?:^|[ _-])(?:answer|choice|option|label|letter|prediction|selection|selected|result|response|conclusion|output"
    r"|answers|答案|答え)$|^(?:answer|selected)[ _-]|^(?:final|text|right|correct)$",
    re.IGNORECASE,
)
_VERDICT_KEY = re.compile(
    r"^(?:is[ _-]?)?(?:correct|right|true|valid|selected|chosen|match|matches|fits|verdict|score|probability"
    r"|confidence)$",
    re.IGNORECASE,
)
_DENYING_KEY = re.compile(
    r"not|wrong|reject|exclu|elimin|false|incorrect|question|option|prompt|reason|thought|error", re.IGNORECASE
)
_OTHER_KEY = re.compile(
    r"second|other|alternative|wrong|reject|exclu|first|initial|previous|runner|\bnot\b", re.IGNORECASE
)
_TAG = re.compile(r"<(?P<name>[A-Za-z][\w-]*)(?:\s[^<>]*)?>(?P<content>[^<>]*)</(?P=name)\s*>")
_ANY_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
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


def parse_tags(text: str) -> dict[str, Any] | None:
    """Return the contents of the tags that a text consists of, by name: "<choice>B</choice>". None if it has others."""
    text = text.strip()
    if not text.startswith("<") or len(text) > _MAX_LENGTH or _ANY_TAG.sub("", _TAG.sub("", text)).strip():
        return None
    contents: dict[str, list[str]] = {}
    for match in _TAG.finditer(text):
        contents.setdefault(match["name"], []).append(match["content"].strip())
    return {name: found[0] if len(found) == 1 else found for name, found in contents.items()} or None


def stated_values(structure: Any, label_of: Callable[[str], str | None]) -> list[str] | None:
    """Return the texts in a structure that give the answer; several are several answers.

    Parameters
    ----------
    structure : object
        A parsed object or list.
    label_of : callable
        The label of the option that a text is (a label or an option's text), or None.

    Returns
    -------
    list of str or None
        None if the structure is not one that holds an answer, so that the reply is parsed as text.
    """
    if isinstance(structure, Mapping):
        return _of_mapping(structure, label_of)
    if isinstance(structure, (list, tuple, set)):
        verdicts = _verdicts_of(structure, label_of)
        if verdicts is not None:
            return _true_labels(verdicts)
        parts = [stated_values(part, label_of) for part in structure]
        return [text for part in parts for text in part or ()]
    if structure is None or isinstance(structure, str | Real):
        return [] if structure is None else [str(structure)]
    return None


def _of_mapping(structure: Mapping[Any, Any], label_of: Callable[[str], str | None]) -> list[str] | None:
    labels = [label_of(str(key).strip()) for key in structure]
    by_label = {label: _verdict(value) for label, value in zip(labels, structure.values(), strict=True) if label}
    if by_label and len(by_label) == len(structure):
        return _true_labels(by_label)
    keys = {key: _CAMEL_CASE.sub("_", str(key)) for key in structure}
    found = [structure[key] for key, name in keys.items() if _ANSWER_KEY.search(name) and not _OTHER_KEY.search(name)]
    if not found and len(structure) == 1:
        ((key, value),) = structure.items()
        found = [value] if isinstance(value, str | Mapping) and not _DENYING_KEY.search(str(key)) else []
    parts = [stated_values(value, label_of) for value in found]
    return [text for part in parts for text in part or ()]


def _verdicts_of(items: Collection[Any], label_of: Callable[[str], str | None]) -> dict[str, Any] | None:
    """The verdict of each option in a list like ``[{"option": "A", "correct": false}, ...]``."""
    verdicts = {}
    for item in items:
        if not isinstance(item, Mapping):
            return None
        named = [label for value in item.values() if isinstance(value, str) and (label := label_of(value.strip()))]
        verdict = _verdict(item)
        if not named or isinstance(verdict, Mapping):
            return None
        verdicts[named[0]] = verdict
    return verdicts or None


def _verdict(value: Any) -> Any:
    """The verdict in the remarks on an option, or the value itself if it is not an object with one verdict."""
    if not isinstance(value, Mapping):
        return value
    found = [verdict for key, verdict in value.items() if _VERDICT_KEY.search(str(key))]
    return found[0] if len(found) == 1 else value


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
