"""Options that speak of other options, such as "Both A and B", "The first two" or "None of the above".

The text of such an option means a set of other options by their labels or places. Where options move or are removed, it
would mean others. The phrases are in option_phrases.yaml.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import NamedTuple

from known_unknowns.records import Option, Question
from known_unknowns.yaml_reader import parse_yaml


class Reference(NamedTuple):
    """What an option says of others."""

    places: frozenset[int] | None  # the options that it speaks of; None if that cannot be told from its text
    denies: bool  # whether it says that these options are wrong ("None of the above")


_PHRASES = parse_yaml(Path(__file__).with_name("option_phrases.yaml").read_text(encoding="utf-8"))
_NUMBERS: dict[str, int] = _PHRASES["numbers"]
_FRAGMENTS = {"NUMBER": "|".join(sorted(map(re.escape, _NUMBERS), key=len, reverse=True))}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_MOST_CHARACTERS = 80  # a longer text that has such words speaks of the question


def _filled(pattern: str) -> str:
    """Return a pattern with the fragments that it names (<NAME>)."""
    return re.sub(r"<([A-Z]+)>", lambda match: _FRAGMENTS[match[1]], pattern)


for _name, _pattern in (_PHRASES["fragments"] | _PHRASES["patterns"]).items():
    _FRAGMENTS[_name] = _filled(_pattern)
_NOUN, _AND = _FRAGMENTS["NOUN"], _FRAGMENTS["AND"]
_LAST, _LOOSE, _ABOVE, _BELOW, _NUMBERED, _ALONE, _UNEQUAL = (
    re.compile(_FRAGMENTS[name]) for name in ("LAST", "LOOSE", "ABOVE", "BELOW", "NUMBERED", "ALONE", "UNEQUAL")
)


def _compiled(line: str) -> re.Pattern[str]:
    """Compile a line of a table. Its names of groups get numbers, because a pattern cannot have one twice."""
    number = count()
    return re.compile(re.sub(r"\(\?P<(\w+)>", lambda match: f"(?P<{match[1]}_{next(number)}>", line))


def _group(match: re.Match[str], name: str) -> str:
    """Return what a group of this name matched; "" if it matched nothing."""
    return next((text for key, text in match.groupdict().items() if key.rpartition("_")[0] == name and text), "")


_GROUP_PATTERNS, _END_PATTERNS = ([_compiled(_filled(line)) for line in _PHRASES[kind]] for kind in ("groups", "ends"))


def _plain(text: str) -> str:
    """Return a text in normal form and lower case, without punctuation around it."""
    plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold()
    return " ".join(plain.split()).strip(" .!,;:?'\"“”。*_-")


def references(options: Sequence[Option]) -> dict[int, Reference]:
    """Return the options that speak of others, by their places, and what they speak of.

    Letters that are no labels of the question, or by which an option would name itself, stand for something else, such
    as points in an image.

    Examples
    --------
    >>> texts = ("Red", "Blue", "Both A and B", "None of the above")
    >>> options = [Option(label, text, f"{label}. ") for label, text in zip("ABCD", texts)]
    >>> {place: sorted(reference.places) for place, reference in references(options).items()}
    {2: [0, 1], 3: [0, 1, 2]}
    """
    labels = tuple(_plain(option.label) for option in options)
    texts = {place: _plain(option.text) for place, option in enumerate(options)}
    texts = {place: text for place, text in texts.items() if len(text) <= _MOST_CHARACTERS}
    named = {place: _named(text, labels) for place, text in texts.items()}
    if any(reference and place in (reference.places or ()) for place, reference in named.items()):
        named = {}  # the letters stand for something else
    found = {place: named.get(place) or _of_places(text, place, len(options)) for place, text in texts.items()}
    return {place: reference for place, reference in found.items() if reference is not None}


@lru_cache(maxsize=8192)
def _of_places(text: str, place: int, total: int) -> Reference | None:
    """Return what a text says of the options at some places, or of all others."""
    for pattern in _END_PATTERNS:
        if match := pattern.fullmatch(text):
            number, last = _NUMBERS[_group(match, "number")], _LAST.search(_group(match, "first"))
            places = frozenset(range(total - number, total) if last else range(number))
            readable = number < total and place not in places
            return Reference(places if readable else None, bool(_group(match, "denies")))
    for pattern in _GROUP_PATTERNS:
        if match := pattern.fullmatch(text):
            others = frozenset(range(total)) - {place}
            if _ABOVE.search(text):
                others = frozenset(range(place)) or others
            elif _BELOW.search(text):
                others = frozenset(range(place + 1, total)) or others
            return Reference(others, bool(_group(match, "denies")) or text.endswith(("wrong", "incorrect", "false")))
    return Reference(None, False) if _LOOSE.search(text) else None


@lru_cache(maxsize=8192)
def _named(text: str, labels: tuple[str, ...]) -> Reference | None:
    """Return what a text says of options that it names by labels or ordinal numbers; None if it names none."""
    pattern, item = _label_patterns(labels, numbered=_NUMBERED.search(text) is not None)
    match = pattern.fullmatch(text)
    if match is None:
        return None
    found = [_place(each, labels) for part in re.split(_AND, match["list"]) for each in item.findall(part)]
    places = frozenset(place for place in found if place is not None)
    if None in found or (len(places) < 2 and not match["no"] and not _ALONE.search(text)):
        return None  # "Option B" may be the name of anything
    if _UNEQUAL.search(text) or "last" in text:
        return Reference(None, False)
    return Reference(places, bool(match["no"]))


def _place(item: str, labels: tuple[str, ...]) -> int | None:
    """Return the place that a label, an ordinal number or a number names; None if there is no such option."""
    if item in labels:
        return labels.index(item)
    if item == "last":
        return len(labels) - 1
    number = int(item) if item.isdecimal() else _ORDINALS.index(item) + 1
    return number - 1 if 0 < number <= len(labels) else None


@lru_cache(maxsize=256)
def _label_patterns(labels: tuple[str, ...], *, numbered: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile a pattern of texts that name labels, and one of a label in them."""
    names = "|".join([*sorted(map(re.escape, labels), key=len, reverse=True), *([r"\d"] if numbered else [])]) or "(?!)"
    noun = r"(?:(?:option|answer|choice|opción|réponse|antwort|risposta|opção|вариант|选项)s?\s?)?"
    word = "|".join((*_ORDINALS, "last"))
    one = (
        rf"(?:the\s)?{noun}[(\[\"']?(?:{names}|(?:{word})(?=\s(?:and|or|nor)\b|,|\s{_NOUN}|$))[)\]\"'.]?"
        rf"(?:\s{_NOUN}(?!\s(?:{names})\b))?"
    )
    further = (
        rf"{_AND}(?:also\s|not\s|nor\s|sino\s|als auch\s|che\s|и\s|ни\s|ni\s)?{one}"
        rf"|\s(?:als auch|como|che|but not)\s{one}"
    )
    pattern = re.compile(
        rf"(?P<quantity>(?:the\s)?(?:same\sas\s|equal\sto\s)?{_FRAGMENTS['QUANTIFIERS']})(?P<no>{_FRAGMENTS['NEGATIONS']})?(?:both\s|either\s|of\s)?"
        rf"(?P<list>{one}(?:{further})*)(?:{_FRAGMENTS['TAILS']})"
    )
    return pattern, re.compile(rf"(?<![a-z])(?:{names}|{word})(?![a-z\d])")


