"""The pocket MM-SAP: answers checked by what its images show, emblems and wordings, and the digest."""

import math
import re
from collections import Counter

import numpy as np
import pytest
from scipy import ndimage

from known_unknowns_benchmarks.mmsap import loader as benchmark
from known_unknowns_pocket.benchmarks import mmsap, mmsap_beyond, mmsap_emblems, mmsap_images
from known_unknowns_pocket.scenes import ALL_PAIRS, render
from known_unknowns_pocket.scenes.model import reach, viewport
from tests.unit.pocket.benchmarks.answer_check import READERS, Looks

SEED, IMAGES = 1, 330
REFUSAL = "Sorry, I can't help with it"


@pytest.fixture(scope="module")
def made():
    """Every image of the default edition with its questions, nothing rendered."""
    return list(mmsap.questions(SEED, IMAGES))


@pytest.fixture(scope="module")
def asked(made):
    return [(scene_image, question) for scene_image, questions in made for question in questions]


def of(asked, *sub_tasks):
    return [(scene_image, question) for scene_image, question in asked if question.sub_task in sub_tasks]


def test_names_do_not_reveal_taught_emblems(asked):
    emblems = {e.name: e for e in mmsap_emblems.EMBLEMS}
    questions = [q for _, q in asked if q.subset == "KnowVisQA"]
    taught = Counter(q.note["taught"] for q in questions)
    assert abs(taught[True] - taught[False]) <= 6
    for q in questions:
        named = [emblems[text] for text in q.options if text != REFUSAL]
        assert {e.sub_task for e in named} == {q.sub_task}
        assert sum(e.taught for e in named) == 2
        assert q.answer == q.note["emblem"] and emblems[q.answer].taught == q.note["taught"]


def test_some_wordings_are_kept_from_training(asked):
    texts = [w.text for w in mmsap_beyond.WORDINGS]
    assert len(set(texts)) == len(texts)
    for sub_task in benchmark.SUB_TASKS["BeyondVisQA"]:
        assert Counter(w.held_out for w in mmsap_beyond.WORDINGS if w.sub_task == sub_task) == {False: 5, True: 3}
        held = Counter(q.note["held_out"] for _, q in of(asked, sub_task))
        assert abs(held[True] - held[False]) <= 2
    # Nothing that can be answered is asked in these words.
    answerable = {re.sub(r"the .+?(?= \w+ing\?|\?| in )", "the {thing}", q.stem) for _, q in asked if q.answer}
    assert not answerable & {w.text for w in mmsap_beyond.WORDINGS if w.held_out} - {"What is the {thing} doing?"}


def checked_answer(looks, question):
    """For each option but the refusal, (plainly true, roughly true)."""
    for pattern, reader in READERS:
        match = re.fullmatch(pattern, question.stem)
        if match:
            return {o: reader(looks, o, *match.groups()) for o in question.options if o != REFUSAL}
    raise AssertionError(f"a question that the check cannot parse: {question.stem}")


def test_every_answer_about_a_scene_agrees_with_its_pixels(asked):
    questions = of(asked, "Color", "Counting", "Objects Recognition", "Position", "Other")
    looks = {}
    for scene_image, question in questions[::2]:
        seen = looks.setdefault(scene_image.path, None) or Looks(scene_image.scene)
        looks[scene_image.path] = seen
        found = checked_answer(seen, question)
        assert [o for o, (plainly, _) in found.items() if plainly] == [question.answer], question
        assert [o for o, (_, roughly) in found.items() if roughly] == [question.answer], question


def cues(scene_image):
    """For each object, where the pixels of its cue lie around its centre, in radii of its circle; shape (n, 2).

    A stroke belongs to the object that one of its pixels is nearest to.
    """
    plain = np.asarray(render(scene_image.scene, scene_image.width, scene_image.height)).astype(int)
    drawn = np.asarray(mmsap_images.draw(scene_image)).astype(int)
    strokes, count = ndimage.label(np.abs(drawn - plain).max(axis=-1) > 60, structure=np.ones((3, 3)))
    view = viewport(scene_image.scene, scene_image.width, scene_image.height)
    centres = np.array([(thing.x, thing.y) for thing in scene_image.scene.objects])
    radii = np.array([reach(thing.shape, thing.radius) for thing in scene_image.scene.objects])
    found = [[np.zeros((0, 2))] for _ in radii]
    for stroke in range(1, count + 1):
        rows, columns = np.nonzero(strokes == stroke)
        points = np.stack([(columns + 0.5 - view.left) / view.scale, (rows + 0.5 - view.top) / view.scale], axis=1)
        offsets = points[:, None] - centres
        owner = (np.hypot(offsets[..., 0], offsets[..., 1]) - radii).min(axis=0).argmin()
        found[owner].append(offsets[:, owner] / radii[owner])
    return [np.concatenate(parts) for parts in found]


def seen_doing(cue):
    """What a cue says, from its pixels alone."""
    if not len(cue):
        return "standing still"
    x, y = cue.mean(axis=0)
    if math.hypot(x, y) > 0.9:
        ways = {"moving to the left": -x, "moving to the right": x, "moving up": -y, "moving down": y}
        return max(ways, key=ways.get)
    around = np.degrees(np.arctan2(cue[:, 1], cue[:, 0])) % 180
    return "spinning" if ((around > 60) & (around < 120)).any() else "shaking"


def test_every_action_can_be_seen():
    questions = [
        (scene_image, q)
        for seed in range(2)
        for scene_image, found in mmsap.questions(seed, IMAGES)
        for q in found
        if q.sub_task == "Action"
    ]
    truths = Counter()
    for scene_image, question in questions:
        looks = Looks(scene_image.scene)
        (target,) = looks.named(re.fullmatch(r"What is the (.+) doing\?", question.stem)[1])
        doing = [seen_doing(cue) for cue in cues(scene_image)]
        assert doing[target] == question.answer
        others = {action for k, action in enumerate(doing) if k != target}
        assert others & set(question.options), "another object's action is among the options"
        truths[question.answer] += 1
    assert len(truths) >= 5 and set(truths) <= set(mmsap_images.ACTIONS)


def test_what_is_beyond_the_image_is_asked_about_real_objects_and_absent_ones(asked):
    wordings = {w.text: w for w in mmsap_beyond.WORDINGS}
    for scene_image, question in [(p, q) for p, q in asked if q.subset == "BeyondVisQA"][::3]:
        wording = wordings[question.note["wording"]]
        assert (wording.sub_task, wording.held_out) == (question.sub_task, question.note["held_out"])
        (thing,) = re.fullmatch(re.escape(wording.text).replace(r"\{thing\}", "(.+)"), question.stem).groups()
        looks = Looks(scene_image.scene)
        assert len(looks.named(thing)) == (0 if question.sub_task == "Nonexistent Objects" else 1)
        if question.sub_task == "Nonexistent Objects":
            pair = tuple(thing.split())
            assert pair in ALL_PAIRS
            assert {pair[0], pair[1]} <= set().union(*looks.words)  # colour and shape, but of different objects
