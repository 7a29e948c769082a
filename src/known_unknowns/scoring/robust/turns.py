"""Replies that go on with another question, or that imitate a conversation."""

from __future__ import annotations

import re
from collections.abc import Callable

_ASKED = r"(?:question|q|user|human|next\squestion|new\squestion|follow-?up(?:\squestion)?|instruction|prompt|example)"
_ASKS = re.compile(rf"(?:\A|\n)[\s#>-]{{0,4}}(?P<role>{_ASKED})\s?\d{{0,3}}\s?:", re.IGNORECASE)
_SPEAKS = re.compile(
    r"(?:\A|\n)[\s#>-]{0,4}(?:assistant|ai|model|bot|system|chatbot|gpt|response)\s?\d{0,3}:\s?", re.IGNORECASE
)
_ANSWERS = re.compile(r"\nA\s?\d{0,3}:\s")
_LISTS = re.compile(r"\nB\s?:")
_CORRECTS = re.compile(
    r"\b(?:sorry|apolog\w+|mistaken?|wrong|incorrect|correct(?:ion|ed)?|actually|no|right|instead|change)\b",
    re.IGNORECASE,
)


def own_answer(text: str, mentions: Callable[[str], bool]) -> list[str]:
    """Return the part of a reply that answers the question, without invented turns.

    Parameters
    ----------
    text : str
        A normalised reply.
    mentions : callable
        Whether a text mentions an option.

    Returns
    -------
    list of str
        One text; several if a conversation holds several answers, none of which corrects the others.
    """
    asks = list(_ASKS.finditer(text))
    speaks = _SPEAKS.match(text)
    if not asks:
        return [text if speaks is None else text[speaks.end() :]]
    before = text[: asks[0].start()]
    if before.strip() and speaks is None:
        return [before] if mentions(before) else [text]
    starts = ([] if speaks is None else [0]) + [match.end() for match in asks]
    ends = [match.start() for match in asks if match.start() > 0] + [len(text)]
    turns = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    spoken = [said for turn in turns if (said := _said(turn)) is not None]
    if len(spoken) < 2 or _CORRECTS.search(spoken[-1]):
        return spoken[-1:] or [text if len(turns) == 1 else turns[0]]
    return spoken


def _said(turn: str) -> str | None:
    """What a turn answers: the text after "Assistant:", or after "A:" if that is not an option."""
    found = _SPEAKS.search(turn)
    if found is None and _LISTS.search(turn) is None:
        found = _ANSWERS.search(turn)
    return None if found is None else turn[found.end() :]
