"""Replies that are the text of an option which the variant removed."""

from __future__ import annotations

from functools import wraps

from known_unknowns.records import NOT_OFFERED, UNPARSED, AnsweredTurn, Option, Question
from known_unknowns.scoring.parsed_answer import ParsedAnswer, Scorer, offered_options


def noting_removed(parse: Scorer) -> Scorer:
    """Return a parser that also recognizes removed options.

    An unparsed reply without a label gets the label `NOT_OFFERED` if the whole reply is the text of an option that a
    variant removed (`Question.removed`). Such a reply is certainly not right. Other results do not change.

    Parameters
    ----------
    parse : callable
        A parser of the text of replies.
    """

    @wraps(parse)
    def parse_and_note(turn: AnsweredTurn, question: Question) -> ParsedAnswer:
        parsed = parse(turn, question)
        if parsed.outcome != UNPARSED or parsed.label is not None or not question.removed:
            return parsed
        return ParsedAnswer(UNPARSED, NOT_OFFERED) if is_removed_option(turn, question) else parsed

    return parse_and_note


def is_removed_option(turn: AnsweredTurn, question: Question) -> bool:
    """Return whether a reply is only the text of a removed option, by the robust parser's rule for whole replies.

    It is not if an offered option has the same text, or one that the rule does not distinguish from it.
    """
    from known_unknowns.scoring._marks import marks_of  # see `known_unknowns.scoring.robust`
    from known_unknowns.scoring._options import option_texts
    from known_unknowns.scoring._rules import whole_reply

    reply = whole_reply(turn.reply.text, question.text)
    removed = tuple(Option(str(number), text, "") for number, text in enumerate(question.removed))
    return bool(option_texts(removed).equal_to(reply)) and not marks_of(offered_options(turn, question)).whole(reply)
