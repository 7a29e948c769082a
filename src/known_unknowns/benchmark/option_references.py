"""Options that speak of other options or of places: "Both A and B", "The first option", "None of the above".

Such a text has another meaning where options move or are removed. The rules are for English texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from known_unknowns.records import Option, Question

ALL_OTHERS, SOME_OTHERS = "all others", "some others"
"""What an option speaks of: the other options as a whole ("None of the above"), or those of some labels or places
("Both A and B", "The first two")."""

_MOST_CHARACTERS = 80  # a longer text that has such words speaks of the question
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_NOUN = "(?:answers?|options?|choices?|alternatives?)"
_NUMBER = "(?:two|three|four|2|3|4)"
_JOIN = r"(?:\s?,\s?(?:and|or|nor)?\s?|\s?[&+/]\s?|\s(?:and|or|nor|but not)\s)(?:also\s|not\s)?"
_RIGHT = (
    r"(?:\s(?:is|are|can be|could be|may be|might be|would be))?(?:\s(?:all|both|also))?"
    r"(?:\s(?:correct|right|true|valid|possible|acceptable|applicable|wrong|incorrect|false|apply|applies))?"
)
_NONE = "(?:none|neither|not any|no one|not one|nothing)"
_SOME = (
    "(?:all|not all|any|either|both|each|every|every one|some|most|several|one|two|three|four|at least (?:one|two)"
    "|at most (?:one|two)|more than one|only one|only two|exactly one|two or more|one or more)"
)
_BUT = "(?:(?:all|everything|any) (?:of the above |of these |options )?)?(?:but|except)"
_WHERE = "given|listed|provided|available|mentioned|above-mentioned|aforementioned"
_SIDE = "above|below|following|preceding|previous|foregoing"
_OTHERS = (
    rf"(?:(?:the|these|those|two|three|four|others?|remaining|rest|{_SIDE}|{_WHERE}|{_NOUN})\s)*"
    rf"(?:these|those|them|others?|rest|{_SIDE}|listed|mentioned|aforementioned|{_NOUN})(?:\s(?:{_WHERE}|above|below|here))?"
)
_OF_ALL = re.compile(
    rf"(?:the\s)?(?:{_SOME}|{_NONE})(?:\sof)?\s{_OTHERS}{_RIGHT}"
    rf"|(?:the\s)?(?:{_SIDE}) (?:{_NUMBER}|ones)|(?:the\s)?{_NUMBER} (?:above|below)"
    rf"|(?:{_SOME}|{_NONE}) of (?:the )?{_NUMBER}"
    rf"|(?:both|all|either)(?:\s(?:{_NUMBER}|five))?{_RIGHT}"
    r"|(?:both|all) at once|all the rest|(?:everything|nothing) (?:above|listed|mentioned)"
)
"""Whole texts that speak of all other options."""
_SEEMS = re.compile(
    rf"\b{_NOUN}\s(?:that|which|above|below|marked|in)\b|\b(?:above|below|previous|preceding|other|another)\s{_NOUN}\b"
    rf"|\bof\s(?:the\s|these\s|those\s)?(?:above|below|{_NOUN})\b"
    rf"|\b(?:more than one|none|all|any|both)\b.{{0,12}}\b{_NOUN}\b"
)
"""Words within a text by which it seems to speak of other options."""


def references(options: Sequence[Option]) -> dict[int, str]:
    """Return the places of the options that speak of others, with `ALL_OTHERS` or `SOME_OTHERS`.

    Letters that are no labels of the question, or by which an option would name itself, stand for something else, such
    as points in an image.

    Examples
    --------
    >>> texts = ("Red", "Blue", "Both A and B", "None of the above")
    >>> references([Option(label, text, f"{label}. ") for label, text in zip("ABCD", texts)])
    {2: 'some others', 3: 'all others'}
    """
    labels = tuple(_plain(option.label) for option in options)
    texts = {place: _plain(option.text) for place, option in enumerate(options)}
    texts = {place: text for place, text in texts.items() if len(text) <= _MOST_CHARACTERS}
    named = {place: _labels_in(text, labels) for place, text in texts.items() if _names_some(text, labels)}
    other_letters = any(labels[place] in words for place, words in named.items())
    found = {}
    for place, text in texts.items():
        if place in named and not (other_letters and named[place]):
            found[place] = SOME_OTHERS
        elif _OF_ALL.fullmatch(text) or _SEEMS.search(text):
            found[place] = ALL_OTHERS
    return found


def _plain(text: str) -> str:
    """Return a text in normal form and lower case, without punctuation around it."""
    plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold()
    return " ".join(plain.split()).strip(" .!,;:?'\"“”*_-")


def _labels_in(text: str, labels: Sequence[str]) -> set[str]:
    return set(labels).intersection(re.findall(r"[^\W_]+", text))


@lru_cache(maxsize=8192)
def _names_some(text: str, labels: tuple[str, ...]) -> bool:
    """Whether a text names options by labels or places."""
    return any(form.fullmatch(text) for form in _forms(labels))


@lru_cache(maxsize=256)
def _forms(labels: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Compile the forms of whole texts that name options by labels or places."""
    letters = "|".join(sorted(map(re.escape, labels), key=len, reverse=True)) or "(?!)"
    label = rf"[(\[\"']?(?:{letters})[)\]\"'.]?"
    place = rf"(?:{'|'.join(_ORDINALS)}|last)"
    one = rf"(?:the\s)?(?:(?:{_NOUN}\s)?{label}|{place}(?:\s{_NOUN})?)"
    number = rf"(?:{_NOUN}\s)?\(?\d\)?"
    end = rf"{_RIGHT}(?:\s(?:only|alone|together|equally|both|both of them))?"
    forms = (
        # Both A and B; neither the first nor the second; options A and B; options 1 and 2
        rf"(?:(?:{_SOME}|{_NONE}|not|only|just|{_BUT})\s)?(?:both\s|either\s|of\s)*{one}(?:{_JOIN}{one})+{end}",
        rf"(?:(?:{_SOME}|{_NONE}|not|only|just|{_BUT})\s)?{_NOUN}\s\(?\d\)?(?:{_JOIN}{number})*{end}",
        # Only B; not B; all but B; B alone
        rf"(?:only|just|not|{_NONE} of|{_BUT})\s{one}{end}",
        rf"{one}\s(?:only|alone){_RIGHT}",
        # Option B; the first option; the first two
        rf"(?:the\s)?(?:{_NOUN}\s{label}|{place}\s{_NOUN}){_RIGHT}",
        rf"(?:(?:{_SOME}|{_NONE}|only|just)\s)?(?:of\s)?(?:the\s)?(?:first|last)\s{_NUMBER}(?:\s(?:{_NOUN}|ones))?{end}",
        # More than B; the same as option B
        rf"(?:the\s)?(?:same as|equal to|similar to|different from|(?:more|less|fewer|\w+er) than)\s{one}",
    )
    return tuple(map(re.compile, forms))


