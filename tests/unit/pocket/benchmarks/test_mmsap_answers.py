"""The pocket MM-SAP's answers, checked by what its images show."""

import math
import re
from collections import Counter

import numpy as np
import pytest
from scipy import ndimage

from known_unknowns_pocket.benchmarks import mmsap, mmsap_beyond, mmsap_images
from known_unknowns_pocket.scenes import ALL_PAIRS, render
from known_unknowns_pocket.scenes.model import viewport
from known_unknowns_pocket.scenes.outlines import reach
from tests.unit.pocket.benchmarks.answer_check import READERS, Looks

SEED, IMAGES = 1, 330
REFUSAL = "Sorry, I can't help with it"


@pytest.fixture(scope="module")
def asked():
    """Every question of the default edition with its image, nothing rendered."""
    return [(scene_image, q) for scene_image, questions in mmsap.questions(SEED, IMAGES) for q in questions]


def of(asked, *sub_tasks):
    return [(scene_image, question) for scene_image, question in asked if question.sub_task in sub_tasks]


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


def test_every_sign_can_be_read(asked):
    questions = of(asked, "OCR")
    assert len(questions) >= 8
    for scene_image, question in questions:
        what, colour = re.fullmatch(r"What (word|number) is on the (\w+) sign\?", question.stem).groups()
        texts = {sign.colour: sign.text for sign in scene_image.signs}
        assert len(texts) == 2 and texts[colour] == question.answer
        assert set(texts.values()) < set(question.options)
        assert all(text.isdecimal() == (what == "number") for text in question.options if text != REFUSAL)
        pixels = np.asarray(mmsap_images.draw(scene_image)).astype(int)
        view = viewport(scene_image.scene, scene_image.width, scene_image.height)
        for sign in scene_image.signs:
            half = sign.width / 2, mmsap_images.SIGN_HEIGHT / 2
            x0, y0 = view.pixel((sign.x - half[0], sign.y - half[1]))
            x1, y1 = view.pixel((sign.x + half[0], sign.y + half[1]))
            frame = math.ceil(0.01 * view.scale) + 1
            inner = pixels[
                math.ceil(y0) + frame : math.floor(y1) - frame, math.ceil(x0) + frame : math.floor(x1) - frame
            ]
            ground, letters = mmsap_images.SIGN_COLOURS[sign.colour]
            is_letter = np.abs(inner - letters).max(axis=-1) < 30
            is_ground = np.abs(inner - ground).max(axis=-1) < 30
            # Letters on the sign's own ground, and nothing of them at its edge: they fit.
            assert 0.1 < is_letter.mean() < 0.5 < is_ground.mean()
            corner = math.ceil(0.02 * view.scale)
            edges = is_ground[corner:-corner, [0, -1]], is_ground[[0, -1], corner:-corner]
            assert edges[0].all() and edges[1].all()


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
