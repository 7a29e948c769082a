"""Questions, and their replies as the robust parser parses them."""

from __future__ import annotations

from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import UNPARSED, AnsweredTurn, Option, Question, Reply
from known_unknowns.scoring import robust


def question_with(*texts: str, labels: str = "ABCDEFGH", refusal: int | None = -1) -> Question:
    options = tuple(Option(letter, text, f"{letter}. ") for letter, text in zip(labels, texts, strict=False))
    place = None if refusal is None else refusal % len(options)
    return Question("1", "humblebench", "What is it?", options, 0, place, (), "Object", "g")


def parse(text: str, question: Question, *, labels: tuple[str, ...] | None = None) -> ParsedAnswer:
    return robust(AnsweredTurn("1", 0, "answer", "", (), labels or question.labels, "k", Reply(text)), question)


def chosen_label(text: str, question: Question) -> str | None:
    """The letter of the option that was chosen, or None when none was."""
    parsed = parse(text, question)
    assert (parsed.choice is None) == (parsed.outcome == UNPARSED)
    return None if parsed.choice is None else question.options[parsed.choice].label


COLORS = question_with("Red", "Blue", "Yellow", "Gold", "None of the above")
THINGS = question_with("A dog", "A bicycle", "car", "The keyboard", "None of the above")
YES_NO = question_with("Yes", "No", "Can't be determined", "There are multiple fire hydrants", "None of above")
COUNTS = question_with("1", "Two", "3", "4", "None of the above")
GAP = question_with("Red", "Blue", "Gold", "None of the above", labels="ABDE")
SEVEN = question_with("north", "south", "east", "west", "up", "down", "Sorry, I can't help with it")
EIGHT = question_with(*[f"{number} apples" for number in range(10, 18)], refusal=None)
TWO = question_with("true", "false", refusal=None)
