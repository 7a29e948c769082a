"""The parser that uses the log-probabilities of the option labels."""

from __future__ import annotations

import math

from known_unknowns.benchmark.parsed_answer import ParsedAnswer, parse_label
from known_unknowns.records import AnsweredTurn, Question


def likelihood(turn: AnsweredTurn, question: Question) -> ParsedAnswer:
    """Choose the offered label with the highest log-probability as the first token of the reply.

    Parameters
    ----------
    turn : AnsweredTurn
        A turn whose reply did not fail.
    question : Question
        The turn's question.

    Returns
    -------
    ParsedAnswer
        Unparsed if no offered label has a log-probability above minus infinity, for example because the engine does not
        report any.

    Notes
    -----
    Of equal log-probabilities, which occur in half precision, the first option's is chosen. Greedy decoding does the
    same, so ties cause no difference between this parser and the parsers of the text.
    """
    logprobs = turn.reply.logprobs or {}
    chosen, highest = None, -math.inf
    for option in question.options:
        if turn.labels is None or option.label in turn.labels:
            value = logprobs.get(option.label, -math.inf)
            if value > highest:  # not of NaN, and not of the same value again
                chosen, highest = option.label, value
    return parse_label(chosen, question)
