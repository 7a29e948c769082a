"""Templates for any panoptic annotation: every answer follows from the segments, by an independent count."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from known_unknowns_construction import filters
from known_unknowns_construction.benchmarks import construction_of
from known_unknowns_construction.candidates import CandidateImage
from known_unknowns_construction.class_templates import EXISTENCE
from known_unknowns_construction.generation import candidates_of, without_model
from known_unknowns_construction.scene_graph import Node, SceneGraph

NAMES = [
    "cat",
    "dog",
    "cup",
    "person",
    "bench",
    "bus",
    "wine glass",
    "skis",
    "sky-other-merged",
    "grass-merged",
    "tree",
]
PLURALS = {"cats": "cat", "dogs": "dog", "cups": "cup", "people": "person", "benches": "bench", "buses": "bus"}
PLURALS |= {"wine glasses": "wine glass", "trees": "tree"}


@pytest.fixture(scope="module")
def made():
    rng = random.Random(1)
    graphs = []
    for number in range(40):
        names = [name for name in rng.sample(NAMES, 6) for _ in range(rng.choice((1, 1, 2, 3)))]
        nodes = tuple(
            Node(str(k), name, (0, 0, 9, 9), thing="merged" not in name, crowd=name == "tree" and k % 2 == 0)
            for k, name in enumerate(names)
        )
        graphs.append(SceneGraph(str(number), CandidateImage("images/1.png", "0" * 64, 40, 30), nodes))
    generator = construction_of("humblebench").generators["classes"]
    results = without_model(generator, graphs, questions=None, seed=3)
    return list(candidates_of("classes", results, graphs, {})), {graph.id: graph for graph in graphs}


def test_every_answer_follows_from_the_segments(made):
    candidates, graphs = made
    assert 150 < len(candidates) <= 160  # some images have fewer than three classes that can be counted
    for candidate in candidates:
        counts = Counter(
            node.name.removesuffix("-merged").removesuffix("-other") for node in graphs[candidate.group].objects
        )
        if candidate.question == EXISTENCE:
            true = {option for option in candidate.options[:4] if option in counts}
        else:
            name = PLURALS[candidate.question.removeprefix("How many ").removesuffix(" are there in the image?")]
            assert not any(node.crowd for node in graphs[candidate.group].objects if node.name == name)
            true = {option for option in candidate.options[:4] if option == str(counts[name])}
        expected = set() if candidate.answer == "E" else {candidate.options[candidate.answer_index]}
        assert true == expected


def test_answers_are_balanced_and_filters_find_nothing(made):
    candidates, graphs = made
    answers = Counter(candidate.answer for candidate in candidates)
    assert set(answers) == set("ABCDE") and max(answers.values()) - min(answers.values()) <= 1
    context = filters.Context(graphs, options=5, refusal="None of the above", kinds=frozenset({"object"}))
    assert [count for count in filters.apply(candidates, context).counts if count.found] == []
