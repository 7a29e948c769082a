"""Replace texts in a shard, and move the passages of its replies with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import orjson

from known_unknowns.report.browser.passages import utf16

Found = Sequence[tuple[int, int, str]]
"""Start and end of each text to replace, in order, and what takes its place."""


def replaced(data: bytes, find: Callable[[str], Found]) -> bytes:
    """Return the JSON of a shard in which every text has its replacements. ``find`` returns those of a text."""
    return orjson.dumps(_value(orjson.loads(data), find))


def _value(value: Any, find: Callable[[str], Found]) -> Any:
    if isinstance(value, str):
        return text_with(value, find(value))
    if isinstance(value, list):
        return [_value(part, find) for part in value]
    if not isinstance(value, dict):
        return value
    if {"reply", "turns", "scores"} <= value.keys():
        value = value | {"scores": _moved(value, find)}
    return {text_with(key, find(key)): _value(part, find) for key, part in value.items()}


def text_with(text: str, found: Found) -> str:
    """Return a text with its replacements."""
    parts, end = [], 0
    for start, stop, new in found:
        parts += [text[end:start], new]
        end = stop
    return "".join([*parts, text[end:]])


def _moved(part: dict[str, Any], find: Callable[[str], Found]) -> dict[str, Any]:
    """Return the scores of a part of the replies with the places of their passages in the new replies."""
    scores = part["scores"]
    starts, ends = list(scores["start"]), list(scores["end"])
    first = 0
    for before, count in zip(accumulate(part["turns"], initial=0), scores["counts"], strict=False):
        for row in range(first, first + count):
            text = part["reply"][before + scores["turn"][row]]
            if starts[row] >= 0 and (found := find(text)):
                starts[row] = _place(text, starts[row], found, end=False)
                ends[row] = _place(text, ends[row], found, end=True)
        first += count
    return scores | {"start": starts, "end": ends}


def _place(text: str, place: int, found: Found, *, end: bool) -> int:
    """Return where a place of a text, in UTF-16 code units, is after the replacements.

    A place inside of a replaced text is at the start or the end of its replacement.
    """
    place = len(text.encode("utf-16-le")[: 2 * place].decode("utf-16-le", errors="ignore"))
    passed = [part for part in found if part[1] <= place]
    inside = next((part for part in found if part[0] < place < part[1]), None)
    if inside is not None:
        kept = text_with(text[: inside[0]], passed) + (inside[2] if end else "")
    else:
        kept = text_with(text[:place], passed)
    return utf16(kept, len(kept))
