"""Step-by-step reasoning in sections, in the style of models that are trained to reason.

tests/labelled_replies/GUIDELINES.md gives the labels: a paraphrase of an option is unparsed.
"""

# ruff: noqa: E501

from __future__ import annotations

from dataclasses import replace

import pytest

from known_unknowns.records import Question
from tests.unit.scoring.parsed import chosen_label, question_with


def _asked(text: str, *options: str) -> Question:
    return replace(question_with(*options, "None of the above"), text=text)


CAR = _asked("What is the color of the car parked next to the building?", "Red", "Blue", "White", "Black")
PEOPLE = _asked("How many people are visible in the image?", "One", "Two", "Three", "Four")
DOG = _asked(
    "What is the relationship between the dog and the furniture?",
    "The dog is under the table",
    "The dog is on the chair",
    "The dog is beside the sofa",
    "The dog is behind the door",
)
MAN = _asked("What is the man in the blue shirt doing?", "Sitting", "Running", "Reading a book", "Eating")
TABLE = _asked("What is placed on the table next to the lamp?", "A laptop", "A book", "A cup", "A phone")
CLOCK = _asked("Where is the clock located?", "On the floor", "On the wall", "In the kitchen", "On the table")
YES_NO = _asked("Is there a dog in the image?", "Yes", "No", "There are two dogs", "Cannot be determined")


