"""The option whose letter the model finds most likely, whatever it went on to write."""

from __future__ import annotations

import math

from known_unknowns.records import UNPARSED, AnsweredTurn, Question
from known_unknowns.scoring.parsed import Parsed, on_offer, parse_label


def likelihood(asked: AnsweredTurn, question: Question) -> Parsed:
    """The letter on offer with the highest log-probability as the first token of the reply.

    A tie goes to the earlier option, as in greedy decoding, whose argmax takes the first of equals: half-precision
    logits do tie, and another rule would make this scorer disagree with the text for no reason of the model's.
    Unparsed where the engine gives no log-probabilities, or none above minus infinity for a letter on offer.
    """
    logprobs = asked.reply.logprobs or {}
    labels = [option.label for option in on_offer(asked, question)]
    possible = [label for label in labels if logprobs.get(label, -math.inf) > -math.inf]  # nor NaN
    if not possible:
        return Parsed(UNPARSED)
    return parse_label(max(possible, key=lambda label: logprobs[label]), question)
