"""The parser that parses replies as the benchmark's released code does."""

from __future__ import annotations

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import UNPARSED, AnsweredTurn, Question


def official(turn: AnsweredTurn, question: Question) -> ParsedAnswer:
    """Parse a reply with the official parser of the question's benchmark.

    Parameters
    ----------
    turn : AnsweredTurn
        A turn whose reply did not fail.
    question : Question
        The turn's question.

    Returns
    -------
    ParsedAnswer
        The official parser's result. A label that the turn did not offer is unparsed, such as the refusal's in a forced
        choice.
    """
    parsed = registry.get(question.benchmark).official(turn.reply.text, question)
    if turn.labels is not None and parsed.label is not None and parsed.label not in turn.labels:
        return ParsedAnswer(UNPARSED, parsed.label)
    return parsed
