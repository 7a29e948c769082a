"""JSON in replies: a schema is requested, but endpoints without constrained decoding add prose, fences and mistakes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MAX_OBJECTS = 200
"""Further objects of a reply are ignored."""
_MAX_REPAIRED = 100_000
"""Longer replies are not repaired."""


def objects_in(text: str, key: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a reply that have a key, in the order of the text, at most `MAX_OBJECTS`.

    The reply is JSON, or JSON with prose, code fences, trailing commas or a missing end. The case of ``key`` does not
    matter; keys of the result are in lower case.
    """
    found = list(_collect(_parsed(text), key.lower()))
    return found[:MAX_OBJECTS]


def _parsed(text: str) -> Iterator[Any]:
    """Yield the JSON values of the text: the whole text, or every value that starts with a brace."""
    try:
        yield json.loads(text)
        return
    except (ValueError, RecursionError):
        pass
    if len(text) <= _MAX_REPAIRED:
        text = _without_trailing_commas(text)
    decoder, place = json.JSONDecoder(), 0
    while (place := text.find("{", place)) >= 0:
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
        else:
            yield value


def _without_trailing_commas(text: str) -> str:
    """Remove commas before a closing bracket, outside of strings."""
    kept: list[str] = []
    inside = escaped = False
    for character in text:
        if inside:
            escaped, inside = character == "\\" and not escaped, character != '"' or escaped
        elif character == '"':
            inside = True
        elif character in "}]":
            end = len(kept)
            while end and kept[end - 1].isspace():
                end -= 1
            if end and kept[end - 1] == ",":
                kept[end - 1] = " "
        kept.append(character)
    return "".join(kept)


def _collect(values: Iterator[Any], key: str) -> Iterator[dict[str, Any]]:
    pending = list(values)[::-1]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            lowered = {str(name).lower(): item for name, item in value.items()}
            if key in lowered:
                yield lowered
            else:
                pending.extend(list(value.values())[::-1])
        elif isinstance(value, list):
            pending.extend(value[::-1])
