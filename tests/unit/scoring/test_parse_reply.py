# ruff: noqa: E501 (a reply is as long as it is)
"""The short parser: kinds of replies with several members each, and the shared replies with labels."""

from __future__ import annotations

import pytest

from bench.parser.measure import SHARED, parse, shared_cases
from bench.parser.split import UNTOUCHED
from known_unknowns import parse_reply
from known_unknowns.records import NOT_OFFERED

COLORS = {"A": "Red", "B": "Blue", "C": "Black", "D": "Gold", "E": "None of the above"}
QUESTION = "What color is the chandelier?"


def label(reply, options=COLORS, question=QUESTION, **others):
    return parse_reply(reply, options, question=question, **others).label


def outcome(reply, options=COLORS, question=QUESTION, refusal="E", **others):
    return parse_reply(reply, options, refusal, question, **others).outcome


def test_options_can_be_a_list_of_their_texts():
    texts = ["Red", "Gold", "None of the above"]
    for options in (texts, tuple(texts)):
        assert parse_reply("It is gold.", options).label == "B"
        assert parse_reply("None of these is right.", options, "C").outcome == "refused"
    for wrong, error in (("Red", TypeError), (["x"] * 27, ValueError)):
        with pytest.raises(error, match="mapping"):
            parse_reply("B", wrong)


@pytest.mark.parametrize(
    "reply",
    [
        *("D", "D.", "(D)", "d", "[D]", "**D**", "D. Gold", "(D) Gold", "D: Gold", "Gold", "gold.", "It is gold.", "Option D", '"D"'),
        *("The answer is D.", "The correct answer is (D) Gold.", "Answer: D", "**Answer:** D", "ANSWER: D", "Final answer: Gold"),
        *("I would choose D.", "I'd go with option D.", "My best guess is D.", "So the answer must be gold.", "Option D is correct."),
        *("D is the most likely answer.", "The answer to the question is most likely D. Gold.", "Therefore, the correct option is **D**."),
        *(r"\boxed{D}", r"The final answer is $\boxed{\text{D}}$.", "<answer>D</answer>", "<answer>It is gold.</answer>"),
        *("<think>Maybe A.</think>D", '{"answer": "D"}', "{'choice': 'Gold', 'reason': 'it shines'}", '{"answer": "D", "reason": "The cha'),
        *("The answer is:\n\nD. Gold", "The lamp shines.\n\nD", "Gold, because it shines.", "D) It has the color of brass."),
        *("The chandelier is gold.", "Based on the image, the chandelier appears to be gold.", "The color is gold (option D)."),
        *("A is wrong. B is wrong. D is correct.", "Red: incorrect. Blue: incorrect. The correct answer is gold."),
        *("答案是D。", "答案：D", "因此，正确选项为(D)。", "Die Antwort ist D.", "La respuesta es D.", "La réponse est D.", "정답은 D입니다.", "Ответ: D"),
        *("A. Red\nB. Blue\nC. Black\nD. Gold\nE. None of the above\n\nAnswer: D", "D</s>", "assistant\nD", "D\n\nQuestion: What is it?\nAnswer: A"),
    ],
)  # fmt: skip
def test_usual_forms_of_an_answer(reply):
    assert label(reply) == "D"


@pytest.mark.parametrize(
    "reply",
    [
        *("", "...", "A or B", "A and B", "(A), (C)", "The answer is A or B.", r"\boxed{A} \boxed{B}", "<answer>A</answer><answer>B</answer>"),
        *("Is it red?", "A. Gold", "B (Gold)", "The answer is A. The answer is B.", "A. Red\nB. Blue\nC. Black\nD. Gold\nE. None of the above"),
        *("The image shows a dining room.", "A man in a red hat stands below it and looks up.", "Not A.", "F", "The answer is F.", "Not red, not blue."),
        *("[x] A\n[x] B", "A, B and C are possible answers.", "If it were red, the answer would be A."),
    ],
)  # fmt: skip
def test_no_single_option(reply):
    assert label(reply) is None


NUMBERS = {"A": "-5", "B": "5", "C": "10", "D": "84"}


