"""Lessons: what they say is true of their picture, and nothing held out is ever drawn or named."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from known_unknowns.benchmarks import humblebench
from known_unknowns.pocket.questions import TYPES, questions_for
from known_unknowns.scenes import HELD_OUT_PAIRS, TRAINING_PAIRS, Scene, SceneObject, sample_scene
from known_unknowns.training import lessons
from known_unknowns.training.drills import drills
from known_unknowns.training.exercises import WORDS, exercise
from known_unknowns.training.lessons import PATCH_LABELS, lesson, patch_labels

PAIR_NAME = re.compile(rf"\b({'|'.join(WORDS['colour'])}) ({'|'.join(WORDS['shape'])})\b")


def made(count: int):
    return [lesson(f"test/{number}", side=32, grid=4, exercises=6) for number in range(count)]


def test_a_lesson_follows_from_its_seed():
    one, same, other = (lesson(seed, side=32, grid=4) for seed in ("a", "a", "b"))
    assert np.array_equal(one.pixels, same.pixels)
    assert np.array_equal(one.patches, same.patches)
    assert one.exercises == same.exercises
    assert one.exercises != other.exercises


def test_held_out_pairs_are_neither_drawn_nor_named(monkeypatch):
    drawn = []
    original = lessons.sample_scene
    monkeypatch.setattr(lessons, "sample_scene", lambda *a, **k: drawn.append(original(*a, **k)) or drawn[-1])
    prompts = [e.prompt for one in made(60) for e in one.exercises]
    for number in range(40):
        drilled = lesson(f"drilled/{number}", side=32, grid=4, drilled=True)
        prompts += [drill.prompt for drill in drilled.exercises]
    assert {thing.pair for scene in drawn for thing in scene.objects} <= TRAINING_PAIRS
    named = {pair for prompt in prompts for pair in PAIR_NAME.findall(prompt)}
    assert named
    assert not named & HELD_OUT_PAIRS


def test_exactly_one_option_is_right_and_it_has_the_letter():
    for one in made(40):
        for asked in one.exercises:
            (right,) = [end for end, is_right in asked.options if is_right]
            assert asked.prompt[right] == "\n"
            line = asked.prompt[:right].rpartition("\n")[2]
            assert line.startswith(f"{asked.letter}. ")
            assert asked.prompt[: asked.stem].count("\n") == 0
            assert asked.prompt[asked.stem] == "\n"


def test_all_published_forms_occur_and_a_gap_does_not_tell_the_answer():
    asked = [e for one in made(150) for e in one.exercises]
    relettered = [e for e in asked if "(A, B, C, or D)" in e.prompt]
    four = [e for e in asked if len(e.options) == 4 and e not in relettered]
    five = [e for e in asked if len(e.options) == 5]
    assert relettered
    assert len(five) > len(four) > len(relettered)
    refused = [e.letter == "E" for e in four]
    assert 0.3 < sum(refused) / len(refused) < 0.85


def test_where_there_is_nothing_to_see_only_the_refusal_is_right():
    unseen = [one for one in made(150) if one.pixels is None or not one.patches.any()]
    assert any(one.pixels is None for one in unseen)
    assert any(one.pixels is not None for one in unseen)
    for one in unseen:
        for asked in one.exercises:
            assert asked.options[-1][1]
            assert (asked.words, asked.places) == ({}, ())


def test_patch_labels_of_a_scene_worked_out_by_hand():
    """A 2 x 2 grid: a large red square in the upper left, a small plain blue disc in the lower right."""
    scene = Scene(
        (
            SceneObject("square", "red", "striped", 0.25, 0.25, 0.2),
            SceneObject("disc", "blue", "plain", 0.75, 0.75, 0.09),
        )
    )
    colour, shape, texture, size, centre = patch_labels(scene, 2)
    # The disc covers pi * 0.09^2 / 0.25 = 10.2% of its patch, just above the least share.
    assert colour.tolist() == [1 + WORDS["colour"].index("red"), 0, 0, 1 + WORDS["colour"].index("blue")]
    assert shape.tolist() == [1 + WORDS["shape"].index("square"), 0, 0, 1 + WORDS["shape"].index("disc")]
    assert texture.tolist() == [1 + WORDS["texture"].index("striped"), 0, 0, 1 + WORDS["texture"].index("plain")]
    assert size.tolist() == [1 + WORDS["size"].index("large"), 0, 0, 1 + WORDS["size"].index("small")]
    assert centre.tolist() == [1, 0, 0, 1]


def test_a_wide_scene_is_squeezed_as_its_picture_is():
    scene = Scene((SceneObject("square", "red", "plain", 1.5, 0.5, 0.2),), aspect=2.0)
    centre = patch_labels(scene, 4)[PATCH_LABELS.index("centre")]
    assert np.flatnonzero(centre).tolist() == [2 * 4 + 3]  # x = 1.5 of 2, y = 0.5 of 1


def test_the_steps_towards_an_answer_are_true_of_the_scene():
    seen = set()
    for number in range(60):
        scene = sample_scene(f"steps/{number}", n_objects=(4, 6), pairs=TRAINING_PAIRS)
        rng = random.Random(number)
        for question in questions_for(scene, rng, wanted=TYPES * 2, pairs=TRAINING_PAIRS):
            asked = exercise(question, scene, rng, seen=True)
            for slot, index in asked.words.items():
                assert WORDS[slot][index] in question.truth
            for end, x, y in asked.places:
                seen.add(question.kind)
                across, down = scene.canvas
                there = [t for t in scene.objects if (t.x, t.y) == (x * across, y * down)]  # two, when nested
                looks = {getattr(thing, slot) for thing in there for slot in PATCH_LABELS[:-1]}
                named = [
                    word for word in asked.prompt[:end].split() if any(word in WORDS[s] for s in PATCH_LABELS[:-1])
                ]
                assert named[-1] in looks
    assert {"where", "related", "colour", "shape", "texture"} <= seen


def test_prompts_are_those_of_the_benchmark():
    for one in made(5):
        for asked in one.exercises:
            text = asked.prompt.rpartition("\n")[0]
            stem, options = humblebench.parse_question(text)
            assert stem == asked.prompt[: asked.stem]
            assert len(options) == len(asked.options)


@pytest.mark.parametrize("exercises", [0, 3])
def test_pictures_are_squares_of_the_asked_side(exercises):
    for number in range(20):
        one = lesson(f"side/{number}", side=48, grid=6, exercises=exercises)
        assert one.patches.shape == (len(PATCH_LABELS), 36)
        if one.pixels is not None:
            assert one.pixels.shape == (48, 48, 3)
            assert one.pixels.dtype == np.uint8


def test_drills_are_true_of_the_scene():
    asked = set()
    for number in range(40):
        scene = sample_scene(f"drills/{number}", n_objects=(4, 6), pairs=TRAINING_PAIRS)
        for drill in drills(scene, random.Random(number), seen=True):
            text = drill.prompt.strip()
            assert drill.prompt[drill.stem] == "\n"
            asked |= drill.words.keys()
            if drill.options:
                ((_, present),) = drill.options
                meant = [t for t in scene.objects if set(text.split()) - {"object"} <= looks(t)]
                assert bool(meant) == present
                assert bool(drill.words) == bool(drill.places) == (len(meant) == 1)
                for thing in meant if drill.words else ():
                    assert drill.words.keys() >= {"colour", "shape", "texture"}
                    assert all(WORDS[slot][index] == getattr(thing, slot) for slot, index in drill.words.items())
                    assert [(x * scene.canvas[0], y * scene.canvas[1]) for _, x, y in drill.places] == [
                        pytest.approx((thing.x, thing.y))
                    ]
            if "count" in drill.words:
                wanted = set(text.removesuffix("objects").split())
                number_meant = sum(wanted <= looks(t) | {t.shape + "s", t.shape + "es"} for t in scene.objects)
                assert drill.words["count"] == number_meant
    assert asked == WORDS.keys()


def looks(thing: SceneObject) -> set[str]:
    return {thing.colour, thing.shape, thing.texture, thing.size}


def test_where_there_is_nothing_to_see_no_drill_finds_anything():
    scene = sample_scene("nothing", n_objects=(4, 6), pairs=TRAINING_PAIRS)
    for drill in drills(scene, random.Random(0), seen=False):
        assert (drill.words, drill.places) == ({}, ())
        assert [present for _, present in drill.options] == [False]
