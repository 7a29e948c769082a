"""Parsers of ActiView's replies: the answer, and the replies that decide the next turn of a pipeline.

Each deciding reply has two parsers: `OFFICIAL` follows the released toolkit with its quirks (toolkit/evaluator.py),
and `ROBUST` parses as a careful person would. README.md lists the quirks. No parser returns a view that does not
exist, or a view twice. If the toolkit would stop with an error or show a view twice, the selection is invalid, and the
rest of it is used.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from known_unknowns.benchmark.parsed_answer import ParsedAnswer, parse_label
from known_unknowns.reasoning_marks import final_text
from known_unknowns.records import Question
from known_unknowns.scoring.reply_parser.text import clean

OFFICIAL: Final = "official"
ROBUST: Final = "robust"
PARSERS = (OFFICIAL, ROBUST)

FAILED_REPLY = "Z"
"""The toolkit's reply of a model that failed (out of memory): a letter that is never right."""

NONE = "none"
_BRACES = 8  # the number of braces that are tried; a reply has one or two
_LETTERS = "ABCDEFGHZ"


def official(text: str, question: Question) -> ParsedAnswer:
    """Parse as the toolkit's ``cal_acc``: the text before the first full stop must be one letter.

    "Answer:" and the text before it are dropped. The text is split at every "Answer:", so the text after a second one
    is dropped too. A reply without such a letter counts only if it is the complete text of the right option, in any
    case. The text of another option is unparsed, and so is a letter that was not offered. "A" and "A. x" are parsed;
    "(A)", "A)", " A", "A: x", "a." and "A The tower" are not.
    """
    if "Answer:" in text:
        text = text.split("Answer:")[1].strip()
    label = text.split(".")[0]
    if len(label) == 1 and label in _LETTERS:
        return parse_label(label, question)
    right = None if question.answer is None else question.options[question.answer]
    if right is not None and text.lower().strip() == right.text.lower():
        return parse_label(right.label, question)
    return parse_label(None, question)


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of views."""

    views: tuple[int, ...]  # the selected views, from 1, without duplicates
    # whether the reply followed the instruction. The released code parses an invalid reply in part, as no
    # selection, or stops with an error.
    valid: bool = True
    answers: bool = False  # whether the mixed pipeline continues with the answer


def parse_selection(text: str, split: int, parser: str) -> Selection:
    """Parse the selection of views in zooming. They are sorted; an empty selection is invalid."""
    found = _parse_official_list(text, split) if parser == OFFICIAL else _parse_mentions(text, split)
    return Selection(tuple(sorted(found.views)), found.valid and bool(found.views))


_WORDS = re.compile(r"upperleft|lowerleft|upperright|lowerright|left|right|upper|lower")
_VIEWS_OF = {
    "left": (1, 2),
    "right": (3, 4),
    "upper": (2, 4),  # sic: the key occurs twice, and the second value is that of "lower"
    "upperleft": (1,),
    "lowerleft": (2,),
    "upperright": (3,),
    "lowerright": (4,),
}


def _parse_official_list(text: str, split: int) -> Selection:
    chosen: list[int] = []
    for piece in text.replace(".", ",").split(","):
        word = _WORDS.match(piece) if split == 4 else None
        if re.match(r"\d", piece):
            try:
                chosen.append(int(piece))
            except ValueError:  # "1 and 2": the toolkit stops
                return Selection((), valid=False)
        elif word and word[0] not in _VIEWS_OF:  # "lower": the toolkit stops
            return Selection((), valid=False)
        elif word:
            chosen += _VIEWS_OF[word[0]]
    if any(not 1 <= view <= split for view in chosen):  # no such image: the toolkit stops
        return Selection((), valid=False)
    return Selection(_without_duplicates(chosen))


_RANGE = re.compile(r"(?<![\w.])(\d{1,2})\s?(?:-|\u2013|\bto\b|\bthrough\b)\s?(\d{1,2})(?![\w.]\d|\w)")
_LISTING = re.compile(r"\b(?:parts?|views?|numbers?|and)\b", re.IGNORECASE)
_DENIED = (
    r"(?P<denied>(?:\b(?:not|except|excluding|without|than)|n't)(?:\s(?:need|use|require|choose|select|zoom\sinto))?"
    r"\s(?:for\s)?(?:the\s)?(?:parts?\s|views?\s)?)?"
)
_NUMBER = re.compile(_DENIED + r"(?<![\w.])(?P<number>\d+)(?!\w|\.\d|\s(?:parts|views)\b)", re.IGNORECASE)
_PLACE = re.compile(
    _DENIED + r"(?<!\w)(?:(?P<row>upper|top|lower|bottom)(?:[\s-]?(?P<column>left|right))?|(?P<side>left|right))(?!\w)",
    re.IGNORECASE,
)
_ALL = re.compile(r"\b(?:all|every|each)\b", re.IGNORECASE)
_ALL_BUT = re.compile(r"\b(?:all|every\w*)\b.{0,20}?\b(?:except|but)\b", re.IGNORECASE)
_ROWS = {"upper": (1, 3), "top": (1, 3), "lower": (2, 4), "bottom": (2, 4)}
_COLUMNS = {"left": (1, 2), "right": (3, 4)}


def _parse_mentions(text: str, split: int) -> Selection:
    """Return the views that a reply names and does not negate.

    Views are named by number or, in a split into four without any number, by position. If a line only lists numbers,
    the other lines are ignored. The selection is invalid if a number is no view, or if no view is named.
    """
    text = clean(final_text(text).text)
    lists = [line for line in text.split("\n") if _is_list(line)]
    text = _RANGE.sub(_expand_range, lists[-1] if lists else text)
    numbers = list(_NUMBER.finditer(text))
    mentions: list[tuple[bool, tuple[int, ...]]] = [
        (bool(match["denied"]), (int(match["number"][:4]),)) for match in numbers
    ]
    if not numbers and split == 4:
        mentions = [(bool(match["denied"]), _views_at(match)) for match in _PLACE.finditer(text)]
    chosen = [view for denied, views in mentions if not denied for view in views]
    denied = {view for denied, views in mentions if denied for view in views}
    everything = list(range(1, split + 1))
    if _ALL_BUT.search(text):
        chosen, denied = everything, denied | set(chosen)
    elif not chosen and _ALL.search(text):
        chosen = everything
    views = _without_duplicates(view for view in chosen if view in everything and view not in denied)
    return Selection(views, valid=bool(views) and all(view in everything for view in chosen))


def _is_list(line: str) -> bool:
    """Return whether a line only lists numbers: "1, 3", "[1, 3]", "1 and 3", "Parts: 1, 3."."""
    return bool(re.fullmatch(r"[\W\d]*", _LISTING.sub(" ", line)) and re.search(r"\d", line))


def _expand_range(match: re.Match[str]) -> str:
    first, last = int(match[1]), int(match[2])
    return ", ".join(map(str, range(first, last + 1))) if first < last else match[0]


def _views_at(place: re.Match[str]) -> tuple[int, ...]:
    if place["side"]:
        return _COLUMNS[place["side"].lower()]
    row = _ROWS[place["row"].lower()]
    return row if place["column"] is None else tuple(v for v in row if v in _COLUMNS[place["column"].lower()])


def needs_more(text: str, parser: str) -> bool:
    """Return whether the model asks for another view in shifting. The toolkit only stops at "no", in any case."""
    if parser == OFFICIAL:
        return text.lower() != "no"
    words = clean(final_text(text).text).lower().replace("'", "")
    first = re.match(r"\W*(yes|yeah|yep|no|nope)\b(?!\smore)", words)
    if first:
        return first[1].startswith("y")
    if re.search(_LACKS, words):
        return True
    if re.search(_SUFFICES, words):
        return False
    words_found = re.findall(r"\b(yes|no)\b(?!\smore|\sother|\sadditional|\sfurther)", words)
    return not words_found or words_found[-1] == "yes"


_LACKS = (
    r"\binsufficient\b|\b(?:not|isnt|arent)\s(?:\w+\s)?(?:sufficient|enough|adequate)\b|\bcan(?:not|t|\snot)\b"
    r"|(?<!not )(?<!dont )(?<!no )\bneed(?:s|ed)?\s(?:to\ssee\s)?(?:some\s|the\s|any\s)?"
    r"(?:more|additional|further|other)\b"
)
_SUFFICES = (
    r"\b(?:not|dont|no)\s(?:\w+\s)?need|\bno\s(?:more|other|additional|further)\b|\b(?:sufficient|enough|adequate)\b"
)


def parse_missing(text: str, shown: Sequence[int], split: int, parser: str) -> Selection:
    """Parse the reply to the paper's missing-view examination: the named views that were not ``shown``, or "NO".

    No released code parses this reply. As in the toolkit's examination, the official parser only stops at "no", in any
    case. Both parsers find views by name. A reply that neither stops nor names a view is invalid.
    """
    if not needs_more(text, parser) or (parser == ROBUST and text.strip() and _is_none(text)):
        return Selection((), answers=True)
    views = tuple(view for view in _parse_mentions(text, split).views if view not in shown)
    return Selection(views, valid=bool(views))


def parse_zoom(text: str, split: int, parser: str) -> Selection:
    """Parse the first turn of mixed: the views of the field "part", in the order of the reply.

    "none" is a valid selection; the answer follows. Official parser: invalid JSON, or a part that is no string of
    numbers and commas, is an empty and invalid selection. Numbers that are no view are left out. If none is left,
    nothing is zoomed into, but the operation is asked.
    """
    if parser == ROBUST:
        if not text.strip():
            return Selection((), valid=False, answers=True)
        choice = _parse_field(_parse_fields(text).get("part", text), split)
        return replace(choice, answers=not choice.views)
    try:
        part = json.loads(text)["part"]
        return Selection((), answers=True) if part == NONE else _parse_numbers(part, range(1, split + 1))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Selection((), valid=False, answers=True)


def parse_operation(text: str, current: Sequence[int], split: int, parser: str, keep_field: str = "keep") -> Selection:
    """Parse the second turn of mixed: the ``current`` views that are kept, and the other views that are shifted to.

    Official parser: a reply that cannot be parsed keeps the current views, and is invalid. The robust parser also
    accepts both names of the field of kept views ("keep", and "zoom_keep" in the paper), and keeps the current views
    only if both fields are missing. The official parser only accepts ``keep_field``.
    """
    others = [view for view in range(1, split + 1) if view not in current]
    if parser == ROBUST:
        fields = _parse_fields(text)
        kept = fields.get("keep", fields.get("zoom_keep"))
        if kept is None and "shift" not in fields:
            return Selection(tuple(current), valid=False)
        keep, shift = (
            _parse_field(NONE if chosen is None else chosen, split) for chosen in (kept, fields.get("shift"))
        )
        chosen_views = {view for view in keep.views if view in current} | {
            view for view in shift.views if view in others
        }
        return Selection(tuple(sorted(chosen_views)), keep.valid and shift.valid)
    try:
        fields = json.loads(text)
        shift, keep = (
            Selection(()) if fields[name] == NONE else _parse_numbers(fields[name], among)
            for name, among in (("shift", others), (keep_field, current))
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Selection(tuple(current), valid=False)
    views = shift.views + keep.views
    if NONE not in (fields["shift"], fields[keep_field]):  # then the toolkit takes their set, which sorts them
        views = tuple(sorted(views))
    return Selection(views, shift.valid and keep.valid)


def _parse_numbers(text: str, among: Iterable[int]) -> Selection:
    """Parse "1, 3" as the toolkit does: the numbers that are in ``among``. Raises ValueError for other texts."""
    allowed = set(among)
    numbers = [int(piece) for piece in text.split(",")]
    return Selection(
        _without_duplicates(number for number in numbers if number in allowed),
        valid=len(set(numbers)) == len(numbers) and allowed.issuperset(numbers),
    )


def _parse_field(chosen: Any, split: int) -> Selection:
    """Parse the views of a field in any form: "1, 3", [1, 3], 1, "none", "upper left"."""
    text = ", ".join(map(str, chosen)) if isinstance(chosen, list | tuple) else str(chosen)
    return Selection(()) if _is_none(text) else _parse_mentions(text, split)


def _is_none(text: str) -> bool:
    return bool(re.fullmatch(r"\W*(?:none|null|no|nothing)?\W*", clean(text), re.IGNORECASE))


def _parse_fields(text: str) -> dict[str, Any]:
    """Return the fields, by lower-case name, of the first JSON or Python dictionary in a reply; {} if there is none."""
    text = final_text(text).text
    for brace in list(re.finditer(r"\{", text))[:_BRACES]:
        fields = _parse_dictionary(text[brace.start() :])
        if fields is not None:
            return {str(name).lower(): value for name, value in fields.items()}
    return {}


def _parse_dictionary(text: str) -> dict[Any, Any] | None:
    """Return the dictionary at the start of ``text``; None if there is none."""
    with suppress(ValueError, RecursionError):
        return json.JSONDecoder().raw_decode(text)[0]
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        literal = ast.literal_eval(text[: text.find("}") + 1])
        return literal if isinstance(literal, dict) else None
    return None


def _without_duplicates(views: Iterable[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(views))