@pytest.mark.parametrize(
    ("reply", "options", "expected"),
    [
        ("-5.", NUMBERS, "A"),
        ("\u22125", NUMBERS, "A"),
        ("x = -5", NUMBERS, "A"),
        ("The answer is -5.", NUMBERS, "A"),
        ("The result is 5.", NUMBERS, "B"),
        ("-84", NUMBERS, None),
        ("84", {"A": "-84", "B": "48"}, None),
        ("The answer is 84.", {"A": "-84", "B": "48"}, None),
        ("10^3", NUMBERS, None),
        ("The answer is 10^3.", NUMBERS, None),
        ("10³", NUMBERS, None),
        ("10^{-3}", {"A": "10^-3", "B": "10^3", "C": "10"}, "A"),
        ("10³", {"A": "10^-3", "B": "10^3", "C": "10"}, "B"),
        ("<5", NUMBERS, None),
        ("It is < 5.", {"A": "< 5", "B": "5", "C": "> 5"}, "A"),
        ("≥ 5", {"A": "< 5", "B": "5", "C": "≥ 5"}, "C"),
        ("5 m", {"A": "5 km", "B": "5 m"}, "B"),
        ("The answer is 5 m.", {"A": "5 km", "B": "5 m", "C": "5 m^2"}, "B"),
        ("5 m", {"A": "5 km", "B": "5 cm"}, None),
        ("The distance is 5 meters.", {"A": "5", "B": "6"}, "A"),
        ("5 million", {"A": "5", "B": "6"}, None),
        ("(3, 2)", {"A": "(-3, 2)", "B": "(2, 3)"}, None),
        ("(3, 2)", {"A": "(-3, 2)", "B": "(3, 2)"}, "B"),
        ("The point is (-3, 2).", {"A": "(-3, 2)", "B": "(3, 2)"}, "A"),
        ("1,000", {"A": "1000", "B": "100"}, "A"),
        ("three", {"A": "2", "B": "3"}, "B"),
        ("3.50", {"A": "3.5", "B": "35"}, "A"),
        ("0.5%", {"A": "5%", "B": "0.5%"}, "B"),
        (r"\frac{1}{2}", {"A": "1/2", "B": "2"}, "A"),
        ("3-5", {"A": "3", "B": "5"}, None),
        ("x - y", {"A": "x + y", "B": "x - y"}, "B"),
    ],
)
def test_sign_exponent_comparison_and_unit_belong_to_a_number(reply, options, expected):
    assert label(reply, options, "") == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("\\boxed{x = A_0 e^{-kt}}\nAnswer: B", "B"),
        ("\\boxed{A_0}\n\nThe answer is C.", "C"),
        ("\\boxed{C_6H_12O_6}", None),
        ("\\boxed{5\\,\\mathrm{A}}", None),
        ("\\boxed{\\mathbf{B}}", "B"),
        ("\\boxed{\\text{(C) Black}}", "C"),
        ("\\boxed{B + C}", None),
        ("<|begin_of_box|>B<|end_of_box|>", "B"),
        ("The current is I = 5 A. \\boxed{D}", "D"),
        ("\\fbox{Gold}", "D"),
    ],
)
def test_box_decides_only_if_its_whole_content_is_an_option(reply, expected):
    assert label(reply) == expected


def test_cut_reply_is_parsed_and_cut_if_no_answer_is_found():
    assert parse_reply("The answer is D. The chandelier has a", COLORS, cut=True).label == "D"
    assert outcome("The walls are red, and the chandelier", cut=True) == "cut"
    assert outcome("The chandelier is gold.", cut=True) == "cut"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        *((text, "cannot_tell") for text in (
            "It is not possible to tell from the image which lamp is meant.", "I cannot determine the color.", "I don't know.", "I'm not sure.",
            "The image does not provide enough information to answer.", "There is insufficient information.", "It can't be determined.",
            "More information is needed to answer this.", "The question is unclear.", "Please provide the image.", "I do not see any image.",
            "It's impossible to say.", "无法确定。", "I am unable to view the picture, so no answer can be given.",
        )),
        *((text, "none_of_options") for text in (
            "None of the options is correct.", "None of these.", "There is no correct answer.", "All of the options are wrong.",
            "The correct answer is not listed.", "It is not among the given options.", "Neither option fits.", "The options do not match.",
        )),
        *((text, "declines") for text in (
            "I'm sorry, but I can't assist with that.", "I cannot help with identifying people.", "I must decline.", "Sorry, I am unable to comply.",
        )),
    ],
)  # fmt: skip
def test_abstentions(reply, expected):
    options = {"A": "Red", "B": "Blue"}
    parsed = parse_reply(reply, options, None, QUESTION)
    assert (parsed.outcome, parsed.label, parsed.kind) == ("abstained", None, expected)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("I cannot tell for sure, but my best guess is B.", "B"),
        ("It's hard to say. The answer is D.", "D"),
        ("It is difficult to determine. However, if I had to choose, I would say the chandelier is gold.", "D"),
        ("I'm not sure. Probably B.", "B"),
        ("D. I cannot see the cable.", "D"),
        ("The exact shade cannot be determined. Answer: Gold", "D"),
        ("The chandelier is gold, although it is hard to tell.", "D"),
    ],
)
def test_guess_is_an_answer(reply, expected):
    assert label(reply) == expected


