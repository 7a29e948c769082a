"""The parser that parses replies as the benchmark's released code does."""

from __future__ import annotations

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.kept_part import official_text
from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import UNPARSED, AnsweredTurn, Question

OFFICIAL = "official"


def official(turn: AnsweredTurn, question: Question, *, kept: str | None = None) -> ParsedAnswer:
    """Parse a reply with the official parser of the question's benchmark.

    It reads the `official_text` of the reply. A label that the turn did not offer is unparsed, such as the refusal's in
    a forced choice.
    """
    parsed = registry.get(question.benchmark).official(official_text(turn.reply, kept), question)
    if turn.labels is not None and parsed.label is not None and parsed.label not in turn.labels:
        return ParsedAnswer(UNPARSED, parsed.label)
    return parsed
