# ruff: noqa: E501 (a phrase is as long as it is)
"""Options that speak of other options, such as "Both A and B" or "The first two".

Such a text keeps its meaning only where the options it speaks of stand. Shuffled or removed options change it.
"""

from __future__ import annotations

import re

from known_unknowns.scoring.reply_parser.text import clean
from known_unknowns.scoring.reply_parser.words import phrases

_REFERENCES = phrases(r"""
    \b(?:both|all|any|neither|either|none|only|two|three|first|last|former|latter|previous|preceding|following|above|below|other|another|more than one)\b.*\b(?:NOUN|above|below|(?:of )?(?:these|those|them)|statements?|two|three|four|ones?|others)\b
    以上(?:都|皆|全)|都(?:对|不对|是|不是)|前两|上述|いずれも|すべて|\btodas? (?:las |os |as )?anterior|\bningun[ao]|\btou(?:te)?s les réponses|\baucune|\balle(?: der)? (?:oben|genannt|antworten)|\bkeine der|\bbeide\b|\bambas\b|\bambos\b|\bles deux|\btutte le|\bnessuna|\b(?:ни один|все (?:вышепереч|вариант))
    """)
_MOST_CHARACTERS = 60  # a longer text that has such words speaks of the question
_LETTER = r"\(?(?:[B-HJ-Z]|(?:A|I{1,3})(?!\s(?!and|or|nor|only)[a-z])|IV|[1-6])\)?"
_LETTERS = re.compile(
    rf"(?:(?:both|all|only|either|neither|not|options?|statements?|answers?|choices?)\s)*{_LETTER}(?:(?:,|,?\s(?:and|or|nor)|\s?[&+])\s?{_LETTER})+(?:\sonly)?\W*"
    rf"|(?:only|both|either|neither|not|same\sas)\s(?:options?\s)?{_LETTER}(?:\sonly)?\W*|{_LETTER}\sonly",
    re.IGNORECASE,
)


def speaks_of_options(text: str) -> bool:
    """Return whether the text of an option speaks of other options and loses its meaning in another place.

    Examples
    --------
    >>> [speaks_of_options(text) for text in ("Both A and B", "The first two", "None of the above", "A is closer")]
    [True, True, True, False]
    """
    plain = clean(text)
    return bool((len(plain) < _MOST_CHARACTERS and _REFERENCES.search(plain)) or _LETTERS.fullmatch(plain))
