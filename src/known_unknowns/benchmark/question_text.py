"""The names of the columns of a question, and the parser of questions that are published as one text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from known_unknowns.records import Option

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("question_id", "index", "id"),
    "image": ("image", "images", "image_path"),
    "question": ("question", "query", "text"),
    "options": ("options", "choices"),
    "answer": ("answer", "label", "target", "answerKey", "truth"),
    "category": ("category", "subject", "topic"),
    "hint": ("hint",),
}
"""Part of a question to the columns that are searched for it, in this order, in tables and files of any origin."""

SHAPES: Mapping[str, str] = {
    "columns": "A, B, C, ... to Z, one option each; the last may be empty",
    "a list": "texts in order, also written in JSON or Python's notation",
    "an object of labels": "A to Z with a text each, or text and label, as two lists or for each option",
    "lines": "'A. ...', 'B. ...' in order, in the column of options or below the question",
}
"""The shapes of the options of a question. Options of another shape are refused."""

_OPTION = re.compile(r"^(\s*([A-E])\s*[.):]\s*)(.*)$", re.DOTALL)


def parse_question(text: str) -> tuple[str, tuple[Option, ...]]:
    """Split a question into its stem and its options, labelled A to E.

    The labels may have gaps. Joining stem and option lines with newlines gives ``text`` again. ValueError if there are
    no options, or if their labels are not in alphabetical order.
    """
    first, *lines = text.split("\n")
    stem, blank = [first], ""
    options: list[Option] = []
    for line in lines:
        match = _OPTION.match(line)
        if match and (not options or match[2] > options[-1].label):
            options.append(Option(match[2], match[3], blank + match[1]))
            blank = ""
        elif not line.strip():
            blank += line + "\n"
        elif options:
            raise ValueError(f"the line {line!r} is not an option after {options[-1].label}")
        else:
            stem.append(blank + line)
            blank = ""
    if len(options) < 2:
        raise ValueError(f"no options A to E in {text!r}")
    return "\n".join(stem), tuple(options)