def test_abstention_from_points_in_the_image_names_no_option():
    options = {"A": "A is closer", "B": "B is closer"}
    question = "Two points are circled, labeled by A and B. Which point is closer to the camera?"
    for reply in (
        "It is not possible to tell from the image which point is closer to the camera.",
        "I'm sorry, I can't tell whether A is closer or B is closer.",
        "The image does not show any points, so I cannot determine if A is closer.",
    ):
        assert parse_reply(reply, options, None, question).outcome == "abstained", reply
    assert parse_reply("Point A is closer to the camera than point B.", options, None, question).label == "A"
    assert parse_reply("Point B, which is at the bottom, appears to be closer.", options, None, question).label == "B"


def test_refusal_option_that_means_the_same_is_refused():
    none, unknown = COLORS, {**COLORS, "E": "I don't know"}
    assert parse_reply("None of these.", none, "E").outcome == "refused"
    assert parse_reply("E", none, "E").outcome == "refused"
    assert parse_reply("I cannot tell.", none, "E").outcome == "abstained"
    assert parse_reply("I cannot tell.", unknown, "E").outcome == "refused"
    assert parse_reply("None of the options is right.", unknown, "E").outcome == "abstained"
    assert (
        parse_reply("I cannot tell.", {**COLORS, "E": "Weiß nicht"}, "E", refusal_means="cannot_tell").outcome
        == "refused"
    )
    assert (
        parse_reply("None of these.", {**COLORS, "E": "Keine davon"}, "E", refusal_means="none_of_options").outcome
        == "refused"
    )


def test_sentence_of_a_refusal_option():
    options = {"A": "Paris", "B": "Rome", "C": "Sorry, I can't help with it"}
    for reply in (
        "Sorry, I can't help with it",
        "I'm sorry, but I can't help with that.",
        "C",
        "I cannot assist with this request.",
    ):
        assert parse_reply(reply, options, "C").outcome == "refused", reply
    assert parse_reply("I can't identify people.", options, "C").outcome in ("abstained", "unparsed")
    assert parse_reply("I cannot tell.", options, "C").outcome == "abstained"
    assert parse_reply("I cannot tell.", options, "C", refusal_means="cannot_tell").outcome == "refused"


def test_option_that_means_to_abstain_is_answered_without_a_refusal_option():
    options = {"A": "1", "B": "No correct answer is given", "C": "I do not know", "D": "Refused"}
    assert parse_reply("None of the options is correct.", options, "C").label == "B"
    assert parse_reply("I don't know.", options, "C").outcome == "refused"


def test_contrast_after_the_answer():
    options = {"A": "the second image", "B": "the third image"}
    question = "Which image is most similar to the first one?"
    for reply in (
        "The second image is most similar to the first one. The third image, on the other hand, shows a bird.",
        "The second image (A) is most similar. The third image (B), in contrast, is darker.",
        "The image most similar to the first one is the second image, whereas the third image shows a bird.",
        "Unlike the third image, the second image is similar to the first one.",
        "Based on these observations, the second image is most similar to the first one. The third image lacks the tree.",
    ):
        assert label(reply, options, question) == "A", reply


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("The answer is A. Wait, no, the chandelier is gold. The answer is D.", "D"),
        ("A... scratch that, B.", "B"),
        ("Answer: A\n\nExplanation: It shines like brass, so the correct answer is D.", "D"),
        ("The answer is A. Actually, the answer is D.", "D"),
        ("I first thought the answer is A. On second thought, it is gold.", "D"),
        ("The answer is B. Hmm, no. I take that back.", None),
        ("The answer is A. The correct answer is D.", None),
    ],
)
def test_letter_that_the_explanation_overrides(reply, expected):
    assert label(reply) == expected


