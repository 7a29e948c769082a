"""Parser and metrics of the code released with HumbleBench (package ``humblebench`` 1.0.2), bug for bug.

The package scores a list of {label, question, type, image, question_id, prediction}. `official` parses a prediction as
the package does. `released_label` is the label that the package compares it with.
"""

from __future__ import annotations

import re

from known_unknowns.benchmark.parsed_answer import ParsedAnswer, parse_label
from known_unknowns.images import is_recipe_image
from known_unknowns.records import Question

_TOKEN = re.compile(r"\b\w+\b")
_CHOICES = set("abcde")


def official(text: str, question: Question) -> ParsedAnswer:
    """Parse the one letter of a to e that is a word of the lower-cased reply; unparsed if there is none or several.

    These quirks are kept:

    - The article "a" is option A: "A car" and "it is a car" are parsed as A, "E, a car" is unparsed.
    - Option texts are ignored: "None of the above" is unparsed.
    - Words of a chain of thought count.
    - The letters are always a to e. A letter whose option was removed is kept, but the reply is unparsed.
    """
    return parse_label(letter(text), question)


def letter(text: str) -> str | None:
    """Return the letter that `official` finds, whatever the question offers; None if there is none or several."""
    found = _CHOICES.intersection(_TOKEN.findall(text.lower()))
    return found.pop().upper() if len(found) == 1 else None


def exact_refusal(text: str, question: Question) -> bool:
    """Return whether a stored reply is exactly the refusal's letter, as ``E_accuracy`` requires."""
    return question.refusal is not None and text == question.options[question.refusal].label


def released_label(question: Question) -> str:
    """Return the label of the question in the released code ("" if there is no answer).

    Its ``DataLoader`` changes the label of HumbleBench-E to E, but keeps the published labels of HumbleBench-GN
    although the image shows nothing. This function does the same for all generated images.
    """
    if any(is_recipe_image(image) for image in question.images):
        return question.extra["label"]
    return "" if question.answer is None else question.options[question.answer].label
