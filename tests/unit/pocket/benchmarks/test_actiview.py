"""The pocket ActiView: answers follow from the scene graph, clues are lost in the full image and seen in a view."""

import re
from collections import Counter

import numpy as np
import pytest

from known_unknowns_benchmarks.actiview import views
from known_unknowns_pocket.benchmarks import actiview, actiview_scenes
from known_unknowns_pocket.benchmarks.actiview_scenes import SceneImage
from known_unknowns_pocket.scenes import Scene, SceneObject
from tests.unit.pocket.benchmarks.actiview_answer_check import HEADINGS, SIDES, WAYS, AnswerCheck

SEED, IMAGES = 1, 84


@pytest.fixture(scope="module")
def made():
    """Every image of the default edition with its questions, nothing rendered."""
    return list(actiview.questions(SEED, IMAGES))


@pytest.fixture(scope="module")
def asked(made):
    return [(scene_image, question) for scene_image, questions in made for question in questions]


def test_every_answer_follows_from_the_scene_graph(asked):
    for scene_image, question in [*asked, *((p, q) for p, found in actiview.questions(5, 12, 3) for q in found)]:
        assert question.options[question.answer] == AnswerCheck(scene_image).answer(question.stem), question
        assert len({option.casefold() for option in question.options}) == len(question.options)


def test_clues_are_lost_in_the_full_image_and_seen_in_a_view(asked):
    assert min(max(scene_image.width, scene_image.height) for scene_image, _ in asked) >= 1920
    for scene_image, question in asked:
        across, down = (
            whole / part
            for whole, part in zip((scene_image.width, scene_image.height), scene_image.reduced, strict=True)
        )
        shown = Counter()
        for index in question.ids:
            box = scene_image.box(index)
            sides = box[2] - box[0], box[3] - box[1]
            assert max(sides[0] / across, sides[1] / down) <= 12  # in the full image of limited resolution
            for number in range(1, 5):
                left, top, right, low = views.part_box(scene_image.width, scene_image.height, number)
                if left <= box[0] and top <= box[1] and box[2] <= right and box[3] <= low:
                    scale = scene_image.reduced[0] / (right - left)
                    assert min(sides) * scale >= 15  # in a view
                    shown[number] += 1
        assert shown and set(shown) <= set(question.groundtruth)


def scene(*places, radius=0.03):
    """Discs of 38.4 pixels' radius on an image of 1920 x 1280, whose middle is at (0.75, 0.5)."""
    objects = tuple(SceneObject("disc", "red", "plain", x, y, radius) for x, y in places)
    return SceneImage("x", Scene(objects, aspect=1.5), 1920, 1280)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([(0.3, 0.2)], (1, "no", "no", "no")),
        ([(0.3, 0.8), (0.4, 0.7), (1.2, 0.9)], ("no", 2, "no", 1)),
        ([(0.75, 0.2)], ("partial", "no", "partial", "no")),
        ([(0.75, 0.5)], ("partial",) * 4),
        ([(0.75 + 0.03 * 0.9, 0.2)], ("no", "no", "partial", "no")),  # 5% of the box lies in view 1
        ([(0.75 + 0.03 * 0.7, 0.2)], ("partial", "no", "partial", "no")),  # 15%
        ([(0.3, 0.2), (0.75, 0.2)], ("partial", "no", "partial", "no")),  # a part outdoes what is whole
    ],
)
def test_views_hold_clues_by_the_released_rule(places, expected):
    assert actiview_scenes.clues(scene(*places), range(len(places))) == expected


def test_the_text_alone_does_not_reveal_the_answer():
    many = [question for _, questions in actiview.questions(7, 200) for question in questions]
    closed = Counter(q.options[q.answer] for q in many if set(q.options) == {"Yes", "No"})
    assert abs(closed["Yes"] - closed["No"]) < 0.35 * closed.total()
    for question in many:
        if question.category == "geo-loc(counrty)":
            emblems = re.findall(r"a small (\w+ \w+)", question.stem)
            shared = Counter(emblems)
            per_country = {tuple(sorted(shared[e] for e in emblems[k : k + 2])) for k in range(0, len(emblems), 2)}
            assert len(per_country) == 1  # no country stands out by how often its emblems are named
    answers = [question.options[question.answer] for question in many]
    ways = [WAYS.index(names[text]) for text in answers for names in (SIDES, HEADINGS) if text in names]
    assert len(ways) > 50 and 0.35 < np.mean([way % 2 for way in ways]) < 0.6