def shuffled_together(options: Sequence[Option]) -> list[list[int]] | None:
    """Return groups of places within which options can be shuffled, so that every option keeps its meaning.

    An option that speaks of others keeps its place. The options that it speaks of stay those that it speaks of. None if
    it cannot be told which options a text means, or if nothing could be shuffled.
    """
    found = references(options)
    sets = [reference.places for reference in found.values()]
    groups: dict[tuple[bool, ...], list[int]] = {}
    for place in range(len(options)):
        if place not in found:
            groups.setdefault(tuple(places is None or place in places for places in sets), []).append(place)
    if found and (None in sets or all(len(group) < 2 for group in groups.values())):
        return None
    return list(groups.values())


def keeps_its_meaning_shuffled(question: Question) -> bool:
    """Whether the options can be shuffled (`shuffled_together`)."""
    return shuffled_together(question.options) is not None


def refusal_alone_speaks(question: Question) -> bool:
    """Whether no option but the refusal speaks of others, so that all options can be moved."""
    return not references(question.options).keys() - {question.refusal}


def keeps_its_meaning_without_answer(question: Question) -> bool:
    """Whether the refusal is the only right option after the right option is removed.

    No other option may speak of options: "Both A and B" or "Not A" could hold. The answer may not join the texts of
    others ("red and blue"), which would be half right. If the refusal speaks of options, the removed one must be among
    them.
    """
    if question.answer is None or question.refusal is None or question.answer == question.refusal:
        return True  # there is no option to remove
    found = references(question.options)
    own = found.pop(question.refusal, None)
    if _joins_others(question.options, question.answer):
        return False
    return not found and (own is None or (own.places is not None and question.answer in own.places))


def _joins_others(options: Sequence[Option], place: int) -> bool:
    """Whether the text of an option is that of two or more others, joined by "and"."""
    others = {_plain(option.text) for other, option in enumerate(options) if other != place}
    parts = re.split(
        _AND, re.sub(r"^(?:both|sowohl|beide|ambos|ambas|entrambi|оба)\s", "", _plain(options[place].text))
    )
    return len(parts) > 1 and others.issuperset(parts)
