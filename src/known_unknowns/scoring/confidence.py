"""Confidences: numbers from 0 to 1 about the answer that a reply gives.

A confidence is about the option that a parser reads (``choice``, as in `known_unknowns.records.Score`). It is None if
the source was not asked, the reply failed, or no number was said. See docs/metrics.md#confidence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from known_unknowns.records import AnsweredTurn, Question
from known_unknowns.scoring.likelihood import label_mass
from known_unknowns.tables.confidence_sources import LEAST_MASS


def letters(turn: AnsweredTurn, question: Question, choice: int | None) -> float | None:
    """Return the probability of the chosen option's label at the reply's beginning, among the offered labels.

    None if the reply does not begin with a label (`known_unknowns.scoring.likelihood.label_follows_text`), or if the
    labels together have less than `LEAST_MASS` of the probability.

    Parameters
    ----------
    turn : AnsweredTurn
        The turn of the step "answer".
    question : Question
        Its question.
    choice : int or None
        Index of the chosen option.
    """
    mass = label_mass(turn)
    if mass is None or mass < LEAST_MASS:
        return None
    logprobs = turn.reply.logprobs or {}
    offered = question.labels if turn.labels is None else turn.labels
    return _share({label: logprobs.get(label, -math.inf) for label in offered}, question, choice)


def option_text(turn: AnsweredTurn, question: Question, choice: int | None, *, normalise: bool = True) -> float | None:
    """Return the probability of the chosen option's text as the reply, among the texts of the offered options.

    Parameters
    ----------
    turn : AnsweredTurn
        The turn of the step "likelihood".
    question : Question
        Its question.
    choice : int or None
        Index of the chosen option.
    normalise : bool
        Divide the log-probability of each text by its number of tokens.
    """
    found = turn.reply.continuations
    if turn.reply.error is not None or not found:
        return None
    values = {label: each.logprob / each.tokens if normalise else each.logprob for label, each in found.items()}
    return _share(values, question, choice)


def verbalised(turn: AnsweredTurn) -> float | None:
    """Return the number from 0 to 100 in the reply to a turn of the step "confidence", divided by 100.

    Notes
    -----
    The last number after a word such as "confidence" counts; else the only one with a percent sign; else the only one.
    A decimal number up to 1 without a percent sign is a probability, and "9/10" a share. Numbers in words, ranges
    ("80 to 90"), and numbers outside 0 to 100 give None.
    """
    if turn.reply.error is not None:
        return None
    text = _SCALE.sub(" ", turn.reply.text)
    if _RANGE.search(text):
        return None
    for pattern in (_NAMED, _PERCENT, _ANY):
        found = [value for match in pattern.finditer(text) if (value := _value(match)) is not None]
        if found and (pattern is _NAMED or len(set(found)) == 1):
            return found[-1]
    return None


_NUMBER = r"(?<![\w.,-])(?P<number>\d+(?:\.\d+)?)(?![\w,]|\.\d)"
_UNIT = r"(?P<unit>\s*(?:%|percent|(?:/|out of)\s*(?P<whole>100?)\b))"
_SCALE = re.compile(r"\(?\b0%?\s*(?:-|–|to)\s*100\b%?\)?")
_RANGE = re.compile(r"\d%?\s*(?:-|–|to|and)\s*\d")
_NAMED = re.compile(
    rf"(?:confidence|confident|probability|likelihood|certainty|score)\b[^\d\n]{{0,60}}?{_NUMBER}{_UNIT}?",
    re.IGNORECASE,
)
_PERCENT = re.compile(_NUMBER + _UNIT, re.IGNORECASE)
_ANY = re.compile(f"{_NUMBER}{_UNIT}?", re.IGNORECASE)


def _value(match: re.Match[str]) -> float | None:
    """Return a number as a share of 1; None outside 0 to 1."""
    number, unit = match["number"], match["unit"]
    whole = float(match["whole"] or 100) if unit or "." not in number or float(number) > 1 else 1.0
    value = float(number) / whole
    return value if value <= 1 else None


def _share(logprobs: Mapping[str, float], question: Question, choice: int | None) -> float | None:
    """Return the softmax of some labels' values for the chosen option; None if it has none."""
    value = -math.inf if choice is None else logprobs.get(question.options[choice].label, -math.inf)
    highest = max(logprobs.values(), default=-math.inf)
    if not math.isfinite(highest) or choice is None or question.options[choice].label not in logprobs:
        return None
    return math.exp(value - highest) / sum(math.exp(each - highest) for each in logprobs.values())
