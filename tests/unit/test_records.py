from dataclasses import replace

import pytest

from known_unknowns.protocols import ask
from known_unknowns.records import Image, Score
from tests.factories import question

FACTS = {"engine": "transformers", "source": "m", "revision": "1"}


def test_a_question_renders_as_published():
    assert question().rendered == (
        "What color is the chandelier?\nA. Red\nB. Blue\nC. Black\nD. Gold\nE. None of the above"
    )


@pytest.mark.parametrize("name", ["answer", "refusal"])
def test_an_index_outside_the_options_is_refused(name):
    with pytest.raises(ValueError, match=f"question 7: {name} 5"):
        question("7", **{name: 5}) if name == "refusal" else replace(question("7"), answer=5)


def test_repeated_letters_are_refused():
    options = question().options
    with pytest.raises(ValueError, match="repeat"):
        replace(question(), options=(*options[:4], options[0]))


def test_an_unknown_outcome_is_refused():
    with pytest.raises(ValueError, match="skipped"):
        Score("1", 0, "answer", "robust", "skipped", None, None, False)


@pytest.mark.parametrize(
    "change",
    [
        {"content": ("What?",)},
        {"content": (Image("images/a.png", "b" * 64, 40, 30), "What?")},
        {"labels": ("A", "B")},
        {"max_new_tokens": 99},
    ],
)
def test_the_key_changes_with_everything_that_can_change_a_reply(change):
    turn = ask(question())
    assert replace(turn, **change).key(FACTS) != turn.key(FACTS)
    assert turn.key(FACTS | {"revision": "2"}) != turn.key(FACTS)


def test_the_key_ignores_what_a_model_never_sees():
    turn = ask(question())
    hidden = replace(turn, question_id="other", right="B", refuse="C", seed=5, step="forced")
    assert hidden.key(FACTS) == turn.key(FACTS)
    moved = replace(turn, content=(replace(turn.content[0], source="elsewhere.png"), *turn.content[1:]))
    assert moved.key(FACTS) == turn.key(FACTS)


def test_a_scripted_respondent_sees_the_answer_key_and_the_seed():
    turn = ask(question())
    for change in ({"question_id": "other"}, {"right": "B"}, {"refuse": "C"}, {"seed": 5}):
        assert replace(turn, **change).key(FACTS, scripted=True) != turn.key(FACTS, scripted=True)
