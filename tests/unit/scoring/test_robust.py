"""The robust parser on single replies. Expected labels are those of tests/labelled_replies/GUIDELINES.md."""

from __future__ import annotations

import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import ANSWERED, OUTCOMES, REFUSED, UNPARSED
from tests.unit.scoring.parsed import (
    COLORS,
    COUNTS,
    EIGHT,
    GAP,
    SEVEN,
    THINGS,
    TWO,
    YES_NO,
    chosen_label,
    parse,
    question_with,
)


@pytest.mark.parametrize(
    "text",
    [
        *("E", " e.", "e", "(E)", "[E]", "E)", "E:", "E!", "'E'", '"E"', "\u201cE\u201d", "- E", "> E", "1. E"),
        *("E\U0001f600", "E\u200b", "\ufeffE", "\uff25", "\u24ba", "\U0001d404", "\uff08\uff25\uff09"),
        *("**E**", "*E*", "`E`", "__E__", "### E", "\n\n\tE\n"),
        *(r"\boxed{E}", r"$\boxed{E}$", r"\(\boxed{\text{E}}\)", r"\boxed{\mathrm{E}}.", "$E$", r"\text{E}"),
        *(r"\boxed{E", "<|begin_of_box|>E<|end_of_box|>", "E<|im_end|>", "E</s>"),
        *("<answer>E</answer>", "<CONCLUSION> E </CONCLUSION>"),
    ],
)
def test_letter_in_markup(text):
    assert chosen_label(text, COLORS) == "E"


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("E. None of the above", "E"),
        ("E.None of above", "E"),
        ("E: None of the above", "E"),
        ("E - None of the above", "E"),
        ("E none of the above", "E"),
        ("e) none of the above.", "E"),
        ("a. red", "A"),
        ("A Red", "A"),
        ("B. Blue", "B"),
        ("C yellow", "C"),
        ("C, yellow", "C"),
        ("Option E", "E"),
        ("option b", "B"),
        ("(C) Yellow", "C"),
        ("yellow, C", "C"),
        ("Blue B", "B"),
        (" purple E", "E"),
        ("2 E", "E"),
        ("dark purple, E.", "E"),
        ("None of the above (E)", "E"),
        ("E, because it is not red", "E"),
        ("E because none of them fits", "E"),
        ("A because it is red", "A"),
        ("A is correct", "A"),
        ("C is correct", "C"),
    ],
)
def test_letter_with_text_or_reason(text, letter):
    assert chosen_label(text, COLORS) == letter


@pytest.mark.parametrize(
    ("question", "text", "letter"),
    [
        (COLORS, "none of the above", "E"),
        (COLORS, "None of these options match.", "E"),
        (COLORS, "None of the given options", "E"),
        (COLORS, "None", "E"),
        (COLORS, "none of these", "E"),
        (COLORS, "yellow", "C"),
        (COLORS, "Yellow!", "C"),
        (COLORS, "It's yellow.", "C"),
        (COLORS, "The chandelier is yellow and not red.", "C"),
        (COLORS, "The color is not listed, so none of the above", "E"),
        (COLORS, "None of the lights is on", None),
        (THINGS, "keyboard", "D"),
        (THINGS, "a dog", "A"),
        (THINGS, "There is a dog in the picture", "A"),
        (THINGS, "A bicycle", "B"),
        (THINGS, "B. bicycle", "B"),
        (YES_NO, "Yes", "A"),
        (YES_NO, "A.Yes", "A"),
        (YES_NO, "No, there is none", "B"),
        (YES_NO, "There is no hydrant", None),  # "no" as a word of a sentence is not the option "No"
        (YES_NO, "E. No hydrant", "E"),
        (YES_NO, "Can\u2019t be determined", "C"),
        (YES_NO, "Yes, there are multiple fire hydrants", None),
        (COUNTS, "3", "C"),
        (COUNTS, "\u0663", "C"),  # Arabic-Indic three
        (COUNTS, "\u0969", "C"),  # Devanagari three
        (COUNTS, "\uff13", "C"),  # full-width three
        (COUNTS, "C.3", "C"),
        (COUNTS, "2", "B"),
        (COUNTS, "two", "B"),
        (COUNTS, "one", "A"),
        (COUNTS, "There are 4 cars", "D"),
        (COUNTS, "There are 3 cars and 4 bikes", None),
        (SEVEN, "Sorry, I can't help with it.", "G"),
        (SEVEN, "G", "G"),
        (EIGHT, "H", "H"),
        (EIGHT, "17 apples", "H"),
        (TWO, "b", "B"),
        (TWO, "The statement is false.", "B"),
    ],
)
def test_option_text(question, text, letter):
    assert chosen_label(text, question) == letter


