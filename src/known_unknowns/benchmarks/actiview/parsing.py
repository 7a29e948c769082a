"""Parsers of ActiView's replies: of the answer, and of the replies that decide the next turn.

Each deciding reply has two parsers: `OFFICIAL` follows the released toolkit (toolkit/evaluator.py), and `ROBUST`
tolerates free text. README.md lists the toolkit's quirks. Neither parser returns a view that does not exist, or a view
twice. Where the toolkit would stop with an error or show a view twice, the selection is invalid, and the rest is used.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from known_unknowns.records import Question
from known_unknowns.scoring._cleaning import normalise, without_thinking
from known_unknowns.scoring.parsed_answer import ParsedAnswer, parse_label

OFFICIAL, ROBUST = "official", "robust"
PARSERS = (OFFICIAL, ROBUST)

FAILED_REPLY = "Z"
"""What the toolkit takes for the reply where the model failed (out of memory): a letter that is never right."""

NONE = "none"
_BRACES = 8  # so many are tried: a reply has one or two
_LETTERS = "ABCDEFGHZ"


def official(text: str, question: Question) -> ParsedAnswer:
    """The toolkit's ``cal_acc``: what stands before the first full stop must be one letter, and nothing else.

    "Answer:" is dropped with what stands before it (and, as the text is split at every one, what follows a second).
    A reply without such a letter counts only if it is the right option's whole text, whatever its case; the text of
    another option is unparsed, as is a letter that was not on offer. "A" and "A. x" are read; "(A)", "A)", " A",
    "A: x", "a." and "A The tower" are not.
    """
    if "Answer:" in text:
        text = text.split("Answer:")[1].strip()
    label = text.split(".")[0]
    if len(label) == 1 and label in _LETTERS:
        return parse_label(label, question)
    right = None if question.answer is None else question.options[question.answer]
    same = right is not None and text.lower().strip() == right.text.lower()
    return parse_label(right.label if same else None, question)


@dataclass(frozen=True, slots=True)
class Selection:
    """The views that were chosen, from 1, each once. ``valid`` is whether the reply chose as it was told to; the
    released code reads an invalid one in part, as nothing, or stops with an error. ``answers`` is whether mixed goes on
    to the answer at once."""

    views: tuple[int, ...]
    valid: bool = True
    answers: bool = False


def selected(text: str, split: int, parser: str) -> Selection:
    """Zooming's choice of views, sorted; none is invalid, since at least one part was asked for."""
    found = _official_list(text, split) if parser == OFFICIAL else _named(text, split)
    return Selection(tuple(sorted(found.views)), found.valid and bool(found.views))


_WORDS = re.compile(r"upperleft|lowerleft|upperright|lowerright|left|right|upper|lower")
_VIEWS_OF = {
    "left": (1, 2),
    "right": (3, 4),
    "upper": (2, 4),  # sic: the key stands there twice, and the second value is that of "lower"
    "upperleft": (1,),
    "lowerleft": (2,),
    "upperright": (3,),
    "lowerright": (4,),
}


def _official_list(text: str, split: int) -> Selection:
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
    if any(not 1 <= view <= split for view in chosen):  # no such view: the toolkit stops
        return Selection((), valid=False)
    return Selection(_each_once(chosen))


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


def _named(text: str, split: int) -> Selection:
    """The views that are named and not denied: by number, or else, of four, by place. A line that is nothing but a
    list of numbers decides alone.

    Invalid where a number is no view, or where no view is named.
    """
    text = normalise(without_thinking(text))
    lists = [line for line in text.split("\n") if _is_list(line)]
    text = _RANGE.sub(_counted_out, lists[-1] if lists else text)
    numbers = list(_NUMBER.finditer(text))
    mentions = [(bool(match["denied"]), (int(match["number"][:4]),)) for match in numbers]
    if not numbers and split == 4:
        mentions = [(bool(match["denied"]), _at(match)) for match in _PLACE.finditer(text)]
    chosen = [view for denied, views in mentions if not denied for view in views]
    denied = {view for denied, views in mentions if denied for view in views}
    everything = list(range(1, split + 1))
    if _ALL_BUT.search(text):
        chosen, denied = everything, denied | set(chosen)
    elif not chosen and _ALL.search(text):
        chosen = everything
    views = _each_once(view for view in chosen if view in everything and view not in denied)
    return Selection(views, valid=bool(views) and all(view in everything for view in chosen))


def _is_list(line: str) -> bool:
    """Whether a line lists numbers and nothing else: "1, 3", "[1, 3]", "1 and 3", "Parts: 1, 3."."""
    return bool(re.fullmatch(r"[\W\d]*", _LISTING.sub(" ", line)) and re.search(r"\d", line))


def _counted_out(match: re.Match[str]) -> str:
    first, last = int(match[1]), int(match[2])
    return ", ".join(map(str, range(first, last + 1))) if first < last else match[0]


def _at(place: re.Match[str]) -> tuple[int, ...]:
    if place["side"]:
        return _COLUMNS[place["side"].lower()]
    row = _ROWS[place["row"].lower()]
    return row if place["column"] is None else tuple(v for v in row if v in _COLUMNS[place["column"].lower()])


