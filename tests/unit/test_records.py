from dataclasses import replace
from hashlib import sha256

import pytest

from known_unknowns.benchmark.protocol import ask
from known_unknowns.records import AnswerKey, Image, Score, facts_text
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
    turn = ask(question(), "What?")
    assert replace(turn, **change).key(FACTS) != turn.key(FACTS)
    assert turn.key(FACTS | {"revision": "2"}) != turn.key(FACTS)


def test_the_key_ignores_values_that_no_model_receives():
    turn = ask(question(), "What?")
    hidden = replace(turn, question_id="other", seed=5, step="forced")
    assert hidden.key(FACTS) == turn.key(FACTS) == turn.key(facts_text(FACTS))
    moved = replace(turn, content=(replace(turn.content[0], source="elsewhere.png"), *turn.content[1:]))
    assert moved.key(FACTS) == turn.key(FACTS)


def test_a_scripted_respondent_sees_the_answer_key_and_the_seed():
    turn, key = ask(question(), "What?"), AnswerKey("A", "E")
    scripted = turn.key(FACTS, answer_key=key)
    assert scripted != turn.key(FACTS)
    for change in ({"question_id": "other"}, {"step": "forced"}, {"seed": 5}):
        assert replace(turn, **change).key(FACTS, answer_key=key) != scripted
    for change in ({"right": "B"}, {"refuse": "C"}):
        assert turn.key(FACTS, answer_key=replace(key, **change)) != scripted


def test_answer_keys_are_hashed_as_in_published_journals():
    """The JSON text is written out here, so that a journal of an earlier version stays valid."""
    turn = replace(ask(question(), "What?"), seed=3)
    text = (
        '[{"model":"m","revision":"1"},{"content":[["image","' + "a" * 64 + '",40,30],"What?"],"labels_key":0}]'
    ).replace(
        '"labels_key":0',
        '"letters":["A","B","C","D","E"],"max_new_tokens":16,"question_id":"1","refuse":"E","right":"A","seed":3,'
        '"step":"answer"',
    )
    facts = {"model": "m", "revision": "1"}
    assert turn.key(facts, answer_key=AnswerKey("A", "E")) == sha256(text.encode()).hexdigest()
