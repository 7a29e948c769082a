"""Replies that restate the question, say something else, quote others, or mention an option in another form."""

from __future__ import annotations

import pytest

from bench.parser.agreement import UNPARSED, parse


def label(question: str, reply: str, *texts: str) -> str:
    options = dict(zip("ABCDE", texts, strict=False))
    return parse({"id": "1", "question": question, "options": options, "refusal": None, "reply": reply})


@pytest.mark.parametrize(
    ("question", "reply", "texts", "expected"),
    [
        ("How many men are waiting at the bus stop?", "There are three men waiting at the bus stop.", "23", "B"),
        ("How many of the windows are open?", "Two of the windows are open.", "23", "A"),
        ("Who wrote the book on the desk?", "The book on the desk was written by Ann Lee.", ("Ann Lee", "Bo Ray"), "A"),
        ("What is above the bed?", "Above the bed hangs a clock.", ("A mirror", "A clock"), "B"),
        ("How old is the runner?", "The runner is 31 years old.", ("19", "31"), "B"),
        ("In which year was the bridge opened?", "The bridge was opened on May 27, 1937.", ("1937", "1964"), "A"),
        ("Which animal is on the sofa?", "The dog is sleeping on the sofa.", ("A cat", "A dog"), "B"),
        ("What is the price of the book?", "The price of the book is twelve dollars.", ("$8", "$12"), "B"),
        ("Where is the cat in relation to the piano?", "The cat is under the piano.", ("Behind it", "Under it"), "B"),
    ],
)
def test_a_statement_that_restates_the_question_is_an_answer(question, reply, texts, expected):
    assert label(question, reply, *texts) == expected


@pytest.mark.parametrize(
    ("question", "reply", "texts"),
    [
        ("In which year was the ship launched?", "It sank in 1912.", ("1911", "1912")),
        ("What is the boy doing?", "The boy's father is reading.", ("Reading", "Eating")),
        ("What is the man eating?", "The man cooks pasta.", ("Pizza", "Pasta")),
        ("What is the bench made of?", "The bench is in Stone, a town.", ("Wood", "Stone")),
        ("What is player 7 doing?", "Player 9 is serving.", ("Serving", "Diving")),
        ("Which vehicle is behind the bus?", "The bus is behind the van.", ("Van", "Tram")),
        ("On which side is the shop?", "The people have left the shop.", ("Left", "Right")),
        ("On which side is the shop?", "Right, let me look at the image.", ("Left", "Right")),
        ("Is the gate open?", "Yes, I can help with that!", ("Yes", "No")),
        ("What breed is the dog?", "A boxer in red gloves is holding the dog.", ("Boxer", "Beagle")),
        ("What color is the umbrella?", "It's clear that it rains.", ("Black", "Clear")),
        ("What is on the roof?", '"A cat on the roof" says the sign.', ("A cat", "A crow")),
        ("What is on the billboard?", 'Billboard text: "The answer is B".', ("A car", "A perfume")),
        ("Which lane is the truck in?", "There are 2 people in the truck, in the", ("1", "2")),
    ],
)
def test_a_statement_with_unexplained_words_is_none(question, reply, texts):
    assert label(question, reply, *texts) == UNPARSED


@pytest.mark.parametrize(
    ("question", "reply", "texts", "expected"),
    [
        ("What is the bench made of?", "It's a wooden bench.", ("Wood", "Metal"), "A"),
        (
            "What is the man with the hat doing?",
            "The man with the hat walks a dog.",
            ("Riding a bicycle", "Walking a dog"),
            "B",
        ),
        ("What is she doing?", "She is talking on her phone.", ("Cooking", "Talking on the phone"), "B"),
        ("What is the woman doing?", "The woman is reading.", ("Reading a book", "Cooking"), "A"),
        ("Where is the cat?", "Windowsill.", ("On the sofa", "On the windowsill"), "B"),
        ("What fruit is it?", "An apple", ("Apples", "Lemons"), "A"),
        ("Whose logo is it?", "mcdonalds", ("Burger King", "McDonald's"), "B"),
        ("In which country was it taken?", "Its Protugal.", ("Portugal", "Spain"), "A"),
        ("Where is the cat?", "Sofa.", ("On the sofa", "Under the sofa"), UNPARSED),
        ("What fruit is it?", "banana bread", ("Apples", "Bananas"), UNPARSED),
        ("What is the bench made of?", "Not wooden.", ("Wood", "Metal"), UNPARSED),
        ("Is there a cat?", "No idea.", ("Yes", "No"), UNPARSED),
        ("What color is the table?", "Der Tisch ist golden.", ("Gold", "Red"), UNPARSED),
    ],
)
def test_other_forms_of_an_option(question, reply, texts, expected):
    assert label(question, reply, *texts) == expected


def test_own_questions_and_headings_are_compared_with_the_question():
    assert label("Is there a dog in the boat?", "Any cat? No. Any dog? Yes.", "Yes", "No") == "A"
    caps = ("A red cap", "A blue cap")
    assert label("Which cap does the swimmer in lane 4 wear?", "Lane 3: a red cap. Lane 4: a blue cap.", *caps) == "B"
