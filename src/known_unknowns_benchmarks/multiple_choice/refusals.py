"""Options that are refusals: "None of the above", "I don't know", "Cannot be determined", ..."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from known_unknowns.yaml_reader import parse_yaml

_PHRASES = parse_yaml(Path(__file__).with_name("refusals.yaml").read_text(encoding="utf-8"))
_LINES = (re.sub("<(know|others)>", lambda match: _PHRASES[match[1]], line) for line in _PHRASES["phrasings"])
_REFUSAL = re.compile("|".join(f"(?:{line})" for line in _LINES))
_AROUND = " .,;:!?()[]{}'\"\u2026\u3002\u201c\u201d*_-"
_SPACES = re.compile(r"\s+")
_LONGEST = 120
"""Longer options are not compared with the standard phrasings."""


def plain(text: str) -> str:
    """Return a text for comparisons: in normal form, lower case, without surrounding punctuation and extra spaces."""
    text = unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold()
    return _SPACES.sub(" ", text).strip(_AROUND)


def is_standard_refusal(text: str) -> bool:
    """Whether an option's text is one of the standard phrasings of a refusal.

    "None", "Nothing" and "Unknown" alone are not: they can be answers ("How many dogs?").
    """
    return len(text) <= _LONGEST and _REFUSAL.fullmatch(plain(text)) is not None


def find_refusal(texts: Sequence[str], named: Sequence[str] | None) -> int | None:
    """Return the index of the refusal among the texts of options; None if there is none.

    ``named`` are the refusal's texts in params.yaml; without them, the standard phrasings are searched. Raises
    ValueError if several options are refusals.
    """
    if named is None:
        found = [index for index, text in enumerate(texts) if is_standard_refusal(text)]
    else:
        names = {plain(text) for text in named}
        found = [index for index, text in enumerate(texts) if plain(text) in names]
    if len(found) > 1:
        shown = " and ".join(repr(texts[index]) for index in found)
        raise ValueError(f"{shown} are refusals, and only one option can be; name it with refusal in params.yaml")
    return found[0] if found else None
