"""Search for the texts of a question's options in a reply."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from known_unknowns.records import Option
from known_unknowns.scoring._cleaning import bare, normalise

_ARTICLE = re.compile(r"(?:a|an|the)\s")
_NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NUMBER = {word: str(value) for value, word in enumerate(_NUMBERS)}
_NONE_OF_THEM = re.compile(
    r"none\sof(?:\sthe|\sthese|\sthose)?"
    r"(?:\s(?:above|given|provided|listed|offered|available|options?|choices?|answers?))+(?!\w)"
    r"|none\sof\s(?:them|these|those)(?!\s?\w)",
    re.IGNORECASE,
)
_SHORT = frozenset({"yes", "no", "none"})
"""Option texts that are also common words. Within a sentence they do not name the option."""

_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|no|never|without|neither|nor|cannot|than)|n't|instead\sof)"
    r"(?:\s(?:be|a|an|the|any|in|on|at|of|to|by|with|really|necessarily)){0,3}\s$",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    r"\s(?:is|are|was|were)(?:n't|\s(?:not|wrong|incorrect|false|absent|ruled\sout)\b)", re.IGNORECASE
)
_NEARBY = 40  # characters, enough for the words of _DENIED_BEFORE


class Mention(NamedTuple):
    """A part ``text[start:end]`` that is the text of the options with these ``labels``."""

    labels: frozenset[str]
    start: int
    end: int


class OptionTexts:
    """Finds the texts of ``options`` in a normalised reply. Use `option_texts`, which caches it."""

    def __init__(self, options: tuple[Option, ...]) -> None:
        self._by_key: list[dict[str, frozenset[str]]] = [{}, {}, {}]
        self._none_of_them: frozenset[str] = frozenset()
        texts = [(option.label, normalise(option.text)) for option in options]
        for label, text in texts:
            if not bare(text):
                continue
            for known, key in zip(self._by_key, _keys(text), strict=True):
                known[key] = known.get(key, frozenset()) | {label}
            if text.casefold().startswith("none of"):
                self._none_of_them |= {label}
        phrases = sorted({bare(text) for _, text in texts} - {""}, key=lambda text: (-len(text), text))
        patterns = [re.escape(text).replace(r"\ ", r"\s").replace("\\\n", r"\s") for text in phrases]
        if self._none_of_them:
            patterns.append(_NONE_OF_THEM.pattern)
        self._pattern = re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)", re.IGNORECASE) if patterns else None

    def equal_to(self, text: str) -> frozenset[str]:
        """Return the labels of the options with this text.

        Options with the same text come first, then those that differ in surrounding punctuation, then those that differ
        in the article or in the spelling of a number ("the keyboard", "keyboard"; "two", "2").
        """
        for known, key in zip(self._by_key, _keys(text), strict=True):
            if key in known:
                return known[key]
        whole = bare(text)
        if whole.casefold() == "none" or _NONE_OF_THEM.fullmatch(whole):
            return self._none_of_them
        return frozenset()

    def at_start(self, text: str) -> Mention | None:
        """Return the option text at the start of ``text``, unless the following words deny it."""
        match = self._pattern.match(text) if self._pattern else None
        if match is None or _DENIED_AFTER.match(text, match.end()):
            return None
        if match[0].casefold() in _SHORT and text[match.end() : match.end() + 2].strip(" ")[:1].isalnum():
            return None  # "No car is to be seen"
        return self._mention(match)

    def within(self, text: str) -> Iterator[Mention]:
        """Yield the option texts in a sentence that are not denied; of overlapping texts, the longest."""
        for match in self._pattern.finditer(text) if self._pattern else ():
            before = text[max(0, match.start() - _NEARBY) : match.start()]
            if match[0].casefold() in _SHORT and bare(before):
                continue
            if not _DENIED_BEFORE.search(before) and not _DENIED_AFTER.match(text, match.end()):
                yield self._mention(match)

    def _mention(self, match: re.Match[str]) -> Mention:
        return Mention(self.equal_to(match[0]) or self._none_of_them, match.start(), match.end())


def _keys(text: str) -> tuple[str, str, str]:
    folded = " ".join(text.casefold().split())
    plain = bare(folded)
    word = _ARTICLE.sub("", plain, count=1) if _ARTICLE.match(plain) else plain
    return folded.strip("."), plain, _NUMBER.get(word, word)


@lru_cache(maxsize=4096)
def option_texts(options: tuple[Option, ...]) -> OptionTexts:
    return OptionTexts(options)
