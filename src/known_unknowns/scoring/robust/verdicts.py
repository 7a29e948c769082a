"""Lists of verdicts on options: "A: no, B: yes", "Red? No. Gold? Yes.", "A is wrong. B is right."."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from enum import Enum

from known_unknowns.scoring.robust.marks import MARK

_ADVERB = (
    r"(?:the\s|a\s|clearly\s|definitely\s|obviously\s|also\s|certainly\s|probably\s|completely\s"
    r"|most\slikely\s|likely\s)"
)
_YES = (
    r"(?:yes|yep|yup|y|(?:fits|matches)(?:\sbest)?|best(?:\s(?:fit|match|answer|option|choice))?|(?:very|most|quite)?\s?likely|it\sis|true|correct|right|valid|accepted|selected|chosen|the\sanswer|ja|oui|sí|si|sim|verdadero|vrai|juste"
    r"|correct[eao]|richtig|korrekt|wahr|да|правда|верно|правильно|正确|对|是|正しい|正解|[✓✔✅☑])"
)
_NO = (
    r"(?:it\sis\snot|it\sisn't|not\s(?:correct|right|it|this|possible|visible|true|valid|present|shown|the\sanswer|fitting|matching|seen|likely)|not|no|nope|nah|n|false|incorrect|wrong|invalid|rejected"
    r"|excluded|eliminated|discarded|ruled\sout|impossible|implausible|unlikely|absent|out|doesn't\s(?:fit|match)|does\snot\s(?:fit|match)|nein|non|não|falso|faux|fausse|falsch|нет|ложь|неверно|неправильно"
    r"|错误|错|不对|不是|不正确|間違い|[✗✘❌✖×])"
)
_MAYBE = (
    r"(?:(?:can't|cannot|can\snot)\sbe\s(?:ruled\sout|excluded|eliminated)|not\s(?:impossible|excluded|ruled\sout)|conceivable|maybe|perhaps|possibly|possible|plausible|unclear|uncertain"
    r"|not\ssure|unsure|probably|could\sbe|might\sbe|vielleicht|quizás|peut-être|可能)"
)
_ITEM = re.compile(
    rf"(?P<mark>{MARK})[)\]'}}]{{0,2}}\s?(?:[:=|?,(>→\u2013\u2014-]+[\s|]*|(?=[✓✔✅☑✗✘❌✖×])|(?:is|seems|est|es|ist|é|è)\s|\s){_ADVERB}{{0,2}}"
    rf"(?:(?P<no>{_NO})|(?P<yes>{_YES})|(?P<maybe>{_MAYBE}))(?![\w'])(?:(?<=[✓✔✅☑✗✘❌✖×])|(?=[)\]'}}\s]{{0,4}}(?:[.,;:!|\n\u3002\uff0c\u2013\u2014-]|\Z|[(\['\"]?{MARK}|(?:and|but|because|since|as|while)\b)))",
    re.IGNORECASE,
)

_REMARK = re.compile(rf"(?P<mark>{MARK})\s?[:=]\s?[^\W\d]+(?=\s?(?:[,;\n|]|\Z))")
"""An option with a word that is not known to be a verdict."""


_ASKED = re.compile(rf"(?P<question>[^.!?:;\n]{{2,120}})[?:]\s(?:an?\s|the\s)?(?P<mark>{MARK})(?=\s?(?:[.,;!\n]|\Z))")
"""A question or heading of the reply with its answer: "Is there a cat? No.", "Lane 3: a red cap."."""
_ANNOUNCES = re.compile(r"\b(?:answers?|options?|choices?|conclusion|final|result|guess)\b", re.IGNORECASE)
_CONCLUDES = re.compile(
    rf"\banswer\b(?:\sis|\s?:)?\s?[(\[]?{MARK}|\b(?:so|thus|therefore|hence)\b[^.!?:\n]{{0,30}}:\s?{MARK}",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\w+")


def answered(text: str, words: Collection[str], label_of: Callable[[str], str]) -> str | None:
    """Return the answer to the reply's own question or heading that shares the most words with the question.

    Parameters
    ----------
    text : str
        A marked reply.
    words : collection of str
        The question's words in lower case.
    label_of : callable
        The label of a mark.

    Returns
    -------
    str or None
        None if the reply answers fewer than two own questions, if two of them share equally many words, or if the
        reply announces an answer.
    """
    found = [(match["question"], label_of(match["mark"])) for match in _ASKED.finditer(text)]
    if len(found) < 2 or _CONCLUDES.search(text) or any(_ANNOUNCES.search(question) for question, _ in found):
        return None
    shares = [len(set(_TOKEN.findall(question.casefold())) & set(words)) for question, _ in found]
    best = max(shares)
    return found[shares.index(best)][1] if best > 0 and shares.count(best) == 1 else None


_CELL = re.compile(rf"\s*(?:{_NO}|{_YES}|{_MAYBE})\s*", re.IGNORECASE)


def _columns(text: str) -> str:
    """Rewrite a table with the options in its first line as a list of verdicts."""
    rows = [line.strip().strip("|").split("|") for line in text.split("\n") if line.count("|") > 1]
    if len(rows) < 2 or sum(re.search(MARK, cell) is not None for cell in rows[0]) < 2:
        return text
    lines = [
        f"{option.strip()}: {cell.strip()}."
        for row in rows[1:]
        for option, cell in zip(rows[0], row, strict=False)
        if re.search(MARK, option) and _CELL.fullmatch(cell)
    ]
    return "\n".join(lines) if lines else text


class Verdict(Enum):
    """What a list of verdicts says as a whole."""

    NO_LIST = "no list"
    UNDECIDED = "undecided"


def chosen(text: str, label_of: Callable[[str], str]) -> str | Verdict:
    """Return the label of the only option with a positive verdict.

    Parameters
    ----------
    text : str
        A marked reply.
    label_of : callable
        The label of a mark.

    Returns
    -------
    str or Verdict
        ``Verdict.NO_LIST`` if fewer than two options have a verdict or none has a positive one, and
        ``Verdict.UNDECIDED`` if several are positive or possible, or the words are unknown.
    """
    if "|" in text:
        text = _columns(text)
    verdicts = {label_of(match["mark"]): match.lastgroup for match in _ITEM.finditer(text)}
    positive = [label for label, verdict in verdicts.items() if verdict == "yes"]
    possible = [label for label, verdict in verdicts.items() if verdict == "maybe"]
    if not verdicts and len({label_of(match["mark"]) for match in _REMARK.finditer(text)}) > 1:
        return Verdict.UNDECIDED
    if len(verdicts) < 2 or not (positive or possible):
        return Verdict.NO_LIST
    if len(positive) == 1:
        return positive[0]
    return Verdict.UNDECIDED