@pytest.mark.parametrize(
    ("text", "question", "letter"),
    [
        (
            "Observing the Image: The image shows a street with several cars.\nIdentifying the Car: The car parked next to the building appears to be white. This observation supports option C.",
            CAR,
            "C",
        ),
        (
            "Analyzing the Image: There is a car next to the building.\nDetermining the Color: The car is white, which directly matches option C.",
            CAR,
            "C",
        ),
        ("Given the observations, option C appears to be the correct choice.", CAR, "C"),
        ("The options red, blue, and black can be ruled out, leaving option C.", CAR, "C"),
        ("The car is not red, blue, or black. This makes option C the correct answer.", CAR, "C"),
        ("Therefore, the most appropriate answer is option C, white.", CAR, "C"),
        ("I can confidently select option C.", CAR, "C"),
        ("It is reasonable to conclude that the car parked next to the building is white.", CAR, "C"),
        ("This indicates that the car is white.", CAR, "C"),
        ("The color of the car is consistent with option C.", CAR, "C"),
        ("Upon re-examination, the car appears to be white, confirming the initial observation.", CAR, "C"),
        (
            "Upon closer inspection, the car parked next to the building is predominantly white with some black details.",
            CAR,
            "C",
        ),
        (
            "The car appears to be green. Since green is not listed among the options, the correct answer is E.",
            CAR,
            "E",
        ),
        ("The car is green. None of the provided options match this color.", CAR, "E"),
        ("The car is green.", CAR, None),
        ("The image does not show a car parked next to the building.", CAR, None),
        ("There is no car parked next to the building, so it is not possible to determine its color.", CAR, None),
        ("There is no car in the image. Therefore, none of the above options are applicable.", CAR, "E"),
        (
            "Analyzing the Options: Option A (Red) is not visible in the image. Option B (Blue) does not match the car. Option C (White) matches the color of the car. Option D (Black) is not the color of the car.",
            CAR,
            "C",
        ),
        (
            "Considering Alternatives: While the building is red and the sign is blue, the car itself is white.",
            CAR,
            "C",
        ),
        ("The car appears to be white in color. The building next to it is red.", CAR, "C"),
        (
            "Eliminating Incorrect Options: Based on the observation, options A, B, and D can be eliminated as they do not match the color of the car. This leaves option C as the correct answer.",
            CAR,
            "C",
        ),
        (
            "The car in question is clearly white. Other colors such as red, blue, or black are not present on the car.",
            CAR,
            "C",
        ),
        ("The image is in black and white, so the color of the car cannot be determined.", CAR, None),
        ("Based on visual evidence, the car's color is white. Thus, the answer should be C.", CAR, "C"),
        ("Observing the Car: The car has a bright red exterior.\nConclusion: The car is red.", CAR, "A"),
        (
            "Counting the People: Upon closer inspection, there are two people visible in the image. One is standing near the door, and the other is sitting on the bench.",
            PEOPLE,
            "B",
        ),
        (
            "Observing the Image: I can see one person on the left and another person on the right. Therefore, there are two people in total.",
            PEOPLE,
            "B",
        ),
        (
            "Counting the People: There are three individuals visible in the image. Two are sitting at the table, and one is standing behind them.",
            PEOPLE,
            "C",
        ),
        (
            "Counting the People: There is only one person visible in the image. There are no other people in the background.",
            PEOPLE,
            "A",
        ),
        (
            "Based on the visible elements, there is one person in the image, with no additional individuals seen.",
            PEOPLE,
            "A",
        ),
        ("There are five people visible in the image.", PEOPLE, None),
        ("There are no people visible in the image.", PEOPLE, None),
        ("The total number of people visible is four: two in the foreground and two in the background.", PEOPLE, "D"),
        ("I count four people in total. Three of them are walking and one is riding a bicycle.", PEOPLE, "D"),
        (
            "Initially, it seems there is one person. Upon closer inspection, a second person is visible, bringing the total to two.",
            PEOPLE,
            "B",
        ),
        ("The image shows two people walking down the street. Therefore, the correct answer is B.", PEOPLE, "B"),
        ("To determine the number of people visible in the image, we need to count them carefully.", PEOPLE, None),
        ("Upon closer inspection, the dog is positioned beside the sofa.", DOG, "C"),
        ("The dog appears to be beside the sofa, not under the table or on the chair.", DOG, "C"),
        ("It appears that the dog is beside the sofa. This matches option C.", DOG, "C"),
        (
            "Option A is incorrect as the dog is not under the table. Option B is incorrect because the dog is not on the chair. Option C is correct since the dog is beside the sofa. Option D is not supported by the image.",
            DOG,
            "C",
        ),
        ("The dog is lying on the rug near the window.", DOG, None),
        (
            "The dog is lying on the rug. Therefore, none of the given options accurately describe the relationship.",
            DOG,
            "E",
        ),
        (
            "Observing the Man: The man in the blue shirt is seated on a bench. He appears to be sitting and watching the street.",
            MAN,
            "A",
        ),
        ("The man is sitting on a bench.", MAN, "A"),
        ("The man is holding a book and appears to be reading.", MAN, "C"),
        ("The man seems to be engaged in reading a book.", MAN, "C"),
        ("The man in the blue shirt is eating a sandwich, while the woman next to him is reading a book.", MAN, "D"),
        ("He is eating. There is no indication that he is sitting, running, or reading a book.", MAN, "D"),
        ("The man is not engaged in any of the listed activities.", MAN, "E"),
        ("The man in the blue shirt is talking to a woman.", MAN, None),
        ("The man's actions do not clearly indicate what he is doing.", MAN, None),
        (
            "The man is in motion, with his legs positioned as if he is running. This suggests that he is running.",
            MAN,
            "B",
        ),
        ("His posture suggests that he is running rather than sitting or eating.", MAN, "B"),
        ("Identifying the Object: There is a cup placed on the table next to the lamp.", TABLE, "C"),
        ("The object next to the lamp appears to be a cup.", TABLE, "C"),
        (
            "Upon examining the table, there is a cup next to the lamp. There are no laptops, books, or phones visible.",
            TABLE,
            "C",
        ),
        (
            "The image shows a table with a lamp and a cup. The object next to the lamp is a cup, which aligns with option C.",
            TABLE,
            "C",
        ),
        ("There is a vase next to the lamp.", TABLE, None),
        ("There is a vase next to the lamp, which is not listed in the options.", TABLE, "E"),
        ("There are no objects such as a laptop, a book, a cup, or a phone on the table.", TABLE, None),
        ("Among the options provided, a book is the only item that is on the table next to the lamp.", TABLE, "B"),
        (
            "Considering the options: A laptop is not visible. A book is visible next to the lamp. A cup is not visible. A phone is not visible.",
            TABLE,
            "B",
        ),
        ("While there is a laptop on the desk, the item on the table next to the lamp is a phone.", TABLE, "D"),
        ("The clock is mounted on the wall.", CLOCK, "B"),
        ("The clock is hanging on the wall above the sofa.", CLOCK, "B"),
        ("Upon closer inspection, the clock is located on the wall, which corresponds to option B.", CLOCK, "B"),
        ("The clock is located above the door.", CLOCK, None),
        ("Yes, there is a dog lying on the floor.", YES_NO, "A"),
        ("No, there is no dog in the image.", YES_NO, "B"),
        ("Upon examining the image, there is no dog visible. Therefore, the correct answer is B. No.", YES_NO, "B"),
        ("Upon closer inspection, a dog is visible near the door. Therefore, the answer is Yes.", YES_NO, "A"),
        ("There are two dogs in the image.", YES_NO, "C"),
    ],
)
def test_reasoning(text: str, question: Question, letter: str | None) -> None:
    assert chosen_label(text, question) == letter