@pytest.mark.parametrize(
    ("reply", "options", "expected"),
    [
        ("increases", {"A": "increases, then decreases", "B": "decreases, then increases"}, None),
        ("It increases.", {"A": "It increases and then decreases", "B": "It decreases and then increases"}, None),
        ("The cat is white.", {"A": "The cat is black.", "B": "The dog is white."}, None),
        ("possible", {"A": "not possible", "B": "certain"}, None),
        ("The answer is red and blue.", {"A": "red", "B": "red and blue", "C": "blue"}, "B"),
        ("Red and white", {"A": "Red", "B": "Red and blue"}, None),
        ("Monet", {"A": "Claude Monet", "B": "Edgar Degas"}, "A"),
        ("double bass", {"A": "Bass", "B": "Double bass"}, "B"),
        ("Not wrong, Wrong", {"A": "Wrong, Not wrong", "B": "Not wrong, Wrong", "C": "Wrong, Wrong"}, "B"),
    ],
)
def test_half_of_a_text(reply, options, expected):
    assert label(reply, options, "What is shown in the picture?") == expected


@pytest.mark.parametrize(
    ("reply", "question", "options", "expected"),
    [
        ("What is beside the red car?", "What is beside the red car?", {"A": "A red car", "B": "A tree"}, None),
        ("You ask what is beside the red car.", "What is beside the red car?", {"A": "The red car", "B": "A tree"}, None),
        ("What is beside the red car? A tree.", "What is beside the red car?", {"A": "The red car", "B": "A tree"}, "B"),
        ("Which of the two is larger, the cat or the dog? The dog.", "Which of the two is larger, the cat or the dog?", {"A": "the cat", "B": "the dog"}, "B"),
        ("a red truck", "Is the red vehicle a truck or a car?", {"A": "A blue truck", "B": "A blue car"}, None),
        ("It is a red truck.", "What stands behind the red house?", {"A": "A blue truck", "B": "A green car"}, None),
        ("There are 3 birds and 2 cats.", "There are 3 birds. How many cats are there?", {"A": "3", "B": "2"}, "B"),
    ],
)  # fmt: skip
def test_echo_of_the_question(reply, question, options, expected):
    assert label(reply, options, question) == expected


def test_denied_options_do_not_count():
    for reply, expected in (
        ("It's not red but gold.", "D"),
        ("Option A is incorrect. Option D is correct.", "D"),
        ("The answer is not A.", None),
        ("The chandelier is not gold.", None),
        ("It isn't red, it's gold.", "D"),
    ):
        assert label(reply) == expected, reply


def test_removed_option():
    options = {"A": "Red", "B": "Blue", "C": "None of the above"}
    parsed = parse_reply("Gold", options, "C", QUESTION, removed=("Gold",))
    assert (parsed.outcome, parsed.label) == ("unparsed", NOT_OFFERED)
    assert parse_reply("B. Gold", options, "C", QUESTION, removed=("Gold",)).label is None
    assert parse_reply("B. Blue", options, "C", QUESTION, removed=("Gold",)).label == "B"
    assert parse_reply("None of these, it is gold.", options, "C", QUESTION, removed=("Gold",)).outcome == "refused"


CASES = list(shared_cases(SHARED))


@pytest.mark.skipif(not CASES, reason="the shared replies are absent")
def test_agreement_with_the_untouched_half():
    """Two points below what bench/parser/README.md reports."""
    cases = [case for case in CASES if case.half == UNTOUCHED and case.human]
    parsed = [parse(case.row).label for case in cases]
    agrees = sum(found in case.right for found, case in zip(parsed, cases, strict=True))
    wrong = sum(found is not None and found not in case.right for found, case in zip(parsed, cases, strict=True))
    assert agrees / len(cases) >= 0.96
    assert wrong / len(cases) <= 0.025


@pytest.mark.parametrize(
    ("reply", "outcome", "label"),
    [
        ("gold E", "refused", "E"),  # it names the removed option, and chooses the refusal
        ("4 E", "refused", "E"),
        ("red A", "answered", "A"),
        ("blue E", "unparsed", None),  # it names B and chooses E
        ("gold", "unparsed", NOT_OFFERED),
    ],
)
def test_what_is_seen_before_a_label(reply, outcome, label):
    offered = {"A": "Red", "B": "Blue", "C": "Black", "E": "None of the above"}
    parsed = parse_reply(reply, offered, "E", "What color is it?", removed=("Gold",))
    assert (parsed.outcome, parsed.label) == (outcome, label)


TWO = {"A": "cat", "B": "dog"}
THREE = {**TWO, "C": "cow"}


