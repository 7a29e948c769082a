"""Replies that state an option which the variant removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import wraps
from string import ascii_uppercase

from known_unknowns.benchmark.parsed_answer import ParsedAnswer, Parser, offered_options
from known_unknowns.records import NOT_OFFERED, UNPARSED, AnsweredTurn, Option, Question


def noting_removed(parse: Parser) -> Parser:
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
    from known_unknowns.scoring.robust.marks import marks_of  # see `known_unknowns.scoring.robust`
    from known_unknowns.scoring.robust.options import option_texts
    from known_unknowns.scoring.robust.rules import whole_reply

    reply = whole_reply(turn.reply.text, question.text)
    removed = tuple(Option(str(number), text, "") for number, text in enumerate(question.removed))
    return bool(option_texts(removed).equal_to(reply)) and not marks_of(offered_options(turn, question)).whole(reply)


def contradicts_removed(turn: AnsweredTurn, question: Question, label: str) -> bool:
    """Return whether a reply that the robust parser parsed as an offered label also states a removed option.

    A label beside the text of a removed option ("B. Gold", where B is "Blue" since "Gold" was removed) is a
    contradiction, as it is beside the text of another offered option. So is a label with a statement of the removed
    option ("B. The chandelier is gold."). A refusal may state it ("E. Gold", "None of the above, it is gold."), and a
    removed refusal may be said before an answer.
    """
    refusal = None if question.refusal is None else question.options[question.refusal].label
    if label == refusal:
        return False
    from known_unknowns.scoring.robust.marks import LETTER, TEXT, marks_of  # see `known_unknowns.scoring.robust`
    from known_unknowns.scoring.robust.options import option_texts, refuses
    from known_unknowns.scoring.robust.rules import ReplyParser, whole_reply

    offered = offered_options(turn, question)
    removed = tuple(_distinct(question, offered))
    reply = whole_reply(turn.reply.text, question.text)
    if next(option_texts(removed).within(reply), None) is None:
        return False
    marks = marks_of((*offered, *removed))
    others = frozenset(option.label for option in removed)
    for pair in re.finditer(f"({LETTER})/({TEXT})", marks.mark(reply)):
        if marks.claims(pair[1]) == {label} and marks.claims(pair[2]) <= others:
            return True
    if any(refuses(option.text) for option in removed):
        return False
    return ReplyParser(marks, refusal, question.text).parse(turn.reply.text) != {label}


def _distinct(question: Question, offered: tuple[Option, ...]) -> Iterator[Option]:
    """Yield the removed options that cannot be taken for an offered one, with labels that no reply uses."""
    from known_unknowns.scoring.robust.cleaning import normalise
    from known_unknowns.scoring.robust.marks import uses_letters
    from known_unknowns.scoring.robust.options import option_texts

    taken = question.labels
    free = [letter for letter in reversed(ascii_uppercase) if letter not in taken]
    for number, text in enumerate(question.removed[: len(free)]):
        if text.casefold() not in {label.casefold() for label in taken} and not option_texts(offered).equal_to(
            normalise(text)
        ):
            yield Option(free[number] if uses_letters(taken) else f"(removed {number})", text, "")
