"""MM-SAP's direct matching (Appendix B, "directly matching the characters of the options").

The paper says no more, and no code was released, so this is what we take it to mean; it is applied alike to the
five options and to the four of a forced choice.
"""

from __future__ import annotations

import re

from known_unknowns.records import Question
from known_unknowns.scoring.parsed_answer import ParsedAnswer, parse_label

_LETTER = re.compile(r"[\s\"'(\[*]*([A-H])(?![\w'’])")
_ALONE = re.compile(r"[\s\"'(\[*]*([A-H])[\s\"'.:,)\]*]*")
_APOSTROPHES = str.maketrans(dict.fromkeys("‘’ʼ`´", "'"))


def plain(text: str) -> str:
    """A text for comparison: whatever its apostrophes, spaces, case, and the full stop at its end."""
    return " ".join(text.translate(_APOSTROPHES).split()).rstrip(".").strip().casefold()


def official(text: str, question: Question) -> ParsedAnswer:
    """The option whose letter the reply begins with, or whose text it is.

    1. A reply that is a capital letter and nothing else but brackets, quotes, asterisks and a full stop: that option.
    2. A reply that is an option's text (`plain`): that option. The refusal prompt of Section 4.5 asks for the
       refusal's sentence in so many words, and "A black book" is an option of Figure 7, not option A.
    3. A reply that begins with a capital letter which no letter, digit or apostrophe follows ("C. White", "C because"):
       that option. The article is taken for option A ("A cat"), as matching characters does.

    All else is unparsed ("c", "Answer: C", "The answer is C"), as is a letter that was not on offer.
    """
    if alone := _ALONE.fullmatch(text):
        return parse_label(alone[1], question)
    same = [option.label for option in question.options if plain(option.text) == plain(text)]
    if len(same) == 1:
        return parse_label(same[0], question)
    begins = _LETTER.match(text)
    return parse_label(begins[1] if begins else None, question)