@pytest.mark.parametrize(
    ("question", "text", "letter"),
    [
        (THINGS, "A car", "C"),  # the article, and option C's text
        (THINGS, "a car.", "C"),
        (question_with("car", "bus", "tram"), "A car", "A"),  # option A's own text
        (question_with("bus", "A car", "tram"), "A car", "B"),
        (COLORS, "A car", None),
        (COLORS, "A man with a red hat", None),  # red is the hat, not the answer
        (COLORS, "A chandelier in the room is gold", "D"),
        (COLORS, "The answer is a", "A"),
        (COLORS, "a", "A"),
        (COLORS, "It is A.", "A"),
        (COLORS, "I'd go with A", "A"),
        (COLORS, "E. A man stands there", "E"),
        (COLORS, "As an AI, I can't see images", None),
    ],
)
def test_article_is_not_option_a(question, text, letter):
    assert chosen_label(text, question) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("The answer is E because the light is off", "E"),
        ("Answer: E", "E"),
        ("Answer:\n\nE", "E"),
        ("Answer\nE", "E"),
        ("ANSWER: e", "E"),
        ("Answer - E", "E"),
        ("Answer E", "E"),
        ("**Answer:** E. None of the above", "E"),
        ("### Answer: **E**", "E"),
        ("Final answer: C", "C"),
        ("The correct option is (C).", "C"),
        ("The answer to the question is: E", "E"),
        ("The answer would be **C**.", "C"),
        ("the answer is red", "A"),
        ("The correct answer is none of the above.", "E"),
        ("So the answer is E", "E"),
        ("\u7b54\u6848\u662fE", "E"),
        ("\u7b54\u6848\uff1aE", "E"),
        ("None of A, B, C and D match, so E.", "E"),
        ("A. Red\nB. Blue\nC. Yellow\nD. Gold\nE. None of the above\n\nAnswer: B", "B"),
        ("I first thought the answer is A. On reflection, the answer is B.", "B"),
        ("Answer: A or B", None),
        ("Answer:", None),
    ],
)
def test_announced_answer(text, letter):
    assert chosen_label(text, COLORS) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("<think>maybe A</think>E", "E"),
        ("<think>It could be A, B or C.\n\nAnswer: A</think>\n\nB", "B"),
        ("maybe A</think>\n\nE", "E"),  # the template opened the block
        ("\u25c1think\u25b7A\u25c1/think\u25b7 B", "B"),
        ("<think>The answer is A", None),  # cut off while thinking
        ("E <think>or was it A", "E"),
        ("<think>A</think>", None),
        ("<REASONING>A or B</REASONING><CONCLUSION>D</CONCLUSION>", "D"),
        ("Let me think.\n\nE", "E"),
        ("Let me think\n\nE. None of the above", "E"),
        ("E\n\nExplanation: A is wrong, B is wrong.", "E"),
        ("Please respond with only the letter of the correct choice (A, B, C, D, or E).\nE", "E"),
    ],
)
def test_reasoning_is_not_the_answer(text, letter):
    assert chosen_label(text, COLORS) == letter


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "...", "\n", "I", "7", "U.S.A.", "N/A", "T-shirt", "E-bike", "EEEF", "ABCDE"),
        *("A or B", "A, B", "A/B", "Both A and B", "A B C D E", "It is between A and B", "red and blue"),
        "E\nA",
        *("I can't answer", "I don't know", "I cannot tell from the image.", "Unclear", "The image is too dark"),
        "A. Red\nB. Blue\nC. Yellow\nD. Gold\nE. None of the above",
        "A. Red, B. Blue, C. Yellow, D. Gold, E. None of the above",
        "A. Red\nB. Blue\nC. Yellow\nD. Gold\nE. None of the above\nI can't tell.",
        "A. None of the above",  # a letter and a text that contradict each other
    ],
)
def test_none_or_several_options_is_unparsed(text):
    assert chosen_label(text, COLORS) is None


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("not A", None),
        ("Not E", None),
        ("Neither A nor B", None),
        ("The answer is not A", None),
        ("It is not B but C", "C"),
        ("I think it's B, not A", "B"),
        ("The answer isn't A but B", "B"),
        ("A is incorrect. B is incorrect. The chandelier is yellow, so C", "C"),
        ("A, B are wrong. C", "C"),
        ("E, A is wrong", "E"),
        ("It is not red", None),
        ("not red but blue", "B"),
        ("E. A is wrong because it is not red. B is wrong.", "E"),
    ],
)
def test_denied_option_is_not_chosen(text, letter):
    assert chosen_label(text, COLORS) == letter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C", ParsedAnswer(UNPARSED, "C")),  # the removed option: kept as read
        ("C. Yellow", ParsedAnswer(UNPARSED, "C")),
        ("H", ParsedAnswer(UNPARSED, "H")),
        ("Z", ParsedAnswer(UNPARSED)),
        ("C. None of the above", ParsedAnswer(REFUSED, "E", 3)),  # the letter names nothing, the text does
        ("D. None of the above", ParsedAnswer(UNPARSED)),
        ("D. Gold", ParsedAnswer(ANSWERED, "D", 2)),
        ("E", ParsedAnswer(REFUSED, "E", 3)),
    ],
)
def test_letter_that_is_not_offered(text, expected):
    assert parse(text, GAP) == expected