@pytest.mark.parametrize(
    ("reply", "options", "expected"),
    [
        *((text, TWO, "B") for text in ("A: no. B: yes.", "A: No\nB: Yes", "(A) no; (B) yes", "A ✗ B ✓", "A: ❌\nB: ✅")),
        *((text, TWO, "B") for text in ("Cat: no. Dog: yes.", "cat? No. dog? Yes.", "A) cat: no\nB) dog: yes", "Option A: no. Option B: yes.")),
        *((text, TWO, "B") for text in ("A. cat - incorrect\nB. dog - correct", "Is it A? No. Is it B? Yes.", "A is wrong. B is right.")),
        *((text, TWO, "B") for text in ('{"a": "no", "b": "yes"}', '{"A": false, "B": true}', "{'a': false, 'b': true}")),
        *((text, THREE, "B") for text in ("A. False. B. True. C. False.", "A: Incorrect, it has no fur.\nB: Correct, it barks.\nC: Incorrect.")),
        *((text, TWO, "A") for text in ("A: yes. B: no.", "A: yes")),
        ("A: no, B: no, C: yes", THREE, "C"),
        *((text, TWO, None) for text in ("A: yes. B: yes.", "A: no", "A: no. B: no.", "cat: no")),
        ("A: no. B: no.", THREE, None),  # nothing is said of C
        ("B. No, it is a dog.", TWO, "B"),  # the label of an answer, and no verdict on it
        ("B. No", {"A": "Yes", "B": "No"}, "B"),
        ("A: No", {"A": "Yes", "B": "No"}, None),
    ],
)  # fmt: skip
def test_a_verdict_on_each_option_is_read_as_such(reply, options, expected):
    assert label(reply, options, "") == expected


def test_where_every_option_is_denied_none_is_right():
    assert outcome("A: no. B: no.", TWO, "", refusal=None) == "abstained"
    assert outcome("A: no. B: no.", {**TWO, "C": "None of the above"}, "", refusal="C") == "refused"
    assert outcome("A: no. B: no.", THREE, "", refusal=None) == "unparsed"


@pytest.mark.parametrize(
    ("reply", "options", "expected"),
    [
        *((text, TWO, "B") for text in ("I think it's not A, it is B", "It's not A, it's B.", "Not A but B.", "not A, B", "Not A. B.")),
        *((text, TWO, "B") for text in ("The answer is not A but B.", "The answer isn't A. It's B.", "It is B, not A.", "B rather than A")),
        *((text, TWO, "B") for text in ("It is not cat, it is dog.", "I think it's not the cat, it is the dog.", "I'd say B, not A")),
        *((text, THREE, "C") for text in ("Not A, not B, C.", "It is neither A nor B, it is C", "It is not A or B, it is C")),
        *((text, THREE, None) for text in ("I think it's not A", "not A", "not A or B", "It is not A, B or C.")),
        ("It is not possible, because it is dark.", {"A": "possible", "B": "not possible"}, "B"),
        ("C. Not wrong, Wrong", {"A": "Wrong, Wrong", "B": "Wrong, Not wrong", "C": "Not wrong, Wrong"}, "C"),
    ],
)  # fmt: skip
def test_an_option_that_is_denied_beside_another_is_not_read(reply, options, expected):
    assert label(reply, options, "") == expected


@pytest.mark.parametrize(
    ("reply", "texts", "expected"),
    [
        *((text, ("-5", "5", "10"), "A") for text in ("negative five", "minus five", "Negative 5", "The value is -5.", "The value is −5", "The answer is negative five.")),
        *((text, ("-5", "5", "10"), "B") for text in ("five", "The value is 5.", "The answer is five.")),
        ("minus 5 degrees", ("-5°", "5°"), "A"),
        ("negative five", ("5", "10"), None),
        *((text, (">5", "<5", "5"), "A") for text in ("> 5", ">5", "greater than 5", "more than five", "The answer is > 5")),
        *((text, (">5", "<5", "5"), "B") for text in ("< 5", "less than 5", "fewer than 5")),
        ("5", (">5", "<5", "5"), "C"),
        *((text, ("≥5", "5", "<5"), "A") for text in (">= 5", "≥ 5", "at least 5", "no less than 5")),
        *((text, ("5", "10"), None) for text in ("> 5", "at least 5")),
        *((text, ("$20", "20", "€20"), "A") for text in ("$20", "20 dollars", r"\$20", "The answer is $20.")),
        ("€20", ("$20", "€20"), "B"),
        ("20", ("$20", "20", "€20"), "B"),
        ("$20", ("€20", "20 cm"), None),
        *((text, ("20", "30"), "A") for text in ("$20", "The answer is $20.", "$20$")),  # no option has a currency
        *((text, ("0.5", "5"), "A") for text in (".5", "0.5", "The value is .5", "0.50")),
        ("0.5", (".5", "5"), "A"),
        ("-.5", ("-0.5", "0.5"), "A"),
    ],
)  # fmt: skip
def test_a_number_keeps_its_sign_its_unit_and_its_comparison(reply, texts, expected):
    assert parse_reply(reply, texts).label == expected


