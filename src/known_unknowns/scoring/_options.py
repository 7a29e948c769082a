"""Search for the texts of a question's options in a reply."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import NamedTuple

from known_unknowns.records import Option
from known_unknowns.scoring._cleaning import bare, normalise

_ARTICLE = re.compile(r"(?:a|an|the)\s")
# fmt: off
_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)
# fmt: on
NUMBER_WORDS = frozenset(_NUMBERS)
_NUMBER = {word: str(value) for value, word in enumerate(_NUMBERS)}
_WORD = {value: word for word, value in _NUMBER.items()}
_NONE_OF_THEM = re.compile(
    r"none\sof(?:\sthe|\sthese|\sthose)?"
    r"(?:\s(?:above|given|provided|listed|offered|available|mentioned|options?|choices?|answers?|colou?rs?|items?))+(?!\w)"
    r"|none\sof\s(?:them|these|those)(?!\s?\w)|none\sof\s(?:them|these|those)(?=\s(?:is|are|match|fit|apply|applies)\b)"
    r"|(?:not|n't)\s(?:match|fit|correspond\sto|listed\sin)\sany\sof\s(?:the|these)\s(?:listed\s|given\s|provided\s|above\s)*"
    r"(?:options|choices|answers|colou?rs)(?!\w)"
    r"|not\s(?:listed(?!\w)(?!\s(?:in|among)\b)|(?:one\sof|among|in|included\sin|listed\s(?:in|among))"
    r"\s(?:the|these|any\sof\sthe)\s(?:listed\s|given\s|provided\s|above\s|available\s|answer\s)*(?:options|choices|answers|colou?rs))",
    re.IGNORECASE,
)
_CANNOT_HELP = re.compile(
    r"(?:\bI(?:'m|\sam)\s(?:so\s|very\s|really\s)?)?(?:\bsorry[,.!]?\s)?(?:but\s)?\bI\s?(?:can'?t|cannot|can\snot|am\sunable\sto|'m\sunable\sto)"
    r"\shelp\s(?:you\s)?(?:with|on)\s(?:it|that|this)(?!\w)(?!\s(?:question|request|image|task))",
    re.IGNORECASE,
)
_FAMILIES = (("none of", _NONE_OF_THEM), ("sorry", _CANNOT_HELP))
"""Wordings of a refusal option: the start of its text, and a pattern of texts with the same meaning."""


class Mention(NamedTuple):
    """A part ``text[start:end]`` that is the text of the options with these ``labels``."""

    labels: frozenset[str]
    start: int
    end: int


class OptionTexts:
    """Finds the texts of ``options`` in a normalised reply. Use `option_texts`, which caches it."""

    def __init__(self, options: tuple[Option, ...]) -> None:
        self._by_key: tuple[dict[str, frozenset[str]], ...] = ({}, {}, {})
        self._families: list[tuple[re.Pattern[str], str]] = []
        self._texts = [(option.label, normalise(option.text)) for option in options]
        for label, text in self._texts:
            if not bare(text):
                continue
            for known, key in zip(self._by_key, _keys(text), strict=True):
                known[key] = known.get(key, frozenset()) | {label}
            self._families += [(pattern, label) for start, pattern in _FAMILIES if text.casefold().startswith(start)]

    def equal_to(self, text: str) -> frozenset[str]:
        """Return the labels of the options with this text.

        Options with the same text come first, then those that differ in surrounding punctuation, then those that differ
        in the article or in the spelling of a number ("the keyboard", "keyboard"; "two", "2"), and then the refusal
        option in other words.
        """
        for known, key in zip(self._by_key, _keys(text), strict=True):
            if key in known:
                return known[key]
        whole = bare(text)
        return frozenset(
            label
            for pattern, label in self._families
            if pattern.fullmatch(whole) or (pattern is _NONE_OF_THEM and whole.casefold() == "none")
        )

    def within(self, text: str) -> Iterator[Mention]:
        """Yield the option texts in a text; of overlapping texts, the first and longest."""
        lower = _lower(text)
        found = [(start, -len(spelling)) for spelling in self._spellings for start in _places(spelling, lower)]
        found += [(match.start(), -len(match[0])) for pattern, _ in self._families for match in pattern.finditer(text)]
        end = 0
        for start, length in sorted(found):
            labels = self.equal_to(text[start : start - length]) if start >= end else None
            if labels:
                end = start - length
                yield Mention(labels, start, end)

    @cached_property
    def _spellings(self) -> frozenset[str]:
        """All spellings of all texts, in lower case."""
        spellings = {_lower(bare(text)) for _, text in self._texts}
        spellings |= {_NUMBER[text] for text in spellings & _NUMBER.keys()}
        spellings |= {_WORD[text] for text in spellings & _WORD.keys()}
        spellings |= {text.replace("can't", "cannot") for text in spellings}
        spellings |= {_ARTICLE.sub("", text, count=1) for text in spellings if _ARTICLE.match(text)}
        return frozenset(spellings - {""})


def _lower(text: str) -> str:
    """Lower case with the same length, and spaces for line ends."""
    lower = text.lower().replace("\n", " ")
    if len(lower) == len(text):
        return lower
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text).replace("\n", " ")


def _places(spelling: str, text: str) -> Iterator[int]:
    """Yield the places of a whole text. Scripts without spaces have no words, so that their texts match anywhere."""
    start = text.find(spelling)
    while start >= 0:
        end = start + len(spelling)
        before, after = text[max(0, start - 2) : start], text[end : end + 2]
        if not _continues(spelling[0], before[::-1]) and not _continues(spelling[-1], after):
            yield start
        start = text.find(spelling, end)


def _continues(edge: str, outside: str) -> bool:
    """Whether the character ``edge`` of a text and the two characters outside it belong to one word or number."""
    if not outside:
        return False
    if not edge.isascii():
        return outside[0].isascii() and outside[0].isalnum() if edge >= "\u3040" else outside[0].isalpha()
    if outside[0].isalnum() or outside[0] == "_":
        return True
    return edge.isdigit() and outside[0] in ".," and outside[1:].isdigit()


def _keys(text: str) -> tuple[str, str, str]:
    folded = " ".join(text.casefold().split()).replace("cannot", "can't")
    plain = bare(folded)
    word = _ARTICLE.sub("", plain, count=1) if _ARTICLE.match(plain) else plain
    return folded.strip("."), plain, _NUMBER.get(word, word)


@lru_cache(maxsize=4096)
def option_texts(options: tuple[Option, ...]) -> OptionTexts:
    """Return the searcher of these options, from a cache."""
    return OptionTexts(options)
