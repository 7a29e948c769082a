"""Filters: nothing is found in exact questions, and each fault that is put into them is found and explained."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from known_unknowns.errors import ConfigError
from known_unknowns_construction import filters
from known_unknowns_construction.candidates import Candidate, CandidateImage, Flag
from known_unknowns_construction.filters import Context, ModelAnswer
from known_unknowns_construction.filters.texts import jaccard, shingles
from known_unknowns_construction.generation import candidates_of, without_model
from known_unknowns_construction.scene_graph import Node, Relation, SceneGraph
from known_unknowns_pocket.benchmarks import humblebench as pocket

NONE = "None of the above"
IMAGE = CandidateImage("images/1.png", "0" * 64, 40, 30)
BOX = (0.0, 0.0, 10.0, 10.0)
GRAPH = SceneGraph(
    "1",
    IMAGE,
    (
        Node("0", "cat", BOX, attributes={"colour": "red"}),
        Node("1", "cat", BOX, attributes={"colour": "black"}),
        Node("2", "cup", BOX, attributes={"colour": "grey"}),
        Node("3", "sky-other-merged", BOX, thing=False),
        Node("4", "wine glass", BOX),
    ),
    (Relation("0", "in front of", "2"),),
)
OTHER = SceneGraph("2", IMAGE, (Node("0", "dog", BOX), Node("1", "person", BOX, crowd=True), Node("2", "glass", BOX)))
CONTEXT = Context({"1": GRAPH, "2": OTHER}, options=5, refusal=NONE, kinds=frozenset({"object", "relation"}))
CHOICES = ("Red", "Blue", "Green", "Pink", NONE)
NUMBERS, PLACES = ("1", "2", "3", "4", NONE), ("behind", "on", "above", "in front of it", NONE)


def candidate(question="Which?", options=CHOICES, answer="A", *, number=1, kind="object", group="1") -> Candidate:
    return Candidate(f"c{number}", IMAGE, question, options, answer, kind, group)


def reasons(name, *candidates, context=CONTEXT) -> dict[str, str]:
    found = filters.apply(candidates, context, only=[name])
    return {each.id: flag.reason for each in [*found.kept, *found.dropped] for flag in each.flags}


@pytest.fixture(scope="module")
def exact():
    """60 questions of the pocket edition, which are exact on their graphs."""
    graphs = pocket.scene_graphs(1, 12)
    made = without_model(pocket.TEMPLATES, graphs, questions=5, seed=1)
    return list(candidates_of("scenes", made, graphs, {})), {graph.id: graph for graph in graphs}


def context_of(graphs) -> Context:
    return Context(graphs, options=5, refusal=NONE, kinds=frozenset({"object", "relation", "attribute"}))


def test_nothing_is_found_in_exact_questions(exact):
    candidates, graphs = exact
    found = filters.apply(candidates, context_of(graphs))
    assert [count for count in found.counts if count.found] == []
    assert len(found.kept) == 60 and not found.dropped
    assert found.left_out == {"solvable": "needs models", "models_disagree": "needs models"}


def test_wrong_answers_are_found_in_exact_questions(exact):
    """The answer moves to the next option. Counts, existence, and attributes are decided; relations of E are too."""
    candidates, graphs = exact
    wrong = [replace(each, answer="ABCDE"[(each.answer_index + 1) % 5]) for each in candidates]
    found = filters.apply(wrong, context_of(graphs), only=["contradiction"])
    by_template = Counter(each.source["template"] for each in found.dropped)
    every = Counter(each.source["template"] for each in candidates)
    assert every["count"] == by_template["count"] and every["existence"] == by_template["existence"]
    values = ("colour", "shape", "texture")  # some false textures occur in no scene, so that nothing is known of them
    assert sum(by_template[name] for name in values) >= 0.7 * sum(every[name] for name in values)
    refused = [each for each in wrong if each.kind == "relation" and each.answer == "E"]
    proven = [each for each in found.dropped if each.kind == "relation" and each.answer == "E"]
    assert len(proven) >= len(refused) / 2


@pytest.mark.parametrize(
    ("question", "options", "answer", "reason"),
    [
        ("How many cats are there in the image?", NUMBERS, "A", "option A is false"),
        ("How many cats are there?", NUMBERS, "E", "proves option B"),
        ("How many dogs are there in the image?", ("0", "1", "2", "3", NONE), "B", "option B is false"),
        ("How many glasses are there?", NUMBERS, "B", None),  # a wine glass is a glass
        ("How many cats are sitting on the cup?", NUMBERS, "A", None),  # one of the two may sit
        ("Which object is not in the image?", ("A dog", "A cup", "A person", "x", NONE), "A", None),
        ("What color is the cup?", ("Red", "Gray", "Black", "Pink", NONE), "A", "option A is false"),
        ("Where is the red cat in relation to the cup?", PLACES, "D", None),
        ("Where is the red cat in relation to the cup?", PLACES, "E", "proves option D"),
        ("Where is the cup in relation to the red cat?", PLACES, "D", "reversed: annotated is <cat, in front of, cup>"),
    ],
)
def test_contradictions_with_the_graph(question, options, answer, reason):
    found = reasons("contradiction", candidate(question, options, answer)).get("c1")
    assert (found is None) if reason is None else (found is not None and reason in found)


@pytest.mark.parametrize(
    ("question", "group", "reason"),
    [
        ("How many skies are there?", "1", "counts sky, which the annotation does not count"),
        ("How many people are in the image?", "2", "counts a crowd of person, which the annotation does not count"),
        ("How many people are wearing a hat?", "2", None),
    ],
)
def test_counts_of_stuff_and_crowds(question, group, reason):
    assert reasons("uncountable", candidate(question, group=group)).get("c1") == reason


def test_a_second_true_option_is_found():
    options = ("A cup", "A dog", "The wine glass", "x", NONE)
    found = reasons("two_correct", candidate("Which of these objects is in the image?", options, "A"))
    assert found == {"c1": "option C is true as well, by the annotation"}
    restricted = candidate("Which red object is in the image?", ("A cat", "A cup", "x", "y", NONE), "A")
    assert reasons("two_correct", restricted) == {}  # the cup is in the image, but not red


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"options": CHOICES[1:]}, "4 options instead of 5"),
        ({"options": (*CHOICES[:4], "None")}, "the last option is 'None'"),
        ({"kind": "weather"}, "the kind 'weather' is not one of object, relation"),
        ({"question": "Which\nX"}, "a line break"),
    ],
)
def test_broken_schemas(changed, reason):
    assert reason in reasons("broken_schema", replace(candidate(), **changed))["c1"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("What is cat_0 doing?", "an object's index: 'cat_0'"),
        ("Where is the sky-other-merged?", "the name of an annotated class"),
        ("Based on the captions, what is red?", "the captions"),
        ("What is on the plate?", None),
    ],
)
def test_leaks(text, reason):
    found = reasons("leak", candidate(text)).get("c1")
    assert (found is None) if reason is None else reason in found
    if reason:
        assert "c1" in reasons("leak", candidate(options=(text, *CHOICES[1:])))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("Red", "red", "Blue", "Pink", NONE), "the options A and B are the same"),
        (("A couch", "A dog", "The sofa", "Pink", NONE), "the options A and C are synonyms"),
        (("left of it", "right of it", "above it", "below it", NONE), None),
    ],
)
def test_repeated_options(options, reason):
    assert reasons("repeated_option", candidate(options=options)).get("c1") == reason


def test_duplicates_are_found_within_an_image():
    first = candidate("What is the colour of the cat?")
    again = candidate("what is the colour of a cat", number=2)
    elsewhere = candidate("What is the colour of the cat?", number=3, group="2")
    other_answer = candidate("What is the colour of the cat?", answer="B", number=4)
    found = reasons("duplicate", first, again, elsewhere, other_answer)
    assert found == {"c2": "the same question and answer as c1"}


def test_near_duplicates_are_found_within_an_image():
    question = "Which of these objects stands closest to the large window on the left side of the room?"
    near = question.replace("stands", "is")
    found = reasons(
        "near_duplicate",
        candidate(question),
        candidate(near, number=2),
        candidate(near, number=3, group="2"),
        candidate("How many cups are on the table?", number=4),
    )
    similarity = min(map(jaccard, shingles(candidate(question)), shingles(candidate(near))))
    assert similarity > 0.8 and found == {"c2": f"resembles c1 (Jaccard similarity {similarity:.2f})"}


@pytest.mark.parametrize(
    ("question", "other", "options"),
    [
        ("What color is the man's shirt?", "What color is the man's hat?", CHOICES),
        (
            "Where is the dog in relation to the car?",
            "Where is the cat in relation to the car?",
            ("to the left of the car", "to the right of the car", "in front of the car", "behind the car", NONE),
        ),
    ],
)
def test_questions_about_other_objects_are_no_near_duplicates(question, other, options):
    assert reasons("near_duplicate", candidate(question, options), candidate(other, options, number=2)) == {}


def answering(options, *, models=("m1", "m2"), attempts=3):
    """Models that give the same options in turn; the candidates and whether they saw the image are recorded."""
    seen = []

    def ask(candidates, with_image):
        seen.append(([each.id for each in candidates], with_image))
        pairs = [(model, attempt) for model in models for attempt in range(1 if with_image else attempts)]
        given = [ModelAnswer(m, a, options[k % len(options)]) for k, (m, a) in enumerate(pairs)]
        return {each.id: given for each in candidates}

    return ask, seen


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([0], True),
        ([0, 0, 0, 0, 0, 1], True),  # P(X >= 5 | 6, 1/5) = 6 * 0.2**5 * 0.8 + 0.2**6 = 0.0016
        ([0, 0, 0, 0, 1, 1], False),  # P(X >= 4 | 6, 1/5) = 0.0170
        ([None], False),
    ],
)
def test_solvable_without_the_image(options, found):
    ask, seen = answering(options)
    result = reasons("solvable", candidate(), context=replace(CONTEXT, ask=ask))
    right = (options * 6)[:6].count(0)
    expected = f"{right} of 6 answers of 2 models are right without the image"
    assert result == ({"c1": expected} if found else {}) and seen == [(["c1"], False)]


def test_too_few_answers_cannot_show_that_a_question_is_solvable():
    ask, _ = answering([0], models=("m1",), attempts=2)  # guessing gives two right answers with 4%
    with pytest.raises(ConfigError, match="2 answers to a question cannot tell knowledge from guessing"):
        reasons("solvable", candidate(), context=replace(CONTEXT, ask=ask))


@pytest.mark.parametrize(
    ("options", "reason"),
    [([1], "all models answer B: m1, m2"), ([0], None), ([1, 2], None), ([None], None)],
)
def test_models_that_agree_on_another_answer(options, reason):
    ask, _ = answering(options)
    context = replace(CONTEXT, ask=ask)
    assert reasons("models_disagree", candidate(), context=context).get("c1") == reason
    kept = filters.apply([candidate()], context, only=["models_disagree"])
    assert len(kept.kept) == 1


def test_balance_flags_what_is_too_frequent():
    """Of 20 questions with 5 options, at most 1.5 * 20 / 5 = 6 may have the same answer: 8 have A, 12 have B."""
    many = [candidate(answer="A" if k < 8 else "B", number=k) for k in range(20)]
    found = reasons("balance", *many)
    assert Counter(reason.split()[0] for reason in found.values()) == {"A": 2, "B": 6}
    assert "B is the answer to 12 of 20 questions of the kind object; at most 6" in " ".join(found.values())
    assert found == reasons("balance", *many)


def test_balance_flags_a_kind_that_is_too_frequent():
    """Of 20 questions of 2 kinds, at most 1.5 * 20 / 2 = 15 may be of the same kind; labels are balanced."""
    many = [candidate(answer="ABCDE"[k % 5], number=k, kind="object" if k < 17 else "relation") for k in range(20)]
    assert list(reasons("balance", *many).values()) == [
        *["17 of 20 questions are of the kind object; at most 15 are balanced"] * 2
    ]
    assert reasons("balance", *many[:17]) == {}


def test_filters_are_optional_and_counted():
    both = candidate("What is cat_0?", options=("red", "Red", *CHOICES[2:]))
    usual = filters.apply([both, candidate(number=2)], CONTEXT)
    assert [(c.filter, c.seen, c.found, c.action) for c in usual.counts if c.found] == [
        ("repeated_option", 2, 1, "dropped")
    ]
    flagged = filters.apply([both], CONTEXT, flag=["repeated_option"])
    assert [flag.filter for flag in flagged.dropped[0].flags] == ["repeated_option", "leak"]
    neither = filters.apply([both], CONTEXT, without=["repeated_option", "leak"])
    assert neither.kept == [both]
    again = filters.apply([*usual.dropped], CONTEXT, without=["repeated_option", "leak"])
    assert again.kept == [both]  # flags of an earlier run are replaced
    rated = replace(both, flags=(Flag("rating", "C"),))
    assert filters.apply([rated], CONTEXT, only=["balance"]).kept == [rated]
    with pytest.raises(ConfigError, match="'leaks' is not known; did you mean 'leak'"):
        filters.apply([both], CONTEXT, only=["leaks"])