@pytest.mark.parametrize("reply", ['{"b": "dog"}', '{"answer": "b"}', '{"answer": ["b"]}', '{"answer": {"b": "dog"}}', '{"choice": "(b)"}', '{"option": {"label": "b"}}'])  # fmt: skip
def test_a_lower_case_label_in_an_object_is_read(reply):
    assert label(reply, TWO, "") == "B"


def test_reasoning_that_the_template_opened_and_the_limit_cut_is_cut():
    for reply in ("It may be A. The answer is A", "A", "The answer is A. Wait,"):
        parsed = parse_reply(reply, TWO, cut=True, opened=True)
        assert (parsed.outcome, parsed.label) == ("cut", None)
    assert parse_reply("It may be A.</think>The answer is B.", TWO, opened=True).label == "B"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        *((f"Answer: A. {text}", "B") for text in ("Actually, B.", "Correction: B.", "No, it is B.", "Sorry, I meant B.", "On reflection, blue.", "Oops, B.")),
        *((f"Answer: A. {text}", "B") for text in ("I made a mistake; it should be B.", "Hmm, actually B is correct.", "I misread the image; blue.", "I stand corrected: B.")),
        *((f"Answer: A. {text}", "B") for text in ("That was wrong. B.", "Let me revise: B", "I'd like to change that to B.", "Edit: B", "No wait, B.")),
        *((text, "B") for text in ("A. Wait, B.", "Answer: A, or rather B", "Red - sorry, blue.", "**Answer: A**\n\n**Correction:** B", "Answer: A\n\nUpdate: the answer is B.")),
        *((text, "B") for text in ("I choose A. Let me change my answer to B.", "Answer: A (wait, actually B)", "The answer is Red. Actually, it is Blue.")),
        ("Answer: A. Actually, B. No, C.", "C"),
        *((rf"\boxed{{A}} {text} \boxed{{B}}", "B") for text in ("Wait, that is wrong.", "Correction:", "Actually,", "Re-checking the image,")),
        ("<answer>A</answer> Sorry, I made a mistake. <answer>B</answer>", "B"),
        ("<|begin_of_box|>A<|end_of_box|> Correction: <|begin_of_box|>B<|end_of_box|>", "B"),
        (r"\boxed{A} Actually, B.", "B"),
        ('{"answer": "A"}\nCorrection:\n{"answer": "B"}', "B"),
        *((f"Answer: A. {text}", "A") for text in ("Actually, the lamp is very old, and its shade is black.", "Sorry for the length.", "I mean the red one.")),
        *((f"Answer: A. {text}", "A") for text in ("Actually, blue is the color of the wall.", "No, B is not right.", "Wait, is it B? No.", "Actually, not B.")),
        (r"\boxed{A} and \boxed{B}", None),
        *((text, "B") for text in ("Answer: A\nWait\nB", "The answer is A.\nWait, I looked again.\nB", "Answer: A\nLet me double-check.\nB", "I say A.\nHmm, let me look at it again.\nB.")),
        *((text, "B") for text in ("I choose A.\nWait, let me count again.\nIt is blue.", "Answer: Red\nSorry, I misread it.\nBlue", "Answer: A. I rechecked the image. B.")),
        *((text, "A") for text in ("Answer: A\nWait, is it B?\nNo.", "Answer: A\nLet me double-check.\nB is not right.", "Answer: A\nSorry for the length.")),
        *((text, None) for text in ("Answer: A -> D", "Answer: A → D", "A => D", "The answer is A -> B -> C.")),  # which of them is not said
    ],
)  # fmt: skip
def test_a_later_retraction_wins_over_an_earlier_announcement(reply, expected):
    assert label(reply) == expected


def test_what_is_not_seen_can_answer_yes_or_no_and_how_many():
    not_seen = "I cannot see any car on the left."
    assert outcome(not_seen, {"A": "Yes", "B": "No"}, "Is there a car on the left?", refusal=None) == "unparsed"
    assert outcome(not_seen, {"A": "0", "B": "1"}, "How many cars are on the left?", refusal=None) == "unparsed"
    assert outcome(not_seen, CAR, OF_THE_CAR) == "abstained"
    assert outcome("I cannot see anything other than a bus.", {"A": "bus", "B": "car"}, "What is it?") == "unparsed"


