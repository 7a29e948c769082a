"""The matching of letters in the code released with Miyai et al., rule by rule [1]_.

1. Spaces around the reply are removed. Capital letters count alone.
2. The reply is a letter X if it is X, or if it begins with "X)", "X.", "X," or "(X)" and contains none of the texts
   "Y.", "Y)", "Y," for another letter Y from A to G. "A. sunny, like U.S.A." is therefore not A if it contains "B.".
3. The letters of the question's options are tried first. In the instruction setting F is one of them.
4. If none matches, the released code writes further options for its query to a language model, and tries their letters
   before it asks: the masked answer (AAD, IASD) and "The correct answer is No answer, ..." with the next free letters
   from C to G. A reply that is one of these letters is right in an unsolvable row, although it was not offered.
5. Everything else goes to a language model, which chooses one of the options of step 4 (gpt-4o-mini-2024-07-18 in the
   paper's version 4). No parser can repeat this offline: such a reply is unparsed here, the released numbers are
   bounded (``circular_*_high_bound``), and the robust parser takes its place (`mm_upd.extraction`).

A row fails as soon as a reply matches a letter that is wrong. A problem is right if all of its passes are.

References
----------
.. [1] github.com/AtsuMiyai/UPD, ``automatic_eval/calculate_scores.py``: ``can_infer_option``, ``prefetch_answer``,
   ``build_option_str_w_gt`` and ``eval_sub_data``; arXiv:2403.20331v4, Appendix E.2.
"""

from __future__ import annotations

from collections.abc import Collection

from known_unknowns.benchmark.parsed_answer import ParsedAnswer, parse_label
from known_unknowns.records import REFUSED, UNPARSED, Question
from known_unknowns_benchmarks.mm_upd.format import LETTERS, STANDARD
from known_unknowns_benchmarks.mm_upd.prompts import INSTRUCTION, OPTION

_ALL = "ABCDEFG"
_FREE = "CDEF"
_AFTER = (".", ")", ",")
_NAMED = "F"


def official(text: str, question: Question) -> ParsedAnswer:
    """Parse a reply as the released code does, in the setting that the question's labels imply.

    The base and the option setting have the same questions. They are parsed as the option setting, which accepts one
    further letter of step 4; MM-UPD's own metrics use the setting of the prompt that was sent.
    """
    refusal = question.refusal
    named = refusal is not None and question.labels[refusal] == _NAMED and len(question.options) < len(_ALL) - 1
    return read(text, question, INSTRUCTION if named else OPTION)


def read(text: str, question: Question, setting: str) -> ParsedAnswer:
    """Parse a reply in a setting, as the released code does before it asks a language model.

    The question has the option that withholds an answer. The answer is a letter of an option; refused for a letter that
    the released code accepts as a withheld answer; unparsed for a reply that it passes to a language model.
    """
    shown = shown_letters(question, setting)
    label = match(text, shown)
    if label is None:
        label = match(text, [*shown, *further_letters(question, setting)])
    if label is None:
        return ParsedAnswer(UNPARSED)
    refusal = question.refusal
    if refusal is None or label in choices(question):
        return parse_label(label, question)
    return ParsedAnswer(REFUSED, question.labels[refusal], refusal)


def match(text: str, valid: Collection[str]) -> str | None:
    """Return the only letter of ``valid`` that the reply is (rules 1 and 2); None if there is none."""
    reply = text.strip()
    found = [letter for letter in _ALL if letter in valid and _is_letter(reply, letter)]
    return found[0] if len(found) == 1 else None


def _is_letter(reply: str, letter: str) -> bool:
    if reply == letter:
        return True
    if not reply.startswith((f"{letter})", f"{letter}.", f"{letter},", f"({letter})")):
        return False
    return not any(f"{other}{mark}" in reply for other in _ALL if other != letter for mark in _AFTER)


def choices(question: Question) -> list[str]:
    """Return the letters of the options, without the one that withholds an answer."""
    return [label for index, label in enumerate(question.labels) if index != question.refusal]


def shown_letters(question: Question, setting: str) -> list[str]:
    """Return the letters that the released code tries first (rule 3)."""
    letters = choices(question)
    if setting == OPTION:
        letters = [*letters, LETTERS[len(letters)] if len(letters) < len(LETTERS) else _NAMED]
    elif setting == INSTRUCTION:
        letters = [*letters, _NAMED]
    return letters


def further_letters(question: Question, setting: str) -> list[str]:
    """Return the letters of the options that the released code adds for its query (rule 4)."""
    own = [letter for letter in shown_letters(question, setting) if letter != _NAMED or setting == OPTION]
    free = next((letter for letter in _FREE if letter not in own), None)
    if free is None:
        return []
    second = _ALL[_ALL.index(free) + 1]
    subset, unsolvable = question.extra["subset"], question.extra["type"] != STANDARD
    if subset == "IVQD" or not unsolvable:
        return [free]
    if subset == "IASD" and setting == INSTRUCTION and free == "E":
        return [free, "G"]  # F is the option that the instruction names
    return [free, second]
