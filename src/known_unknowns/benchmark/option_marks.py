"""Marks at the start of options, such as "B. Red", and whether they contradict the options' labels."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from known_unknowns.benchmark.option_references import references
from known_unknowns.records import Option

_MARK = re.compile(
    r"\s*(?:(?:option|answer|choice)\s*)?(?:"
    r"[(\[{<]\s*(?P<enclosed>[a-z]|\d{1,2})\s*[)\]}>]\s*[.:]?"  # (B) Red, [2] Red
    r"|(?P<letter>[a-z])\s*[.)\]:、。](?![a-z]\.)"  # B. Red, b) Red; not B.C.
    r"|(?P<number>\d{1,2})\s*(?:[)\]、]|[.:。](?!\d))"  # 2. Red, 2) Red; not 2.5 or 2:30
    r")\s*(?P<text>\S.*)",
    re.IGNORECASE | re.DOTALL,
)


def contradicting_mark(labels: Sequence[str], texts: Sequence[str]) -> str | None:
    """Return how marks at the start of options contradict their labels; None if they do not.

    Marks count only if all options have one with a delimiter, but for those that speak of the others ("None of the
    above"), and if they are the labels in another order, three or more consecutive letters, or the numbers from 0 or 1
    on. A number stands for the place of an option.

    Examples
    --------
    >>> contradicting_mark("AB", ["B. Red", "A. Blue"])
    "option A reads 'B. Red', which begins with the label B"
    >>> contradicting_mark("AB", ["A. Smith", "M. Jones"])
    """
    matches = [_MARK.match(unicodedata.normalize("NFKC", text)) for text in texts]
    marked = [place for place, match in enumerate(matches) if match]
    others = references([Option(label, text, "") for label, text in zip(labels, texts, strict=True)]) if marked else {}
    if len(marked) < 2 or any(place not in marked and place not in others for place in range(len(texts))):
        return None
    found = [match for match in matches if match]
    labels, texts = [labels[place] for place in marked], [texts[place] for place in marked]
    marks = [(match["enclosed"] or match["letter"] or match["number"]).upper() for match in found]
    rest = {" ".join(match["text"].split()).casefold() for match in found}
    own = [label.upper() for label in labels]
    places = _ranks(marks) if len(marks) > 2 or marks[0].isdigit() or set(marks) == set(own) else None
    if places is None or len(rest) < len(found):
        return None  # "2nd" and "1st" of the same word are ordinal numbers
    if marks[0].isdigit() and not own[0].isdigit():
        contradicts = [place != number for number, place in enumerate(places)]
    else:
        contradicts = [mark != label for mark, label in zip(marks, own, strict=True)]
    if not any(contradicts):
        return None
    first = contradicts.index(True)
    return f"option {labels[first]} reads {texts[first][:60]!r}, which begins with the label {marks[first]}"


def check_marks(labels: Sequence[str], texts: Sequence[str]) -> None:
    """Raise ValueError if marks contradict labels (`contradicting_mark`). The answer could be either option."""
    if found := contradicting_mark(labels, texts):
        raise ValueError(f"{found}; put the options in the order of their labels, or remove the labels from the texts")


def _ranks(marks: Sequence[str]) -> list[int] | None:
    """Return the ranks of marks that are consecutive letters, or numbers from 0 or 1 on; None for others."""
    if all(mark.isdigit() for mark in marks):
        numbers = [int(mark) for mark in marks]
        if min(numbers) > 1:
            return None
    elif all(mark.isalpha() for mark in marks):
        numbers = [ord(mark) for mark in marks]
    else:
        return None
    ranks = [number - min(numbers) for number in numbers]
    return ranks if sorted(ranks) == list(range(len(marks))) else None