CAR = {"A": "red", "B": "blue", "C": "green", "D": "white", "E": "None of the above"}
OF_THE_CAR = "What color is the car on the left?"


@pytest.mark.parametrize(
    "reply",
    [
        *("I can't identify the people. The car on the left is blue (B).", "I can't identify the people. However, the car on the left is blue (B)."),
        *("I can't identify the people. The car on the left is blue.", "The car on the left is blue. I can't identify the people."),
        *("I'm sorry, but I can't identify the person. The color of the car is blue.", "Sorry, I can't help with identifying people. The car on the left is B. blue."),
        *("The brand of the car cannot be determined. Its color is blue.", "I don't know the driver. Blue.", "I do not have information about the owner. B"),
        *("I cannot verify the names of the people; the car on the left is blue.", "I don't know what city this is. The car on the left is blue."),
        *("There is not enough information about the people. The car on the left is blue.", "I don't know the model of the car, but it is blue."),
        *("I'm not able to tell who the driver is. The car on the left is blue.", "The car on the left is blue (B), but I can't tell the model."),
        *("I cannot see the driver. The car on the left is blue.", "I can't see the brand of the car. It is blue.", "I can't find any red car. The car on the left is blue."),
    ],
)  # fmt: skip
def test_an_abstention_about_another_thing_is_no_abstention(reply):
    assert label(reply, CAR, OF_THE_CAR, refusal="E") == "B"


@pytest.mark.parametrize(
    "reply",
    [
        *("I cannot determine the color of the car. The car on the right is blue.", "I can't tell. The car on the left is hidden behind a blue truck."),
        *("I can't identify the people. The car on the left is not blue.", "I can't identify the people. The car on the left could be red or blue."),
        *("I cannot tell whether the car on the left is blue.", "I'm sorry, but I cannot identify the color. The sky is blue.", "I cannot tell. It is not blue."),
        *("The color of the car on the left cannot be determined. The car on the right is red.", "I don't know. It's a car."),
        *("I cannot determine that. The image shows a red truck and a white house.", "I cannot tell the color, as the photo is black and white."),
        *("I cannot see any car on the left. The only car is white.", "I am unable to find a car on the left. The only car is white.", "I can't spot the car on the left. A white truck is on the right."),
    ],
)  # fmt: skip
def test_another_option_in_an_abstention_is_no_answer(reply):
    assert outcome(reply, CAR, OF_THE_CAR) == "abstained"


@pytest.mark.parametrize(
    "reply",
    [
        *("## Answer\n\n**D. Gold**\n\nConfidence: high", "### Final Answer\n**D) Gold**\n\nConfidence: 95%", "# Answer\n\n**D**\n\nConfidence: 90%"),
        *("Final Answer\n============\n\n**D. Gold**\n\n*Confidence: high*", "Answer\n------\n**(D) Gold**\n\nHope this helps!", "Final answer\nD\nConfidence: 0.9"),
        *("### Conclusion\n\n**Gold**\n\nI hope this helps!", "## Result\n\nD\n\nLet me know if you have questions.", "## My choice\n> D. Gold\n\nConfidence level: 4/5"),
        *("## Reasoning\nThe glass is dark.\n\n**D. Gold**\n\nConfidence: high", "### Observation\nIt shines.\n### Answer\n**D. Gold**\nConfidence: medium"),
        *("The lamp shines warmly.\n\n**D. Gold**\n\nI'm confident.", "The lamp shines warmly.\n\n**D. Gold**\n\n(Confidence: 80 %)"),
    ],
)  # fmt: skip
def test_an_option_on_its_own_line_before_a_closing_line(reply):
    assert label(reply) == "D"


@pytest.mark.parametrize(
    "reply", ["## Answer\n\nIt depends.\n\nConfidence: low", "## Answer\n**D. Red**\n\nConfidence: high", "## Options\nA. Red\nD. Gold"]
)  # fmt: skip
def test_a_heading_announces_only_a_line_that_is_one_option(reply):
    assert label(reply) is None


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        *((text, "unparsed") for text in ("E. Gold", "E. It is gold.", "E) It's gold.", "E. The color is red.", "E. The chandelier is gold.", "E: it is blue", "E\nGold")),
        *((text, "unparsed") for text in ("(E) The chandelier appears to be gold.", "Answer: E. The chandelier is gold.", "The answer is E. It is gold.", "E. I think it is gold.")),
        *((text, "refused") for text in ("E. None of these", "E. The chandelier is green.", "E. Not gold.", "E, because it is neither red nor gold.", "E. It is not gold.")),
        *((text, "refused") for text in ("E. The room is gold, the lamp is pink.", "E. The chandelier isn't gold.", "E. None of the above. It is purple.")),
    ],
)  # fmt: skip
def test_a_refusal_letter_with_the_text_of_another_option_is_unparsed(reply, expected):
    assert outcome(reply) == expected


