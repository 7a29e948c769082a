"""Robust parsing of options whose labels are words or numbers, such as yes/no and 1 to 4.

Letters need rules of their own, because "a" and "I" are also words (`known_unknowns.scoring.robust`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from known_unknowns.records import Option
from known_unknowns.scoring._cleaning import ANSWER_MARK, bare
from known_unknowns.scoring._options import option_texts

_ANNOUNCED = re.compile(
    rf"{ANSWER_MARK}|\banswer\b(?:[^.\n:=]{{0,40}}?\b(?:is|be)\b(?!\snot\b)|\s?[:=-])", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"\n|[.!?](?:\s|$)|</answer>")
_OPENING = " \n:=-.([{<'"
_AFTER_A_WORD = (
    r"(?=\s?[.,:;!?)\]}\u2013\u2014-]|\s?$|\n"
    r"|\s(?:it|there|this|that|i|he|she|they|we|you|the|because|since|as)\b)"
)
_AFTER_A_NUMBER = r"(?=\s?[.:;)\]}](?!\d)|,(?!\d)|\s?$|\n|\s(?:is|because|since|as)\b)"


def uses_letters(labels: Sequence[str]) -> bool:
    """Whether every label is a single capital letter."""
    return all(len(label) == 1 and "A" <= label <= "Z" for label in labels)


def claims_of(text: str, options: tuple[Option, ...]) -> frozenset[str]:
    """Return the labels that a normalised reply chooses: none, one, or several that contradict each other.

    The first of these parts that contains a label decides: the whole reply, the text after the last announcement of
    an answer, the start of the reply, the last line, and finally mentions of an option ("option 3", "(3)" or its text).
    """
    found = _whole(text, options)
    for announcement in reversed(list(_ANNOUNCED.finditer(text))):
        segment = text[announcement.end() :].lstrip(_OPENING)
        sentence = _SENTENCE_END.split(segment, maxsplit=1)[0]
        found = found or _whole(sentence, options) or _at_start(segment, options)
    found = found or _at_start(text.lstrip(_OPENING), options) or _whole(text.rpartition("\n")[2], options)
    if found:
        return found
    cued = frozenset(_canonical(match[1] or match[2], options) for match in _cued(_labels(options)).finditer(text))
    apart = tuple(option for option in options if bare(option.text).casefold() != option.label.casefold())
    return cued.union(*(named.labels for named in option_texts(apart).within(text)))


def _labels(options: tuple[Option, ...]) -> tuple[str, ...]:
    return tuple(option.label for option in options)


def _canonical(text: str, options: tuple[Option, ...]) -> str:
    """The label as the question writes it."""
    return next(option.label for option in options if option.label.casefold() == text.casefold())


def _whole(text: str, options: tuple[Option, ...]) -> frozenset[str]:
    """The label if the text is only a label or an option's text."""
    label = frozenset(option.label for option in options if option.label.casefold() == bare(text).casefold())
    return label or option_texts(options).equal_to(text)


def _at_start(text: str, options: tuple[Option, ...]) -> frozenset[str]:
    """The label at the start, and the label of the option whose text follows it, if that is another option."""
    match = _start(_labels(options)).match(text)
    if match is None:
        named = option_texts(options).at_start(text)
        return named.labels if named else frozenset()
    label = frozenset({_canonical(match[1], options)})
    named = option_texts(options).at_start(text[match.end() :].lstrip(" .,:;)]}-"))
    return label if named is None or label <= named.labels else label | named.labels


@lru_cache(maxsize=256)
def _start(labels: tuple[str, ...]) -> re.Pattern[str]:
    words = "|".join(re.escape(label) for label in labels if not label.isdigit()) or "(?!)"
    numbers = "|".join(re.escape(label) for label in labels if label.isdigit()) or "(?!)"
    cue = r"(?:(?:option|choice|answer)\s)?\(?"
    return re.compile(rf"{cue}((?:{words})(?!\w){_AFTER_A_WORD}|(?:{numbers})(?!\w){_AFTER_A_NUMBER})", re.IGNORECASE)


@lru_cache(maxsize=256)
def _cued(labels: tuple[str, ...]) -> re.Pattern[str]:
    either = "|".join(map(re.escape, labels))
    return re.compile(rf"(?<!not\s)(?:\b(?:option|choice)\s\(?({either})(?!\w)|\(({either})\))", re.IGNORECASE)
