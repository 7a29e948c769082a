"""The parser that parses replies as the benchmark's released code does."""

from __future__ import annotations

import re

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import UNPARSED, AnsweredTurn, Question

OFFICIAL = "official"


def kept_part(text: str, pattern: str) -> str:
    """Return the part of a reply that is kept for the official parser, as authors kept it when they stored replies.

    ``pattern`` is a regular expression, the key ``kept`` of a model's entry. A dot also matches a line break. The
    result is the group that takes part in the first match, or the whole match; the reply if there is no match.

    Examples
    --------
    >>> kept_part("It is red, so the answer is B", "answer is(.*)")
    ' B'
    """
    found = re.search(pattern, text, re.DOTALL)
    return text if found is None else found[found.lastindex or 0]


def official(turn: AnsweredTurn, question: Question, *, kept: str | None = None) -> ParsedAnswer:
    """Parse a reply with the official parser of the question's benchmark.

    With a pattern, it reads the `kept_part` of the reply as the model wrote it, its reasoning included, as the authors'
    code does. Without one, it reads the text. A label that the turn did not offer is unparsed, such as the refusal's in
    a forced choice.
    """
    text = turn.reply.text
    if kept is not None:
        text = kept_part(text if turn.reply.raw is None else turn.reply.raw, kept)
    parsed = registry.get(question.benchmark).official(text, question)
    if turn.labels is not None and parsed.label is not None and parsed.label not in turn.labels:
        return ParsedAnswer(UNPARSED, parsed.label)
    return parsed
