"""Express a reply in the words of its question, so that both can be compared word by word.

"What is over the trees?" and "The sky is visible above the trees." differ in words that mean the same here. `Wording`
replaces the reply's preposition by the question's ("over") and its "leaves of the tree" by "tree's leaves", and removes
participles that only place a thing ("placed on", "visible above").
"""

from __future__ import annotations

import re

_PLACES = (
    ("above", "over"),
    ("beside", "next to", "alongside", "adjacent to"),
    ("under", "below", "beneath", "underneath"),
    ("on", "on top of", "upon", "atop"),
    ("inside", "within"),
)
"""Prepositions of the same place."""
_PREPOSITION = (
    r"(?:on|in|at|above|over|beside|next|under|below|beneath|behind|near|between|inside|within|to|along|around|across"
    r"|against|atop)"
)
_PLACED = re.compile(
    rf"\s(?:placed|positioned|located|situated|visible|present|seen)(?=\s(?:(?:directly|right|just|immediately)\s)?{_PREPOSITION}\b)",
    re.IGNORECASE,
)
_EXACTLY = re.compile(rf"\b(?:directly|immediately)\s(?={_PREPOSITION}\s)", re.IGNORECASE)
_LEADING = re.compile(
    r"\A(?P<preposition>(?:in\sfront|on\stop|to\sthe\s(?:left|right))\sof|next\sto|on|under|behind|beside|near|in|above|below|over|to|from|at|with)"
    r"\s(?P<asked>(?:which|what)\b[^,]*?)\s(?P<rest>(?:is|are|was|were|does|do|did)\s.+)\Z",
    re.IGNORECASE,
)
_OWNED = re.compile(r"\b(?P<owner>[a-z]+(?:\s[a-z]+)?)(?:'s|(?<=s)')\s(?P<thing>[a-z]+)\b", re.IGNORECASE)


def with_its_preposition_last(question: str) -> str:
    """Move a question's first preposition to its end: "Under which table is it?" is "Which table is it under?"."""
    match = _LEADING.match(question)
    return question if match is None else f"{match['asked']} {match['rest']} {match['preposition']}"


class Wording:
    """Replaces words of replies to a question by the question's own."""

    def __init__(self, question: str) -> None:
        text = question.casefold()
        said = [name for names in _PLACES for name in names if re.search(rf"\b{name}\b", text)]
        self._replaced: list[tuple[re.Pattern[str], str]] = []
        for names in _PLACES:
            own = [name for name in names if name in said]
            others = sorted(set(names) - set(own), key=len, reverse=True)
            if len(own) == 1:
                self._replaced.append(
                    (re.compile(rf"\b(?:{'|'.join(others)})\b(?=\s(?:the|an?|his|her|its)\s)", re.IGNORECASE), own[0])
                )
        for match in _OWNED.finditer(text):
            owner = match["owner"].split()[-1]
            of = re.compile(rf"\b{match['thing']}\sof\s(?:the\s)?(?P<words>(?:\w+\s)?{owner})\b", re.IGNORECASE)
            self._replaced.append((of, rf"\g<words>'s {match['thing']}"))

    def apply(self, text: str) -> str:
        """Return a marked reply in the question's words."""
        text = _EXACTLY.sub("", _PLACED.sub("", text))
        for pattern, word in self._replaced:
            text = pattern.sub(word, text)
        return text
