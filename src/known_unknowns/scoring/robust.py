"""The parser that reads a reply in any wording: `known_unknowns.scoring.reply_parser` on turns and questions."""

from __future__ import annotations

import re
from functools import cache, wraps

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.image_places import has_mark
from known_unknowns.benchmark.parsed_answer import ParsedAnswer, Parser, offered_options, parse_label
from known_unknowns.reasoning_marks import final_text
from known_unknowns.records import CUT, NOT_OFFERED, UNPARSED, AnsweredTurn, Question, Reply
from known_unknowns.scoring.reply_parser import parse_reply

_AROUND_A_LETTER = " \n.:;()*"
_LETTER = re.compile(r"[\s(*]*([A-Z])(?:[.):]+(?=\s|\Z)|\W*\Z)")


def ended_by_limit(reply: Reply) -> bool:
    """Return whether the length limit ended a reply, or it ends within its reasoning."""
    return reply.finish == "length" or final_text(reply.text).open


def robust(turn: AnsweredTurn, question: Question) -> ParsedAnswer:
    """Parse a reply by the rules of docs/parsers.md, in time linear in its length.

    It gives any outcome but "failed". The label of an unparsed reply is a letter that the turn did not offer, if the
    reply starts with it ("F. Gold"), or `NOT_OFFERED` if the reply gives an option that a variant removed.
    """
    offered = question.labels if turn.labels is None else turn.labels
    letter = turn.reply.text.strip(_AROUND_A_LETTER)
    if len(letter) == 1 and letter.isupper() and letter in offered:
        return parse_label(letter, question)  # most replies; nothing else could be found in them
    options = {option.label: option.text for option in offered_options(turn, question)}
    refusal = None if question.refusal is None else question.labels[question.refusal]
    parsed = parse_reply(
        turn.reply.text,
        options,
        refusal if refusal in options else None,
        question.text,
        refusal_means(question),
        cut=ended_by_limit(turn.reply),
        removed=tuple(text for text in question.removed if not has_mark(text)),
    )
    if parsed.label in options:
        return parse_label(parsed.label, question)
    not_offered = _LETTER.match(turn.reply.text)
    if not_offered and parsed.label is None and parsed.outcome in (UNPARSED, CUT) and not_offered[1] not in offered:
        return ParsedAnswer(UNPARSED, not_offered[1])
    return ParsedAnswer(parsed.outcome, parsed.label)


def refusal_means(question: Question) -> str | None:
    """Return what the benchmark declares that the question's refusal option means, if anything."""
    return registry.get(question.benchmark).refusal_means(question) if _is_known(question.benchmark) else None


@cache
def _is_known(benchmark: str) -> bool:
    return benchmark in registry.names()


def noting_removed(parse: Parser) -> Parser:
    """Return a parser of text that also recognizes removed options.

    An unparsed reply without a label gets the label `NOT_OFFERED` if `robust` reads it as an option that a variant
    removed (`Question.removed`). Such a reply is certainly not right. Other results do not change.
    """

    @wraps(parse)
    def parse_and_note(turn: AnsweredTurn, question: Question) -> ParsedAnswer:
        parsed = parse(turn, question)
        if parsed.outcome != UNPARSED or parsed.label is not None or not question.removed:
            return parsed
        return ParsedAnswer(UNPARSED, NOT_OFFERED) if robust(turn, question).label == NOT_OFFERED else parsed

    return parse_and_note