@pytest.mark.parametrize(
    ("reply", "texts", "expected"),
    [
        *((text, ("-$20", "$2"), None) for text in ("$20", "20", "20 dollars", "The answer is $20.", "The profit is $20.")),
        *((text, ("$20", "$2"), None) for text in ("-$20", "The answer is -$20.", "minus 20 dollars")),
        *((text, ("-$20", "$20"), "A") for text in ("-$20", "$-20", "(-$20)", "minus $20", "negative 20 dollars", "The answer is -$20.")),
        *((text, ("-$20", "$20"), "B") for text in ("$20", "20 dollars", "The answer is +$20.")),
        *((text, ("42%", "17%"), None) for text in ("42", "42.0", "The value is 42.", "The answer is 42.")),
        *((text, ("42%", "42"), "A") for text in ("42%", "42 %", "42 percent")),
        *((text, ("42", "17"), None) for text in ("42%", "42 percent", "It reads 42%.")),
        *((text, ("5", "-5"), "A") for text in ("+5", "It is +5.", "plus five", "positive 5", "The answer is +5.")),
        *((text, ("+5", "-5"), "A") for text in ("5", "+5", "The charge is +5.")),
        ("x + 5", ("x + 5", "x - 5"), "A"),
        *((text, ("x + 5", "x - 5"), "A") for text in ("x plus 5", "x plus five", "The answer is x plus 5.", "It is x+5.")),
        *((text, ("x + 5", "x - 5"), "B") for text in ("x minus 5", "x minus five", "It equals x - 5.")),
        ("x plus y", ("x + y", "x - y"), "A"),
        *((text, ("5", "10"), None) for text in ("x plus 5", "x minus 5", "x times 5", "The answer is 5 plus x.", "10 minus 5", "5 divided by x")),
        *((text, ("5", "10"), None) for text in ("5+5", "x + 5", "5 + 10")),
        *((text, ("10", "20"), "B") for text in ("It reads 20 degrees.", "It shows 20.", "The thermometer shows 20 degrees.", "The scale reads 20 kg.", "20 degrees", "20°")),
        *((text, ("10", "20"), "B") for text in ("It measures about 20 centimeters.", "It reads twenty degrees.", "It costs 20 dollars.", "The speedometer indicates 20.", "20 °C")),
        *((text, ("10", "20"), None) for text in ("It shows 10 apples and 20 pears.", "It reads 100 degrees.", "It reads 10 million.", "It reads -10 degrees.")),
        ("The display reads -10.", ("10", "-10"), "B"),
        ("It reads 10 degrees.", ("10°C", "20°C"), "A"),
        ("It says 10:30.", ("10:30", "20:30"), "A"),
    ],
)  # fmt: skip
def test_a_number_and_what_belongs_to_it(reply, texts, expected):
    assert parse_reply(reply, texts).label == expected


ANIMAL = {"A": "dog", "B": "cat"}


@pytest.mark.parametrize(
    ("reply", "options", "question", "expected"),
    [
        *((text, ANIMAL, "Which animal is in the picture?", "A") for text in ("It shows a dog.", "The image shows a dog.", "The photo depicts a dog.", "I see a dog.")),
        *((text, COLORS, QUESTION, "D") for text in ("It shows gold.", "The picture displays gold.")),
        *((text, COLORS, QUESTION, None) for text in ("It shows a red car.", "The image shows a red car.", "I see a red carpet and a table.")),
        ("It shows a red car.", CAR, "What color is the car?", "A"),
        ("It shows a red car.", ("a red car", "a blue car"), "What is in the picture?", "A"),
        ("It shows a dog and a cat.", ANIMAL, "Which animal is in the picture?", None),
        ("The image shows a dog.", ("The dog", "A tree"), "What is beside the dog?", None),
    ],
)  # fmt: skip
def test_what_an_image_shows(reply, options, question, expected):
    assert parse_reply(reply, options, question=question).label == expected
