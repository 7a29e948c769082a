"""The scorer that uses the log-probabilities of the option labels."""

from __future__ import annotations

import math

from known_unknowns.records import UNPARSED, AnsweredTurn, Question
from known_unknowns.scoring.parsed_answer import ParsedAnswer, offered_options, parse_label


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
    same, so ties cause no difference between this scorer and the parsers of the text.
    """
    logprobs = turn.reply.logprobs or {}
    labels = [option.label for option in offered_options(turn, question)]
    possible = [label for label in labels if logprobs.get(label, -math.inf) > -math.inf]  # excludes NaN too
    if not possible:
        return ParsedAnswer(UNPARSED)
    return parse_label(max(possible, key=lambda label: logprobs[label]), question)
