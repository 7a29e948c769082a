"""References to options by their position: "the second option", "the last one", "the latter".

A reference is replaced by the mark of the option's label, so that it contradicts another label or text, is denied, or
is retracted as any other mention.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_PLACE = {word: place for place, word in enumerate(_ORDINALS)}
_PLACE |= {word: place for place, word in enumerate(("1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th"))}
_PLACE |= {
    "last": -1,
    "final": -1,
    "penultimate": -2,
    "last but one": -2,
    "next to last": -2,
    "second-to-last": -2,
    "second to last": -2,
}
_WORD = "(?:" + "|".join(sorted(_PLACE, key=len, reverse=True)) + ")"
_LIST = rf"(?:the\s)?{_WORD}(?!\s(?:and|or)\slast)(?:(?:,\s?(?:and|or|nor)?|\s(?:and|or|nor)|/)\s?(?:the\s)?{_WORD})*"
_END = r"(?=\s?[.,;:!?)\]\n\u2013\u2014]|\s?\Z|\s(?:because|since|as|in\sthe\slist|is\s(?:correct|right)|fits)\b)"
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight")
_COUNT = rf"(?P<count>{'|'.join(_NUMBERS)}|[2-8])"
_OPTION = (
    r"(?:(?:listed|given|offered|possible|answer)\s)?"
    r"(?:options?|alternatives?|possibility|choices?(?!\s(?:is|was|would\sbe)\b|:)"
    r"|(?:(?:one|entry|item|line|place)\s)?(?:in|on|of)\s(?:the|your|this|my)\s(?:list|options)"
    rf"|of\s(?:the|these|your)\s{_COUNT}(?:\s(?:options|choices|alternatives|answers))?{_END})"
)
_CHOSEN = (
    r"\b(?:it's|it\sis|it\smust\sbe|would\sbe|choose|pick|select|choosing|picking|selecting|take|with"
    r"|answer|answer\sis|but|not|neither|nor|rather|mean|meant|(?:choice|pick|verdict|reply|answer|option)(?:\sto\s\w+)?:)\s"
)
_NAMED = re.compile(rf"(?<!my\s)(?<!initial\s)\b{_LIST}\s{_OPTION}(?:\sin\sthe\slist)?\b", re.IGNORECASE)
_CHOSEN_ONE = re.compile(rf"{_CHOSEN}{_LIST}\sone{_END}", re.IGNORECASE)
_COUNTED_BACK = re.compile(
    rf"{_CHOSEN}(?:the\s)?(?:penultimate|last\sbut\sone|next\sto\slast|second[\s-]to[\s-]last)(?:\sone)?{_END}",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"(?:neither\s|nor\s|not\s)?{_LIST}(?:\sone)?{_END}", re.IGNORECASE)
_ONLY = re.compile(rf"(?:(?:{_ALONE.pattern})[\s.,;:!]*(?:(?:and|but)\s)?)+", re.IGNORECASE)
_ANOTHER = re.compile(
    rf"(?:(?<=\band\s)|(?<=\bbut\s)|(?<=\bnot\s)|(?<=\bnor\s))the\s{_WORD}(?=\s?[.,;:!]|\s?\Z)", re.IGNORECASE
)
_PAIR = re.compile(
    r"\bthe\s(?P<which>former|latter)(?:\s(?:one|option|choice|answer))?"
    r"(?=\s?[.,;:!?)\]\n]|\s?\Z|\s(?:because|since|as|is|that|which|seems|looks|fits|matches)\b)",
    re.IGNORECASE,
)
_ANY = re.compile(rf"(?<!\w)(?:{_WORD}|former|latter)(?!\w)", re.IGNORECASE)
_PLACE_WORD = re.compile(rf"(?:the\s)?(?<!\w)(?P<word>{_WORD})(?!\w)(?:\sone\b)?", re.IGNORECASE)


def mentions_position(text: str) -> bool:
    """Whether a text holds an ordinal, so that positions are ambiguous if it is an option's text."""
    return _ANY.search(text) is not None


def mark_positions(text: str, marks: Sequence[str], mark: re.Pattern[str], *, nouns_only: bool) -> str:
    """Replace references by position.

    Parameters
    ----------
    text : str
        A reply with marks.
    marks : sequence of str
        The label's mark of each offered option, in the question's order.
    mark : re.Pattern
        Matches a mark.
    nouns_only : bool
        Whether only "the second option" is a position, and not "the second one" or "the second".
    """
    if _ANY.search(text) is None:
        return text

    def place(match: re.Match[str]) -> str:
        index = _PLACE[match["word"].casefold()]
        return marks[index] if -len(marks) <= index < len(marks) else match[0]

    def named(match: re.Match[str]) -> str:
        count = match.groupdict().get("count")
        if count and len(marks) != (int(count) if count.isdigit() else _NUMBERS.index(count.casefold()) + 2):
            return match[0]  # "the third of the four" of five options
        marked = _PLACE_WORD.sub(place, match[0])
        return re.sub(rf"\s{_OPTION}(?:\sin\sthe\slist)?\Z", "", marked) if mark.search(marked) else match[0]

    marked = _NAMED.sub(named, text)
    text = marked if marked == text else _ANOTHER.sub(named, marked)
    if not nouns_only:
        text = _CHOSEN_ONE.sub(named, _COUNTED_BACK.sub(named, text))
        if mark.search(text) is None and _ONLY.fullmatch(text):
            text = _PLACE_WORD.sub(place, text)
    return _PAIR.sub(lambda match: _of_two(match, mark), text)


def _of_two(match: re.Match[str], mark: re.Pattern[str]) -> str:
    """The first or second of the last two different options before "the former" or "the latter"."""
    before: list[str] = []
    for found in mark.findall(match.string[: match.start()]):
        if found not in before[-1:]:
            before.append(found)
    if len(before) < 2:
        return match[0]
    return before[-2 if match["which"].casefold() == "former" else -1]
