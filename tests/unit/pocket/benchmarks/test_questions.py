"""Questions on sampled scenes: exactly one right option, nothing that gives it away."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from known_unknowns_pocket.benchmarks.object_names import expressions, name
from known_unknowns_pocket.benchmarks.questions import TYPES, questions_for
from known_unknowns_pocket.scenes import (
    Scene,
    SceneObject,
    sample_scene,
)
from tests.unit.pocket.benchmarks.answer_check import Looks, check_answer


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(),
    limits=st.sampled_from([(1, 2), (2, 6), (5, 8)]),
    aspect=st.sampled_from([0.6, 1.0, 1.8]),
    chance=st.sampled_from([0.0, 0.9]),
)
def test_exactly_one_option_is_right(seed, limits, aspect, chance):
    scene = sample_scene(seed, n_objects=limits, aspect=aspect, nested=chance, overlap=chance)
    looks = Looks(scene)
    for question in questions_for(scene, random.Random(seed), wanted=TYPES * 3):
        found = check_answer(looks, question.text)
        plainly = [letter for letter, (true, _) in found.items() if true]
        roughly = [letter for letter, (_, true) in found.items() if true]
        assert plainly == roughly == [letter for letter in "ABCD" if letter == question.answer], question


def twins():
    return SceneObject("star", "red", "plain", 0.3, 0.3, 0.08), SceneObject("star", "red", "plain", 0.7, 0.7, 0.09)


def test_objects_that_look_the_same_have_no_name():
    scene = Scene(twins())
    assert expressions(scene, 0) == [] and name(scene, 0, random.Random(0)) is None
    kinds = {q.kind for s in range(20) for q in questions_for(scene, random.Random(s), wanted=TYPES)}
    assert kinds == {"existence", "count"}


def test_an_empty_scene_has_questions_of_its_count_only():
    empty = [q for seed in range(9) for q in questions_for(Scene(()), random.Random(seed), wanted=TYPES * 2)]
    assert {(question.kind, question.truth) for question in empty} == {("count", "0")}
