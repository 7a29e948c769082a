"""The right option: its letter, its text, its index from 0, or its number from 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from known_unknowns.records import Option
from known_unknowns_benchmarks.multiple_choice.refusals import plain

MEANINGS = ("letter", "text", "index", "number")
"""What an answer can be; an earlier one is preferred if several fit all rows and name the same options."""


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


def detect(rows: Sequence[tuple[Any, Sequence[Option]]]) -> str:
    """Return which of `MEANINGS` the answers of a data set have.

    It is the one that fits most rows. An index and a number are told apart by the answers 0 and n.

    Raises ValueError if several fit equally many rows and name different options.
    """
    found = {kind: [meaning(value, options, kind) for value, options in rows] for kind in MEANINGS}
    counts = {kind: sum(len(places) == 1 for places in named) for kind, named in found.items()}
    best = max(counts.values(), default=0)
    fitting = [kind for kind in MEANINGS if counts[kind] == best]
    first, *others = fitting
    for kind in others:
        place = next((i for i, (a, b) in enumerate(zip(found[first], found[kind], strict=True)) if a != b), None)
        if place is not None:
            value, options = rows[place]
            named = " or ".join(
                f"{options[min(found[each][place])].line!r} as {'an' if each == 'index' else 'a'} {each}"
                for each in (first, kind)
                if found[each][place]
            )
            raise ValueError(
                f"the answer {value!r} can be {named}; set answer_is in params.yaml to {' or '.join(fitting)}"
            )
    return first


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
