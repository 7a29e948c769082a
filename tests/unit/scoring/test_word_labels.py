"""The robust parser on labels that are words or numbers."""

import pytest

from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import ANSWERED, UNPARSED, AnsweredTurn, Option, Question, Reply
from known_unknowns.scoring import likelihood, robust
from tests.factories import question

YES_NO = question(options=(Option("yes", "Yes", ""), Option("no", "No", "")), answer=0, refusal=None)
NUMBERS = question(
    options=tuple(Option(str(n), text, f"{n}) ") for n, text in enumerate(("Red", "Blue", "Gold", "Black"), start=1)),
    answer=2,
    refusal=None,
)


def parse(text: str, of: Question) -> ParsedAnswer:
    return robust(AnsweredTurn("1", 0, "answer", "", (), of.labels, "k", Reply(text)), of)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Yes.", "yes"),
        ("yes", "yes"),
        ("**NO**", "no"),
        ("no, it is not", "no"),
        ("No, there is no snowboard in the image.", "no"),
        ("Yes there is", "yes"),
        ("Yes, a man is holding one.", "yes"),
        ("The answer is yes.", "yes"),
        ("Answer: No", "no"),
        ("I looked for it everywhere.\nNo", "no"),
        ("\\boxed{yes}", "yes"),
        ("<think>no, wait</think>Yes", "yes"),
        ("No car is visible", None),  # "no" is a determiner here
        ("Nothing", None),
        ("Yesterday", None),
        ("", None),
        ("Yes or no", None),
    ],
)
def test_yes_and_no_labels(text, label):
    found = parse(text, YES_NO)
    assert (found.outcome, found.label) == ((UNPARSED, None) if label is None else (ANSWERED, label))
    assert found.choice == (None if label is None else YES_NO.labels.index(label))


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("3)", "3"),
        ("(3)", "3"),
        ("3", "3"),
        ("3. Gold", "3"),
        ("3) Gold", "3"),
        ("Option 2", "2"),
        ("The answer is 4.", "4"),
        ("Answer: 1) Red", "1"),
        ("Gold", "3"),
        ("I would choose option 2 here", "2"),
        ("1. Blue", None),  # label and text contradict each other
        ("3 cars are parked", None),
        ("3.5 metres", None),
        ("5", None),
        ("option 1 or option 2", None),
        ("1, 2", None),
        ('{"answer": 3}', "3"),
    ],
)
def test_number_labels(text, label):
    found = parse(text, NUMBERS)
    assert (found.outcome, found.label) == ((UNPARSED, None) if label is None else (ANSWERED, label))


def test_likelihood_of_word_labels():
    reply = Reply("Yes", {"yes": -0.2, "no": -1.7})
    assert likelihood(AnsweredTurn("1", 0, "answer", "", (), YES_NO.labels, "k", reply), YES_NO) == ParsedAnswer(
        ANSWERED, "yes", 0
    )