def needs_more(text: str, parser: str) -> bool:
    """Shifting: whether the model asks for another view. The toolkit stops at "no" alone, whatever its case."""
    if parser == OFFICIAL:
        return text.lower() != "no"
    words = normalise(without_thinking(text)).lower().replace("'", "")
    first = re.match(r"\W*(yes|yeah|yep|no|nope)\b(?!\smore)", words)
    if first:
        return first[1].startswith("y")
    if re.search(_LACKS, words):
        return True
    if re.search(_SUFFICES, words):
        return False
    said = re.findall(r"\b(yes|no)\b(?!\smore|\sother|\sadditional|\sfurther)", words)
    return not said or said[-1] == "yes"


_LACKS = (
    r"\binsufficient\b|\b(?:not|isnt|arent)\s(?:\w+\s)?(?:sufficient|enough|adequate)\b|\bcan(?:not|t|\snot)\b"
    r"|(?<!not )(?<!dont )(?<!no )\bneed(?:s|ed)?\s(?:to\ssee\s)?(?:some\s|the\s|any\s)?"
    r"(?:more|additional|further|other)\b"
)
_SUFFICES = (
    r"\b(?:not|dont|no)\s(?:\w+\s)?need|\bno\s(?:more|other|additional|further)\b|\b(?:sufficient|enough|adequate)\b"
)


def zoomed(text: str, split: int, parser: str) -> Selection:
    """Mixed, first turn: the views of field "part", in the order named; none is a valid choice, and answers.

    Official: JSON that does not parse, or a part that is no string of numbers and commas, is none, and invalid; numbers
    that are no view are left out, even where none is left, and then nothing is zoomed into but the operation is asked.
    """
    if parser == ROBUST:
        choice = _listed(_fields(text).get("part", text), split)
        return replace(choice, answers=not choice.views)
    try:
        part = json.loads(text)["part"]
        return Selection((), answers=True) if part == NONE else _numbers(part, range(1, split + 1))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Selection((), valid=False, answers=True)


def operated(text: str, current: Sequence[int], split: int, parser: str) -> Selection:
    """Mixed, second turn: what is kept of the ``current`` views, and what is shifted to of the others.

    Official: whatever cannot be read leaves the current views as they are, and is invalid. The robust parser takes
    the paper's name of the field too ("zoom_keep"), and leaves the current views only where neither field is there.
    """
    others = [view for view in range(1, split + 1) if view not in current]
    if parser == ROBUST:
        fields = _fields(text)
        kept = fields.get("keep", fields.get("zoom_keep"))
        if kept is None and "shift" not in fields:
            return Selection(tuple(current), valid=False)
        keep, shift = (_listed(NONE if chosen is None else chosen, split) for chosen in (kept, fields.get("shift")))
        views = [view for view in keep.views if view in current] + [view for view in shift.views if view in others]
        return Selection(tuple(sorted(views)), keep.valid and shift.valid)
    try:
        fields = json.loads(text)
        shift, keep = (
            Selection(()) if fields[name] == NONE else _numbers(fields[name], among)
            for name, among in (("shift", others), ("keep", current))
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Selection(tuple(current), valid=False)
    views = shift.views + keep.views
    if NONE not in (fields["shift"], fields["keep"]):  # then the toolkit takes their set, which sorts them
        views = tuple(sorted(views))
    return Selection(views, shift.valid and keep.valid)


def _numbers(text: str, among: Iterable[int]) -> Selection:
    """What the toolkit reads of "1, 3": the numbers that are in ``among``. Raises ValueError for anything else."""
    allowed = set(among)
    numbers = [int(piece) for piece in text.split(",")]
    return Selection(
        _each_once(number for number in numbers if number in allowed),
        valid=len(set(numbers)) == len(numbers) and allowed.issuperset(numbers),
    )


def _listed(chosen: Any, split: int) -> Selection:
    """The views of a field, however it is written: "1, 3", [1, 3], 1, "none", "upper left"."""
    text = ", ".join(map(str, chosen)) if isinstance(chosen, list | tuple) else str(chosen)
    if re.fullmatch(r"\W*(?:none|null|no|nothing)?\W*", normalise(text), re.IGNORECASE):
        return Selection(())
    return _named(text, split)


def _fields(text: str) -> dict[str, Any]:
    """The fields of the first JSON or Python dictionary in a reply, by lower-cased name; none where there is none."""
    text = without_thinking(text)
    for brace in list(re.finditer(r"\{", text))[:_BRACES]:
        fields = _dictionary(text[brace.start() :])
        if fields is not None:
            return {str(name).lower(): value for name, value in fields.items()}
    return {}


def _dictionary(text: str) -> dict[Any, Any] | None:
    """The dictionary that ``text`` begins with, whatever follows it."""
    with suppress(ValueError, RecursionError):
        return json.JSONDecoder().raw_decode(text)[0]
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        literal = ast.literal_eval(text[: text.find("}") + 1])
        return literal if isinstance(literal, dict) else None
    return None


def _each_once(views: Iterable[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(views))
