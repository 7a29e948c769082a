"""MM-SAP's direct matching (Appendix B, "directly matching the characters of the options").

The paper gives no more details, and no code was released. This is our interpretation. It is applied in the same way to
the five options and to the four of a forced choice.
"""

from __future__ import annotations

import re

from known_unknowns.benchmark.parsed_answer import ParsedAnswer, parse_label
from known_unknowns.records import Question

_LETTER = re.compile(r"[\s\"'(\[*]*([A-H])(?![\w'’])")
_ALONE = re.compile(r"[\s\"'(\[*]*([A-H])[\s\"'.:,)\]*]*")
_APOSTROPHES = str.maketrans(dict.fromkeys("‘’ʼ`´", "'"))


def normalise_text(text: str) -> str:
    """Return a text for comparison, without differences in apostrophes, spaces, case and the final full stop."""
    return " ".join(text.translate(_APOSTROPHES).split()).rstrip(".").strip().casefold()


def official(text: str, question: Question) -> ParsedAnswer:
    """Parse the option whose letter the reply begins with, or whose text the reply is.

    These rules apply in order:

    1. A reply that is a capital letter, with only brackets, quotes, asterisks and a full stop, is that option.
    2. A reply that is the text of an option (`normalise_text`) is that option. The refusal prompt of Section 4.5 asks
       for the exact sentence of the refusal, and "A black book" is an option of Figure 7, not option A.
    3. A reply that begins with a capital letter, not followed by a letter, digit or apostrophe ("C. White",
       "C because"), is that option. The article counts as option A ("A cat"), as in the matching of characters.

    All other replies are unparsed ("c", "Answer: C", "The answer is C"), and so is a letter that was not offered.
    """
    if alone := _ALONE.fullmatch(text):
        return parse_label(alone[1], question)
    same = [option.label for option in question.options if normalise_text(option.text) == normalise_text(text)]
    if len(same) == 1:
        return parse_label(same[0], question)
    begins = _LETTER.match(text)
    return parse_label(begins[1] if begins else None, question)