LEAVES = _asked("What is the color of the palm trees' leaves?", "Red", "Orange", "Purple", "Green")
TREES = _asked("What is positioned over the trees?", "The sun", "The moon", "Birds", "The sky")
DRESSER = _asked("Which item sits on top of the dresser?", "A clock", "A lamp", "A book", "A phone")
RUG = _asked("In front of which furniture is the rug placed?", "The desk", "The chair", "The couch", "The shelf")
ROAD = _asked("What is the texture of the road?", "Smooth", "Wet", "Icy", "Gravel")
HILL = _asked("What attribute of the hill is most visible?", "Snowy", "Sandy", "Grassy", "Mossy")
TRACKS = _asked("Is there a tram on the tracks?", "Yes, stationary", "No, there is a car", "No, the tracks are clear")
NET = _asked("Who is standing beside the net?", "A woman", "Two men", "A group of people", "A man")
STAIRS = _asked("Is there a skater?", "Yes, on the stairs", "Yes, on the pavement", "Yes, next to the wall", "No")


@pytest.mark.parametrize(
    ("text", "question", "letter"),
    [
        ("The leaves of the palm trees are green.", LEAVES, "D"),
        ("The sky is visible above the trees.", TREES, "D"),
        ("The birds sit below the trees.", TREES, None),
        ("There is a lamp placed on top of the dresser.", DRESSER, "B"),
        ("There is a lamp placed on the floor.", DRESSER, None),
        ("The rug is located in front of the couch.", RUG, "C"),
        ("The rug is located behind the couch.", RUG, None),
        ("The road appears to be smooth without any visible gravel or icy patches.", ROAD, "A"),
        ("The texture of the road can be described as wet due to the rain.", ROAD, "B"),
        ("The road has a smooth surface.", ROAD, "A"),
        ("The road does not show any gravel, ice, or parts that would be wet.", ROAD, None),
        ("It is clear that there is no person skating on the stairs, pavement, or next to the wall.", STAIRS, None),
        ("A van of the firm 'C. B. Meyer' passes.", ROAD, None),
        ("The most visible attribute of the hill is its grassy appearance.", HILL, "C"),
        ("The hill is covered with stones rather than moss, sand, or having a snowy top.", HILL, None),
        ("The road is wet. Upon closer inspection, it is neither icy nor smooth.", ROAD, "B"),
        ("The road is wet. Upon closer inspection, it is icy.", ROAD, "C"),
        ("The road is not frozen in places, making icy less likely. It is smooth.", ROAD, "A"),
        ("Wet, icy, or smooth parts would not look like this.", ROAD, None),
        ("Listed options: Wet, icy. Eliminating options: Wet, icy.", ROAD, None),
        ("It is clear that there is a tram on the tracks.", TRACKS, None),
        ("There is also a person behind the net.", NET, None),
    ],
)
def test_words_for_the_same(text: str, question: Question, letter: str | None) -> None:
    assert chosen_label(text, question) == letter


REMARKS = (
    "Option A suggests a clock, which we've ruled out. Option B states a lamp, which aligns with our observation. "
    "Option C implies a book, which is not the case."
)
SECTIONS = (
    "Observing the Room: The room has a dresser and a bed.\nLooking at the Dresser: There is a lamp on top of it."
    "\nConsidering Others: The shelf next to it holds a vase{}"
)


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        (REMARKS, "B"),
        (SECTIONS.format("."), "B"),
        (SECTIONS.format(" and"), None),  # cut off
    ],
)
def test_sections_and_remarks(text: str, letter: str | None) -> None:
    assert chosen_label(text, DRESSER) == letter
