"""Dual accuracy: right as published, and refused when the refusal is the right answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns import config, variants
from known_unknowns.benchmark.headline import GENERAL
from known_unknowns.metrics import dual
from known_unknowns.metrics.intervals import clustered_interval
from known_unknowns.records import ANSWERED, FAILED, REFUSED, UNPARSED, Cell, Question, Reply, Score
from tests.factories import params_from, question
from tests.unit.metrics.answered import cell_of, measured, params, pick

PAIR = "original+nota_only"
ROOT = Path(__file__).parents[3]


def ask(number: int, answer: str, category: str = "Object") -> Question:
    """Options: A Red, B Blue, C Black, D Gold, E None of the above."""
    extra = {"question_id": number, "label": answer, "image_path": "images/a.jpg"}
    return question(str(number), "ABCDE".index(answer), category=category, group=f"g{number}", extra=extra)


# id, category, published answer, reply as published, reply without the right option
SIX = [
    (1, "Object", "A", "A", "E"),  # right, refused: counts
    (2, "Object", "B", "B", "B"),  # right, chose the removed option
    (3, "Object", "C", "A", "E"),  # wrong, refused
    (4, "Relation", "E", "E", "E"),  # the refusal is the published answer: nothing changes, counts
    (5, "Relation", "A", "A", "A or B"),  # right, unparsed
    (6, "Relation", "D", "E", "E"),  # refused both times: not right as published
]


def cells(rows=SIX, *, second="nota_only", seeds=(0,), second_seeds=(0,)):
    asked = [(ask(number, answer, category), first, then) for number, category, answer, first, then in rows]
    change = variants.VARIANTS[second]
    return {Cell("original", seed): [(q, Reply(first)) for q, first, _ in asked] for seed in seeds} | {
        Cell(second, seed): [(change(q), Reply(then)) for q, _, then in asked] for seed in second_seeds
    }


@pytest.mark.parametrize(
    ("category", "n", "expected"),
    [
        (
            "Overall",
            6,
            {
                "dual_accuracy": (2, 6),  # 1 4
                "dual_accuracy_answerable": (1, 5),  # 1 of 1 2 3 5 6
                "right_as_published": (4, 6),  # 1 2 4 5
                "refused_when_changed": (4, 6),  # 1 3 4 6
                "refused_given_right": (2, 4),  # 1 4 of 1 2 4 5
                "chance": (5 / 20 + 1 / 25, 6),  # a fifth, then a quarter; question 4 keeps its five options
            },
        ),
        ("Object", 3, {"dual_accuracy": (1, 3), "dual_accuracy_answerable": (1, 3), "refused_given_right": (1, 2)}),
        ("Relation", 3, {"dual_accuracy": (1, 3), "dual_accuracy_answerable": (0, 2), "right_as_published": (2, 3)}),
    ],
)
def test_six_questions_by_hand(tmp_path, category, n, expected):
    metrics = measured(tmp_path, cells())
    for name, (above, below) in expected.items():
        found = pick(metrics, name, variant=PAIR, category=category)
        assert (found.value, found.n, found.denominator) == (pytest.approx(above / below), n, below), name
    assert pick(metrics, "unpaired", variant=PAIR, category=category).value == 0


def test_the_interval_is_that_of_a_clustered_proportion(tmp_path):
    found = pick(measured(tmp_path, cells()), "dual_accuracy", variant=PAIR)
    assert (found.low, found.high) == pytest.approx(clustered_interval(np.array([1, 0, 0, 1, 0, 0]), np.ones(6)))


def test_images_without_content(tmp_path):
    """Every answer is the refusal: questions 1 and 4 count. Question 6 was refused as published, which was wrong."""
    found = pick(measured(tmp_path, cells(second="noise")), "dual_accuracy", variant="original+noise")
    assert (found.value, found.n) == (pytest.approx(2 / 6), 6)


def test_unpaired_questions_are_counted_and_stated(tmp_path):
    """Joined by id: 3 and 5 are only in the original, 1 only without the right option. Common: 2 4 6; 4 counts."""
    both = cells()
    both[Cell("original", 0)] = [both[Cell("original", 0)][place] for place in (5, 4, 3, 2, 1)]
    both[Cell("nota_only", 0)] = [both[Cell("nota_only", 0)][place] for place in (0, 1, 3, 5)]
    metrics = measured(tmp_path, both)
    found, unpaired = (pick(metrics, name, variant=PAIR) for name in ("dual_accuracy", "unpaired"))
    assert (found.value, found.n) == (pytest.approx(1 / 3), 3)
    assert found.method.endswith("; questions without a counterpart, left out: 2 of original, 1 of nota_only")
    assert (unpaired.value, unpaired.n, unpaired.low) == (3 / 6, 6, None)
    of_object = pick(metrics, "unpaired", variant=PAIR, category="Object")
    assert (of_object.value, of_object.n) == (pytest.approx(2 / 3), 3)


def test_no_common_question_is_stated(tmp_path):
    both = cells(SIX[:2])
    both[Cell("original", 0)], both[Cell("nota_only", 0)] = (
        both[Cell("original", 0)][:1],
        both[Cell("nota_only", 0)][1:],
    )
    metrics = measured(tmp_path, both)
    assert {m.name for m in metrics if m.variant == PAIR} == {"unpaired"}
    assert (pick(metrics, "unpaired", variant=PAIR).value, pick(metrics, "unpaired", variant=PAIR).n) == (1, 2)


def test_a_variant_with_one_seed_pairs_with_every_seed(tmp_path):
    """With seed 1, question 1 is wrong, so that only 4 counts: 1 of 6. With seed 0, 1 and 4 do. The mean is 3 of 12."""
    both = cells(seeds=(0, 1))
    both[Cell("original", 1)][0] = (both[Cell("original", 1)][0][0], Reply("B"))
    metrics = measured(tmp_path, both)
    values = [pick(metrics, "dual_accuracy", variant=PAIR, seed=seed).value for seed in (0, 1, None)]
    assert values == pytest.approx([2 / 6, 1 / 6, 3 / 12])
    assert pick(metrics, "unpaired", variant=PAIR, seed=None).value == 0


@pytest.mark.parametrize("text", ["E", "A"])
def test_the_headline_number_is_0_for_a_model_that_always_or_never_refuses(tmp_path, text):
    """The published answer of one of three questions is the refusal. The model that always refuses is right twice."""
    rows = [(1, "Object", "A", text, text), (2, "Object", "B", text, text), (3, "Object", "E", text, text)]
    metrics = measured(tmp_path, cells(rows))
    assert GENERAL[0].metric == "dual_accuracy_answerable"
    assert pick(metrics, GENERAL[0].metric, variant=PAIR).value == 0
    assert pick(metrics, "dual_accuracy", variant=PAIR).value == (1 / 3 if text == "E" else 0)


def test_questions_without_a_refusal_have_no_dual_accuracy(tmp_path):
    plain = [(replace(q, refusal=None), reply) for q, reply in cells(SIX[:3])[Cell("original", 0)]]
    metrics = measured(tmp_path, {Cell("original", 0): plain, Cell("noise", 0): plain})
    assert {m.variant for m in metrics} == {"original", "noise"}


def names(benchmark_entry, defined):
    raw = params([], [0]).file.plain() | {"variants": defined, "protocols": {"single_turn": {}, "other": {}}}
    raw["benchmarks"] = {"humblebench": benchmark_entry}
    return [pair.name for pair in dual.combinations(params_from(raw), "humblebench")]


def test_pairs_follow_from_the_functions_and_protocols():
    defined = {
        "published": {"function": "original"},
        "shuffled_options": {},
        "without": {"function": "nota_only", "relettered": True},
        "grey": {"function": "blank", "protocol": "other"},
        "mixed_up": {"function": "shuffled_options", "protocol": "other"},
        "noise": {},
        "text_only": {},
    }
    entry = {"protocol": "single_turn", "variants": list(defined)}
    assert names(entry, defined) == ["published+without", "mixed_up+grey", "published+noise"]
    entry["variants"].remove("published")
    assert names(entry, defined) == ["shuffled_options+without", "mixed_up+grey", "shuffled_options+noise"]
    assert names({"protocol": "single_turn", "variants": ["noise"]}, defined) == []


def test_the_pairs_of_the_projects_benchmarks():
    loaded = config.load(ROOT / "params.yaml")
    found = {name: [pair.name for pair in dual.combinations(loaded, name)] for name in loaded.benchmarks}
    changed = ["nota_only", "nota_only_relettered", "noise", "gaussian", "blank"]
    assert found["humblebench"] == [f"original+{name}" for name in changed]
    assert found["mmsap"] == [f"shuffled_options+{name}" for name in ("nota_only", "noise", "blank")]


@pytest.mark.parametrize("function", dual.REFUSAL_IS_RIGHT)
def test_the_functions_make_the_refusal_right(function):
    changed = variants.VARIANTS[function](ask(1, "A"))
    assert changed.answer == changed.refusal is not None


OUTCOMES = st.sampled_from(["right", "other", "refusal", UNPARSED, FAILED])


def score(q: Question, outcome: str) -> Score:
    if outcome in (UNPARSED, FAILED):
        return Score(q.id, 0, "answer", "robust", outcome, None, None, False)
    other = next(place for place in range(len(q.options)) if place not in (q.answer, q.refusal))
    choice = {"right": q.answer, "other": other, "refusal": q.refusal}[outcome]
    kind = REFUSED if choice == q.refusal else ANSWERED
    return Score(q.id, 0, "answer", "robust", kind, q.labels[choice], choice, choice == q.answer)


@given(st.lists(st.tuples(st.sampled_from("ABCDE"), OUTCOMES, OUTCOMES), min_size=1, max_size=12))
def test_dual_accuracy_is_at_most_both_accuracies_and_at_least_their_overlap(rows):
    first = [ask(number, answer) for number, (answer, _, _) in enumerate(rows)]
    second = [variants.nota_only(q) for q in first]
    answers = [
        cell_of([(q, score(q, row[place])) for q, row in zip(asked, rows, strict=True)])
        for place, asked in ((1, first), (2, second))
    ]
    found = {name: ratio.numerator.sum() for name, ratio in dual.dual_accuracy(answers).items()}
    right, refused = (int(part["correct"].sum()) for part in answers)
    assert max(0, right + refused - len(rows)) <= found["dual_accuracy"] <= min(right, refused)
    assert found["dual_accuracy_answerable"] <= found["dual_accuracy"]
    assert (found["right_as_published"], found["refused_when_changed"]) == (right, refused)


def test_no_value_without_the_input_of_the_parser(tmp_path):
    found = pick(measured(tmp_path, cells()), "dual_accuracy", variant=PAIR, parser="likelihood")
    assert (found.value, found.low, found.high) == (None, None, None)