def keeps_its_meaning(question: Question) -> bool:
    """Whether no option speaks of others, except a refusal that speaks of all ("None of the above")."""
    found = references(question.options)
    if question.refusal is not None and found.get(question.refusal) == ALL_OTHERS:
        del found[question.refusal]
    return not found


def keeps_its_meaning_without_answer(question: Question) -> bool:
    """Whether the refusal is the only right option after the right option is removed.

    The answer may not join the texts of others ("red and blue"), which would be half right.
    """
    if question.answer is None or question.answer == question.refusal:
        return keeps_its_meaning(question)  # there is no option to remove
    return keeps_its_meaning(question) and not _joins_others(question.options, question.answer)


def sides(question: Question) -> list[list[int]]:
    """Return groups of places within which options can be moved, so that "None of the above" as the refusal stays true.

    These are the places before and after a refusal that speaks of the others; in any other question, all places.
    """
    places, refusal = list(range(len(question.options))), question.refusal
    if refusal is None or refusal not in references(question.options):
        return [places]
    return [places[:refusal], places[refusal + 1 :]]


def _joins_others(options: Sequence[Option], place: int) -> bool:
    """Whether the text of an option is that of two or more others, joined by "and"."""
    others = {_plain(option.text) for other, option in enumerate(options) if other != place}
    parts = re.split(_JOIN, _plain(options[place].text).removeprefix("both "))
    return len(parts) > 1 and others.issuperset(parts)
