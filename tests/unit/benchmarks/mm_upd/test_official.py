"""The released matching of letters, and the rules that replace the language model of the released evaluation."""

from __future__ import annotations

import pytest

from known_unknowns.records import ANSWERED, REFUSED, UNPARSED, AnsweredTurn, Question, Reply
from known_unknowns_benchmarks.mm_upd import extraction, official, prompts
from known_unknowns_benchmarks.mm_upd.loader import with_refusal
from known_unknowns_benchmarks.mm_upd.variants import relabelled_refusal

BASE, OPTION, INSTRUCTION = prompts.BASE, prompts.OPTION, prompts.INSTRUCTION
WEATHER = ["sunny", "windy", "snowy"]


def asked(subset: str = "AAD", kind: str = "upd", texts: list[str] = WEATHER, masked: str = "rainy") -> Question:
    return Question(
        id="1",
        benchmark="mm_upd",
        text="What weather is depicted?",
        options=with_refusal(texts, subset),
        answer=len(texts) if kind == "upd" else 1,
        refusal=len(texts),
        images=(),
        category=f"{subset} image_scene",
        group="g",
        extra={"subset": subset, "type": kind, "problem": 1, "pass": 0, "masked_answer": masked},
    )


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("A", "A"),
        (" B\n", "B"),
        ("C. snowy", "C"),
        ("(C) snowy", "C"),
        ("C, I think", "C"),
        ("C) it is cold, like in the U.S.A.", None),  # "A." occurs
        ("C) snowy, not B.", None),
        ("a", None),
        ("C snowy", None),
        ("The answer is C.", None),
        ("snowy", None),
        ("D", None),  # D is not valid here
    ],
)
def test_a_reply_is_a_letter_only_in_the_released_forms(reply, label):
    assert official.match(reply, "ABC") == label


@pytest.mark.parametrize(
    ("question", "setting", "accepted", "not_read"),
    [
        # Three options: the released code adds the masked answer as D and the refusal as E.
        (asked("AAD"), BASE, "DE", "FG"),
        (asked("AAD"), OPTION, "DEF", "G"),  # D is the option that is shown
        (asked("AAD"), INSTRUCTION, "DEF", "G"),  # F is the option that the instruction names
        (asked("IASD", texts=[*WEATHER, "hot"]), BASE, "EF", "G"),
        (asked("IASD", texts=[*WEATHER, "hot"]), OPTION, "EFG", ""),
        (asked("IASD", texts=[*WEATHER, "hot"]), INSTRUCTION, "EFG", ""),
        (asked("IVQD"), BASE, "D", "EFG"),
        (asked("IVQD"), OPTION, "DE", "FG"),
        (asked("IVQD"), INSTRUCTION, "DF", "EG"),
        (asked("AAD", "standard"), BASE, "D", "EFG"),
        (asked("AAD", "standard"), INSTRUCTION, "DF", "EG"),
    ],
)
def test_letters_that_were_not_offered_are_accepted_as_released(question, setting, accepted, not_read):
    for letter in "ABC":
        assert official.read(letter, question, setting).outcome == ANSWERED
    for letter in accepted:
        parsed = official.read(f"{letter}.", question, setting)
        assert (parsed.outcome, parsed.choice) == (REFUSED, question.refusal), letter
    for letter in not_read:
        assert official.read(letter, question, setting).outcome == UNPARSED, letter


def test_the_official_parser_knows_the_instruction_setting_by_its_label():
    named = relabelled_refusal(asked())
    assert named.labels == ("A", "B", "C", "F")
    assert official.official("F. None of the above", named).choice == 3
    assert official.official("G", named).outcome == UNPARSED
    assert official.official("D", asked()).choice == 3


@pytest.mark.parametrize(
    ("subset", "reply", "right"),
    [
        ("AAD", "It is rainy.", True),  # the masked answer
        ("AAD", "None of the provided options are correct.", True),
        ("AAD", "I cannot determine this from the image.", True),
        ("AAD", "I can tell that the sky is dark.", False),
        ("AAD", "The picture shows a beach. None of the above.", True),
        ("AAD", "It is sunny.", False),
        ("AAD", "There is no sky.", False),
        ("IASD", "The correct answer is not listed.", True),
        ("IVQD", "The image is irrelevant to the question.", True),
        ("IVQD", "There is no spatula in the image.", True),
        ("IVQD", "The image does not show any city.", True),
        ("IVQD", "It is rainy.", False),  # no masked answer in IVQD
        ("IVQD", "A. sunny", False),
    ],
)
def test_free_texts_that_withhold_an_answer(subset, reply, right):
    question = asked(subset)
    for labels in (question.labels, None):
        turn = AnsweredTurn("1", 0, "answer", prompts.base(question), (), labels, "k", Reply(reply))
        assert extraction.withheld(turn, question) is right


def test_prompts_word_for_word():
    question = asked()
    shown = "What weather is depicted?\nA. sunny\nB. windy\nC. snowy\n"
    letter = "Answer with the option's letter from the given choices directly."
    assert prompts.base(question) == shown
    assert prompts.option(question) == f"{shown}D. None of the above\n{letter}"
    assert prompts.original_standard(question) == f"{shown}{letter}"
    named = relabelled_refusal(question)
    assert prompts.instruction(named) == f'{shown}If all the options are incorrect, answer "F. None of the above".'
    assert prompts.instruction(asked("IVQD")).endswith(
        'If the given image is irrelevant to the question, answer "F. The image and question are irrelevant.".'
    )
    assert [prompts.setting_of(question, build(question)) for build in prompts.PROMPTS.values()] == [*prompts.PROMPTS]
    assert prompts.setting_of(question, "other") is None
