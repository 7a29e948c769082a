"""The released code's rule of the question's benchmark, bug for bug."""

from __future__ import annotations

from known_unknowns import benchmarks
from known_unknowns.records import UNPARSED, AnsweredTurn, Question
from known_unknowns.scoring.parsed import Parsed


def official(asked: AnsweredTurn, question: Question) -> Parsed:
    """Read a reply as the benchmark's released code does (``official`` of its module).

    A letter that this turn did not offer (the refusal's, where an answer was forced) is unparsed.
    """
    reading = benchmarks.get(question.benchmark).official.get()(asked.reply.text, question)
    if asked.labels is not None and reading.label is not None and reading.label not in asked.labels:
        return Parsed(UNPARSED, reading.label)
    return reading
