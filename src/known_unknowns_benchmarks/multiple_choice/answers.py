"""The right option: its letter, its text, its index from 0, or its number from 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from known_unknowns.records import Option
from known_unknowns_benchmarks.multiple_choice.refusals import plain

MEANINGS = ("letter", "text", "index", "number")
"""What an answer can be; an earlier one is named if several fit all rows and name the same options."""
_SHOWN = 3


def meaning(value: Any, options: Sequence[Option], kind: str) -> set[int]:
    """Return the options that an answer names if it is of this kind; several only if options have equal texts."""
    if kind in ("index", "number"):
        number = _number(value)
        place = None if number is None else number - (kind == "number")
        return {place} if place is not None and 0 <= place < len(options) else set()
    text = str(value).strip()
    if kind == "letter":
        letter = text.strip("().: ").upper()
        return {place for place, option in enumerate(options) if option.label == letter}
    return {place for place, option in enumerate(options) if plain(text) in (plain(option.text), plain(option.line))}


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not float(value).is_integer():
        return None
    return int(value)


class Answer(NamedTuple):
    """What a row has as its answer, its options, and where it stands."""

    given: Any
    options: Sequence[Option]
    place: str


def detect(rows: Sequence[Answer]) -> str:
    """Return which of `MEANINGS` the answers of a data set have: the only one that fits all rows.

    Readings that name the same options in all rows are one. If none fits all rows, it is the one that fits most: the
    other rows are mistakes.

    Raises ValueError, with the first rows under each reading, if several fit all rows and name different options.
    """
    named = {kind: [meaning(row.given, row.options, kind) for row in rows] for kind in MEANINGS}
    fitting = [kind for kind in MEANINGS if all(named[kind])]
    if not fitting:
        return max(MEANINGS, key=lambda kind: sum(len(places) == 1 for places in named[kind]))
    different = [
        number
        for number in range(len(rows))
        if any(named[kind][number] != named[fitting[0]][number] for kind in fitting)
    ]
    if not different:
        return fitting[0]
    readings = []
    for kind in fitting:
        shown = []
        for number in different[:_SHOWN]:
            row = rows[number]
            shown.append(f"{row.place}: {row.given!r} is {row.options[min(named[kind][number])].line!r}")
        readings.append(f"answer_is: {kind}   # {'; '.join(shown)}")
    choices = " or ".join(fitting)
    lines = "\n    ".join([f"the answers fit several readings; set answer_is in params.yaml to {choices}:", *readings])
    raise ValueError(lines)


def resolve(value: Any, options: Sequence[Option], kind: str) -> int:
    """Return the index of the right option.

    Raises ValueError if the answer names no option, or several.
    """
    places = meaning(value, options, kind)
    shown = " / ".join(option.line for option in options)
    if not places:
        raise ValueError(f"{str(value)[:60]!r} is none of the options {shown[:300]} (read as {kind}); correct it")
    if len(places) > 1:
        raise ValueError(f"{len(places)} options read {str(value)[:60]!r}; give the letter of the right one")
    return places.pop()