def test_options_of_a_later_turn():
    offered = ("A", "B", "C", "D")
    assert parse("E", COLORS, labels=offered) == ParsedAnswer(UNPARSED, "E")
    assert parse("None of the above", COLORS, labels=offered) == ParsedAnswer(UNPARSED)
    assert parse("D", COLORS, labels=offered) == ParsedAnswer(ANSWERED, "D", 3)


def test_options_with_the_same_text():
    twice = question_with("Red", "red", "Blue")
    assert chosen_label("red", twice) is None
    assert chosen_label("B. red", twice) == "B"


QUESTIONS = st.sampled_from([COLORS, THINGS, YES_NO, COUNTS, GAP, SEVEN, EIGHT, TWO])
PIECES = st.sampled_from(
    [
        *("A", "B", "E", "a", "e", "Red", "None of the above", " ", "\n", ".", ",", "(", ")", "**", ":"),
        *(" or ", " and ", " not ", "n't ", "answer", " is ", "so ", "option "),
        *(r"\boxed{", "}", r"\text{", "<think>", "</think>", "<answer>", "</answer>"),
    ]
)


@given(st.one_of(st.text(), st.text(string.printable), st.lists(PIECES).map("".join)), QUESTIONS)
def test_every_reply_has_one_valid_outcome(text, question):
    parsed = parse(text, question)
    assert parsed.outcome in OUTCOMES
    if parsed.choice is None:
        assert parsed.outcome == UNPARSED
    else:
        assert question.options[parsed.choice].label == parsed.label
        assert (parsed.outcome == REFUSED) == (parsed.choice == question.refusal)


@given(QUESTIONS, st.data())
def test_label_line_and_text_choose_their_option(question, data):
    option = data.draw(st.sampled_from(question.options))
    for text in (option.label, option.label.lower(), option.line, option.text, f"The answer is {option.line}."):
        assert chosen_label(text, question) == option.label, text


@pytest.mark.parametrize(
    "piece",
    [
        *("wait, A ", "no, A ", "at first A ", "If it is A ", "Is it A? ", "could be A ", "while A ", "B.\n", "[", "{"),
        *("A", "A ", " ", "\n", "'", "A/", "A, ", "A or ", "(A", "A. Red ", "Red ", "not ", "n't ", "not A, B or C, "),
        *("answer ", "answer is ", "so A ", "A is ", "option ", "none of ", "none of the above ", "<|"),
        *("\u7b54\u6848\u662f", "<think>", "</think>", r"\boxed{", r"\text{", "\u0316\u0301", "\ufdfa"),
    ],
)
def test_long_replies_take_linear_time(piece):
    """The slowest takes less than a second of processor time. The longest piece is 18 characters in normal form."""
    start = time.process_time()
    parse(piece * (30_000 // len(piece)), COLORS)
    assert time.process_time() - start < 10
