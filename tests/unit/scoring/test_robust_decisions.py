"""The robust parser: refusals, retractions, decisions between options, structured replies and other languages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from known_unknowns.variants import nota_only, without_refusal
from tests.unit.scoring.parsed import COLORS, COUNTS, chosen_label, question_with

CAR = question_with("BMW", "Audi", "Toyota", "Ford", "Sorry, I can't help with it")


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Answer: Sorry, I can't help with it", "E"),
        ("Sorry, I can\u2019t help with it.", "E"),
        ("I'm sorry, but I cannot help with that.", "E"),
        ("Sorry, I can't help with it. The logo is not visible.", "E"),
        ("Sorry, I can't help with it. It could be a BMW or an Audi.", "E"),
        ("Sorry, I can't help with it. The image shows an Audi.", None),
        ("Sorry, I can't help with it. But I guess it is a BMW.", None),
        ("B. Sorry, I can't help with it", None),  # a label and a text that contradict each other
        ("I can't say that it is a Toyota.", None),
        ("I won't say Audi.", None),
        ("I can't see the rings well, but it is an Audi", "B"),
        ("I'm sorry, but I can't assist with identifying cars.", None),
        ("I", None),
    ],
)
def test_refusal_sentence(text, letter):
    assert chosen_label(text, CAR) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("A. Red", None),  # A is "Blue" now, and "Red" was A
        ("The answer is A. Red", None),
        ("A: Red because of the lamp.", None),
        ("Red (A)", None),
        ("A. It is red.", None),
        ("D. Red", "D"),  # the refusal, with the answer that it misses
        ("red D", "D"),
        ("B. Red", None),
        ("A", "A"),
        ("A. Blue", "A"),
        ("It is blue, not red.", "A"),
        ("It is not red, so B.", "B"),
        ("D. None of the above. It is red.", "D"),
        ("D. None of the above, because red is not listed.", "D"),
    ],
)
def test_a_label_with_the_text_of_a_removed_option_is_a_contradiction(text, letter):
    """Rule 5 of the labelling guidelines. Red, the right option, was removed, and the others got the first letters."""
    assert chosen_label(text, nota_only(COLORS, relettered=True)) == letter


def test_a_removed_option_contradicts_no_other_text_and_no_guess():
    same = nota_only(question_with("Red", "Red", "Blue", "None of the above"), relettered=True)
    assert chosen_label("A. Red", same) == "A"
    guess = "Sorry, I can't help with it. But my guess is B."
    assert (chosen_label(guess, CAR), chosen_label(guess, without_refusal(CAR))) == (None, "B")
    assert chosen_label("B. Sorry, I can't help with it", without_refusal(CAR)) is None


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("A... wait, B", "B"),
        ("B? No, C", "C"),
        ("I first thought B, but it is C", "C"),
        ("The answer is A. On second thought, the answer is B.", "B"),
        ("A. Sorry, I meant B.", "B"),
        ("It's red. No, it's blue.", "B"),
        ("A is my first guess. However, the correct answer is B.", "B"),
        ("~~A~~ B", "B"),
        ("\u7b54\u6848\u662fA\u3002\u4e0d\u5bf9\uff0c\u5e94\u8be5\u662fD\u3002", "D"),  # Chinese: "no, it should be D"
        ("A. Wait, that is not right.", None),
        ("I thought it was A, but now I'm not sure.", None),
        ("The answer is D. Actually, the lamp is quite old.", "D"),  # no other answer follows
    ],
)
def test_retracted_answer_is_not_chosen(text, letter):
    assert chosen_label(text, COLORS) == letter


@pytest.mark.parametrize(
    "text",
    [
        *("(A) and (C)", "A + C", "A; C", "A, maybe D", "A and also (D)", r"\boxed{A} or \boxed{B}", "[A, D]"),
        *("Answer: A\nAnswer: B", "Answer 1: A\nAnswer 2: B", '{"answer": ["A", "C"]}', '{"A": true, "C": true}'),
        *("It could be B, it could also be C.", "A or", "A oder B", "A\u304bB", "A\u6216\u8005B"),
    ],
)
def test_several_options_are_unparsed(text):
    assert chosen_label(text, COLORS) is None


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("It is either A or D, but I would go with D.", "D"),
        ("Probably D, although A is possible.", "D"),
        ("Of the options A, B and D, B is correct.", "B"),
        ("A would be brighter. Only D fits.", "D"),
    ],
)
def test_decision_between_several_options(text, letter):
    assert chosen_label(text, COLORS) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ('{"answer": "D"}', "D"),
        ('```json\n{"answer": "D", "reason": "It is not A."}\n```', "D"),
        ("{'answer': 'D', 'reason': \"It isn't A\"}", "D"),
        ('{"A": false, "C": true}', "C"),
        ("{'A': False, 'C': True}", "C"),
        ('{"A": 0.1, "D": 0.9}', "D"),
        ('{"answer": {"label": "B", "text": "Blue"}}', "B"),
        ('{"label": "B", "text": "Red"}', None),
        ('{"answer": null}', None),
        ('["B"]', "B"),
        ('Here it is: {"answer": "Gold"}', "D"),
        ('{"answer": "B", "reason": "The chan', "B"),  # cut off
    ],
)
def test_json_and_python_literals(text, letter):
    assert chosen_label(text, COLORS) == letter


SOFA = question_with(
    "On the sofa", "Under the sofa", "Behind the sofa", "Next to the sofa", "Sorry, I can't help with it"
)


@pytest.mark.parametrize("verb", ["is", "sits", "is lying", "is located", "can be seen"])
@pytest.mark.parametrize(("place", "letter"), [("on", "A"), ("under", "B"), ("behind", "C"), ("next to", "D")])
def test_the_refusal_option_does_not_change_how_places_are_parsed(verb, place, letter):
    """Its last word is "it", as in "under it", which stands for "under the sofa" if the other options say so."""
    asked = replace(SOFA, text="Where is the cat in relation to the sofa?")
    assert chosen_label(f"The cat {verb} {place} the sofa.", asked) == letter


GLASSES = question_with("Yes", "No", "Not sure")


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("The correct answer is (B) No.", "B"),
        ("B No", "B"),
        ("(A) Yes", "A"),
        ("B) No", "B"),
        ("(A) No", None),  # a contradiction
    ],
)
def test_a_label_in_brackets_or_without_a_sign_before_yes_and_no(text, letter):
    assert chosen_label(text, GLASSES) == letter


ANALYSIS = "Let me analyze each option.\nA. Red: the walls are red.\nB. Blue: only the sky.\n"


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        (ANALYSIS + "C. Yellow: the lamp.\nD. Gold: the arms.\n\nThe chandelier is gold.", "D"),
        ("A. Red: the walls.\nB. Blue: the sky.\n\nThe chandelier is gold.", "D"),
        (ANALYSIS + "D. Gold: the arms of the", None),  # cut off
        ("Let's examine each option in turn:\n\nA. Red: The upper part", None),
        ("A: does not match\nB: does not match\nC: does not match\nD: matches", "D"),
        ("A) nope B) nope C) nope D) yep", "D"),
        ("[Red] n\n[Gold] y\n[Blue] n", "D"),
    ],
)
def test_remarks_on_options_one_by_one(text, letter):
    assert chosen_label(text, COLORS) == letter


def test_years_in_words():
    coin = question_with("1987", "1978", "1997", "2021", "None of the above")
    assert chosen_label("Nineteen seventy-eight.", coin) == "B"
    assert chosen_label("twenty twenty-one", coin) == "D"
    assert chosen_label("Nineteen eighty-eight.", coin) is None


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("It is the Beacon.", "D"),
        ("Beacon", "D"),
        ("Fort Maribel Beacon", None),
        ("I see a striped keep.", None),
    ],
)
def test_the_last_word_of_a_name_is_not_that_of_another_name(text, letter):
    places = question_with(
        "Mount Quellin", "Sorrel Keep", "Hollin Spire", "Ilmar Beacon", "Sorry, I can't help with it"
    )
    assert chosen_label(text, replace(places, text="Which landmark is shown here?")) == letter


def test_made_out_of_a_material():
    table = replace(question_with("Wood", "Metal", "Stone", "None of the above"), text="What is the table made of?")
    assert chosen_label("The table in the image is made out of stone.", table) == "C"


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Nicht A, sondern B.", "B"),
        ("Weder A noch B.", None),
        ("Ce n'est pas A, mais C.", "C"),
        ("No es A, sino B.", "B"),
        ("\u4e0d\u662fA\uff0c\u800c\u662fC\u3002", "C"),
        ("A\u3067\u306f\u306a\u304f\u3001B\u3067\u3059\u3002", "B"),
        ("Die Antwort ist D.", "D"),
        ("La r\u00e9ponse est B.", "B"),
        ("La respuesta correcta es D.", "D"),
        ("\u6240\u4ee5\u9009D\u3002", "D"),
        ("\u7b54\u3048\u306fD\u3067\u3059\u3002", "D"),
    ],
)
def test_other_languages(text, letter):
    assert chosen_label(text, COLORS) == letter


@pytest.mark.parametrize(
    "text", ["A\nThe chandelier is red.", "A.The lamp is red.", "A\n\nExplanation: it is not blue."]
)
def test_letter_before_an_explanation(text):
    assert chosen_label(text, COLORS) == "A"


def test_number_words_within_sentences():
    assert chosen_label("There are four people.", COUNTS) == "D"
    assert chosen_label("I see 2 people.", COUNTS) == "B"
    assert chosen_label("1. Look at the bench.\n2. Count the people.\nThere are 4.", COUNTS) == "D"
    assert chosen_label("One of the people sits.", COUNTS) is None
