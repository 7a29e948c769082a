"""The parser that uses the log-probabilities of the option labels."""

from __future__ import annotations

import math

from known_unknowns.benchmark.parsed_answer import ParsedAnswer, parse_label
from known_unknowns.records import AnsweredTurn, Question


def label_mass(turn: AnsweredTurn) -> float | None:
    """Return the probability of all offered labels together as the first token; None if it is unknown."""
    if turn.reply.error is not None or not turn.reply.logprobs:
        return None
    offered = turn.reply.logprobs if turn.labels is None else turn.labels
    values = [turn.reply.logprobs.get(label, -math.inf) for label in offered]
    return min(1.0, sum(math.exp(min(value, 0.0)) for value in values if not math.isnan(value)))


def likelihood(turn: AnsweredTurn, question: Question) -> ParsedAnswer:
    """Choose the offered label with the highest log-probability as the first token of the reply.

    It is unparsed if no offered label has a log-probability above minus infinity, for example because the engine does
    not report any.

    Notes
    -----
    Of equal log-probabilities, which occur in half precision, the first option's is chosen. Greedy decoding does the
    same, so ties cause no difference between this parser and the parsers of the text.

    Metrics under this parser are undefined where the labels have less than `LEAST_MASS` of the probability on average
    (`known_unknowns.tables.confidence_sources.low_mass`).
    """
    logprobs = turn.reply.logprobs or {}
    chosen, highest = None, -math.inf
    for option in question.options:
        if turn.labels is None or option.label in turn.labels:
            value = logprobs.get(option.label, -math.inf)
            if value > highest:  # not of NaN, and not of the same value again
                chosen, highest = option.label, value
    return parse_label(chosen, question)
