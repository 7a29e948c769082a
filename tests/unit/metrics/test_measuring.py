from __future__ import annotations

import math
import random
import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from known_unknowns import tables, variants
from known_unknowns.benchmark.answer_columns import answer_schema
from known_unknowns.errors import DataError
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.metrics.intervals import EQUAL_SEEDS_NOTE
from known_unknowns.records import Cell, Question, Reply
from tests.factories import question
from tests.unit.metrics.answered import measured, measured_again, pick, write


def ask(number: int, category: str, answer: str, *, group: str | None = None) -> Question:
    """Options: A Red, B Blue, C Black, D Gold, E None of the above."""
    extra = {"question_id": number, "label": answer, "image_path": "images/a.jpg"}
    place = "ABCDE".index(answer)
    return question(str(number), place, category=category, group=group or f"g{number}", extra=extra)


# A dozen questions with every outcome.
#
#  n  category   answer  reply                robust            official (words a to e)
TWELVE = [
    (ask(1, "Object", "A"), Reply("A")),  # A right                A right
    (ask(2, "Object", "B"), Reply("B. Blue")),  # B right          B right
    (ask(3, "Object", "C"), Reply("A")),  # A wrong                A wrong
    (ask(4, "Object", "E"), Reply("E")),  # refused, right         refused, right, exact
    (ask(5, "Object", "E"), Reply("None of the above")),  # refused, right   unparsed
    (ask(6, "Relation", "D"), Reply("E")),  # refused, wrong       refused, wrong
    (ask(7, "Relation", "E"), Reply("C")),  # C wrong              C wrong
    (ask(8, "Relation", "A"), Reply("A or B")),  # unparsed        unparsed
    (ask(9, "Relation", "B"), Reply("a blue chandelier")),  # B right     A wrong ("a")
    (ask(10, "Attribute", "D"), Reply("", error="out of memory")),  # failed   failed
    (ask(11, "Attribute", "E"), Reply("E.")),  # refused, right    refused, right, not exact
    (ask(12, "Attribute", "C"), Reply("It is heavy.")),  # unparsed   unparsed
]
ORIGINAL = Cell("original", 0)
CONSTANT = ("constant_answer", "robust", "Overall")
KNOWN = ("chance", "constant_answer", "label_follows_text")
"""What is known from the questions alone."""

# name: (numerator, denominator), by hand from the table above
ROBUST = {
    "accuracy": (6, 12),  # 1 2 4 5 9 11
    "share_A": (2, 12),  # 1 3
    "share_B": (2, 12),  # 2 9
    "share_C": (1, 12),  # 7
    "share_D": (0, 12),
    "share_E": (4, 12),  # 4 5 6 11
    "share_no_letter": (2, 12),  # 8 12
    "share_abstained": (0, 12),
    "share_unparsed": (2, 12),
    "share_cut": (0, 12),
    "recognised": (3, 4),  # 4 5 11 of 4 5 7 11
    "recognised_refused": (3, 4),
    "recognised_abstained": (0, 4),
    "share_failed": (1, 12),  # 10
    "refusal_recall": (3, 4),  # 4 5 11 of 4 5 7 11
    "refusal_precision": (3, 4),  # 4 5 11 of 4 5 6 11
    "accuracy_answered": (3, 5),  # 1 2 9 of 1 2 3 7 9
    "accuracy_high_bound": (9, 12),  # and 8 10 12
    "chance": (2.4, 12),  # one in five
    "above_chance": (3.6, 12),
    "constant_answer": (4, 12),  # E: 4 5 7 11
}
OFFICIAL = {
    "accuracy": (4, 12),  # 1 2 4 11
    "share_A": (3, 12),  # 1 3 9
    "share_B": (1, 12),  # 2
    "share_C": (1, 12),  # 7
    "share_D": (0, 12),
    "share_E": (3, 12),  # 4 6 11
    "share_no_letter": (3, 12),  # 5 8 12
    "share_unparsed": (3, 12),
    "share_cut": (0, 12),
    "recognised": (2, 4),  # 4 11 of 4 5 7 11
    "recognised_refused": (2, 4),
    "share_failed": (1, 12),
    "refusal_recall": (2, 4),  # 4 11 of 4 5 7 11
    "refusal_precision": (2, 3),  # 4 11 of 4 6 11
    "accuracy_answered": (2, 5),  # 1 2 of 1 2 3 7 9
    "accuracy_high_bound": (8, 12),  # and 5 8 10 12
    "chance": (2.4, 12),
    "above_chance": (1.6, 12),
    "constant_answer": (4, 12),
    "exact_refusal_recall": (1, 4),  # 4 of 4 5 7 11
    "accuracy_published_labels": (4, 12),
}
ROBUST_OBJECT = {
    "accuracy": (4, 5),  # 1 2 4 5
    "share_A": (2, 5),
    "share_E": (2, 5),
    "refusal_recall": (2, 2),
    "refusal_precision": (2, 2),
    "accuracy_answered": (2, 3),  # 1 2 of 1 2 3
    "accuracy_high_bound": (4, 5),
    "constant_answer": (2, 5),  # E: 4 5
}


@pytest.mark.parametrize(
    ("parser", "category", "expected"),
    [
        ("robust", "Overall", ROBUST),
        ("official", "Overall", OFFICIAL),
        ("robust", "Object", ROBUST_OBJECT),
    ],
)
def test_a_dozen_questions_by_hand(tmp_path, parser, category, expected):
    metrics = measured(tmp_path, {ORIGINAL: TWELVE})
    questions = {"Overall": 12, "Object": 5}[category]
    for name, (numerator, denominator) in expected.items():
        metric = pick(metrics, name, parser=parser, category=category)
        assert metric.value == pytest.approx(numerator / denominator), name
        assert (metric.n, metric.denominator) == (questions, denominator), name
    if category == "Overall" and len(expected) > 10:  # no metric but those worked out
        measured_here = [m for m in metrics if m.parser == parser and m.category == category]
        names = {m.name for m in measured_here if m.reason != "the parser finds no abstention"}
        assert {name for name in names if "." not in name} == set(expected)  # test_confidence.py has the others


def test_undefined_is_none_and_never_zero(tmp_path):
    metrics = measured(tmp_path, {ORIGINAL: TWELVE})
    for name, category, n in [("refusal_precision", "Overall", 12), ("accuracy_answered", "Object", 5)]:
        metric = pick(metrics, name, parser="likelihood", category=category)
        assert (metric.value, metric.low, metric.high) == (None, None, None)
        assert (metric.n, metric.denominator) == (n, 0)
        assert metric.method.startswith("undefined")


def test_single_proportions_have_wilsons_interval(tmp_path):
    metrics = measured(tmp_path, {ORIGINAL: TWELVE}, confidence=0.9)
    expected = stats.binomtest(6, 12).proportion_ci(0.9, method="wilson")
    accuracy, above = pick(metrics, "accuracy"), pick(metrics, "above_chance")
    assert (accuracy.low, accuracy.high) == pytest.approx((expected.low, expected.high))
    assert accuracy.method == "modified Wilson"
    assert (above.low, above.high) == pytest.approx((expected.low - 0.2, expected.high - 0.2))
    assert above.method == "modified Wilson, less chance"
    assert pick(metrics, "chance").low is None


def shared_images(labels: str, *, per_image: int = 4, images: int = 30) -> list[tuple[Question, Reply]]:
    """Questions whose answer is A, several an image; ``labels`` are the replies, over and over."""
    return [
        (
            ask(n, ["Object", "Relation"][n % 2], "A", group=f"g{n // per_image}"),
            Reply(labels[n % len(labels)]),
        )
        for n in range(per_image * images)
    ]


def test_questions_on_one_image_are_not_independent(tmp_path):
    """30 images are all right or all wrong, half of each. Wilson's interval of 30 questions is the reference.

    It is [33.2, 66.8]; that of 120 independent questions would be [41.2, 58.8].
    """
    accuracy = pick(measured(tmp_path, {ORIGINAL: shared_images("AAAABBBB")}), "accuracy")
    assert accuracy.method == "modified Wilson with the effective sample size of the groups"
    assert accuracy.n == 120
    low, high = stats.binomtest(15, 30).proportion_ci(method="wilson")
    assert (accuracy.low, accuracy.high) == pytest.approx((low, high), abs=0.02)


def test_all_right_is_no_certainty(tmp_path):
    """By hand: D = 1 + 0.2 (4 - 1) = 1.6 with 8 degrees of freedom, t = 2.306004, z = 1.959964.

    n = 120 / 1.6 (z / t)^2 = 54.1813 and the lower bound is n / (n + z^2).
    """
    accuracy = pick(measured(tmp_path, {ORIGINAL: shared_images("A")}), "accuracy")
    assert (accuracy.value, accuracy.high) == (1, 1)
    assert accuracy.low == pytest.approx(54.1813 / (54.1813 + 3.841459), abs=1e-5)


def test_a_letter_that_is_not_on_offer_counts_as_read_and_as_unparsed(tmp_path):
    """The right option A is removed from all 12; 3 replies name it nevertheless, 3 say nothing, 6 refuse."""
    pairs = [(variants.nota_only(ask(n, "Object", "A")), Reply(["A", "", "E", "E"][n % 4])) for n in range(12)]
    metrics = measured(tmp_path, {Cell("nota_only", 0): pairs, ORIGINAL: TWELVE})
    shares = ("share_A", "share_E", "share_no_letter", "share_unparsed", "refusal_recall", "accuracy", "chance")
    values = [pick(metrics, name, variant="nota_only").value for name in shares]
    assert values == pytest.approx([3 / 12, 6 / 12, 3 / 12, 6 / 12, 6 / 12, 6 / 12, 1 / 4])
    assert pick(metrics, "names_removed_letter", variant="nota_only").value == 3 / 12
    assert not [m for m in metrics if m.name == "names_removed_letter" and m.variant == "original"]
    exact = pick(metrics, "exact_refusal_recall", variant="nota_only", parser="official")
    assert (exact.value, exact.n, exact.denominator) == (0.5, 12, 12)
    assert not [m for m in metrics if m.variant == "nota_only" and m.name == "accuracy_published_labels"]


def test_what_a_wrong_reply_names_without_the_right_option(tmp_path):
    """Of 12 replies, 2 name the removed A, 4 a remaining wrong option (the rest), 2 nothing, 4 refuse."""
    replies = ["A", "B", "C", "", "E", "E"]
    pairs = [(variants.nota_only(ask(n, "Object", "A")), Reply(replies[n % 6])) for n in range(12)]
    metrics = measured(tmp_path, {Cell("nota_only", 0): pairs, ORIGINAL: TWELVE})
    names = ("names_removed_letter", "share_no_letter", "share_failed", "accuracy")
    for parser in ("official", "robust"):
        values = [pick(metrics, name, variant="nota_only", parser=parser).value for name in names]
        assert values == pytest.approx([2 / 12, 2 / 12, 0, 4 / 12])
    assert not [m for m in metrics if m.name == "names_remaining_wrong"]


def test_the_exact_letter_is_compared_with_the_kept_part(tmp_path):
    """Of 5 questions whose answer is E, the authors' stored part is E in the first and the third.

    The second's is "E." and the fourth's, a cut reply without the mark, is the whole reply; the last request failed.
    """
    replies = [
        Reply("It is not A.<CONCLUSION>E"),
        Reply("<CONCLUSION>E."),
        Reply("Nothing fits.", raw="<think>B?</think>Nothing fits.<CONCLUSION>E"),
        Reply("", raw="<think>E", finish="length"),
        Reply("<CONCLUSION>E", error="out of memory"),
    ]
    pairs = [(ask(n, "Object", "E"), reply) for n, reply in enumerate(replies)]
    exact = pick(
        measured(tmp_path, {ORIGINAL: pairs}, kept="<CONCLUSION>(.*)"), "exact_refusal_recall", parser="official"
    )
    assert (exact.value, exact.denominator) == (2 / 5, 5)
    exact = pick(measured(tmp_path, {ORIGINAL: pairs}), "exact_refusal_recall", parser="official")
    assert exact.value == 0


def test_noise_is_also_held_against_the_published_labels(tmp_path):
    """Nothing can be seen, so E is right (2 of 4); by the labels as published A, A, E, E it is 1 + 1 of 4.

    The released E_accuracy counts the exact E among those published as E: 1 of 2.
    """
    replies = [("A", "A"), ("A", "E"), ("E", "E"), ("E", "B")]
    pairs = [(variants.noise(ask(n, "Object", label)), Reply(text)) for n, (label, text) in enumerate(replies)]
    metrics = measured(tmp_path, {Cell("noise", 0): pairs})
    where = {"variant": "noise", "parser": "official"}
    assert pick(metrics, "accuracy", **where).value == 2 / 4
    assert pick(metrics, "share_E", **where).value == 2 / 4
    assert pick(metrics, "refusal_recall", **where).value == 2 / 4
    assert pick(metrics, "accuracy_published_labels", **where).value == 2 / 4
    exact = pick(metrics, "exact_refusal_recall", **where)
    assert (exact.value, exact.n, exact.denominator) == (1 / 2, 4, 2)


def test_the_mean_over_seeds(tmp_path):
    """Three seeds with 60, 90 and 30 of 120 right: mean 0.5, standard deviation 0.25."""
    cells = {Cell("original", seed): shared_images(text) for seed, text in enumerate(["AB", "AAAB", "ABBB"])}
    metrics = measured(tmp_path, cells)
    accuracy = pick(metrics, "accuracy", seed=None)
    assert (accuracy.value, accuracy.spread, accuracy.n) == (pytest.approx(0.5), pytest.approx(0.25), 120)
    above = pick(metrics, "above_chance", seed=None)
    assert (above.value, above.spread) == (pytest.approx(0.3), pytest.approx(0.25))
    assert [pick(metrics, "accuracy", seed=seed).value for seed in range(3)] == [0.5, 0.75, 0.25]
    # answered by the seeds: 120, 120 and 120 of 120; refused: none, so that nothing may be divided by it
    answered = pick(metrics, "accuracy_answered", seed=None)
    assert (answered.n, answered.denominator) == (120, 120)
    assert all(metric.spread is None for metric in metrics if metric.seed is not None)
    chosen = list(MetricIndex(metrics))
    assert all(metric.seed is None for metric in chosen)
    across = {"same_answer", "content_agreement", "content_kept", "position_kept", "position_alone"}
    assert len([m for m in chosen if m.name not in across]) == sum(metric.seed == 0 for metric in metrics)


def test_consistency_over_five_shuffles_by_hand(tmp_path):
    """Red stands at A, but at B with seed 1, where Blue stands at A. "None of the above" stays at E.

    Question 1 is answered Red, 2 is refused, 3 is answered A: Red four times, and Blue once. Of the 20 ordered pairs of
    seeds, 8 have seed 1 and another: there, 1 keeps the text and 3 the label. The other 12 of 3 have the same text.
    """
    replies = {1: "ABAAA", 2: "EEEEE", 3: "AAAAA"}
    cells = {}
    for seed in range(5):
        pairs = [(ask(number, "Object", "C"), Reply(text[seed])) for number, text in replies.items()]
        red, blue, *others = (option.text for option in pairs[0][0].options)
        order = [blue, red, *others] if seed == 1 else [red, blue, *others]
        cells[Cell("shuffled_options", seed)] = [
            (replace(q, options=tuple(replace(o, text=text) for o, text in zip(q.options, order, strict=True))), reply)
            for q, reply in pairs
        ]
    metrics = measured(tmp_path, cells)
    found = {
        name: pick(metrics, name, variant="shuffled_options", seed=None).value
        for name in ("same_answer", "content_agreement", "content_kept", "position_kept", "position_alone")
    }
    assert found == {
        "same_answer": pytest.approx(2 / 3),
        "content_agreement": pytest.approx((1 + 1 + 12 / 20) / 3),
        "content_kept": pytest.approx(8 / 16),
        "position_kept": pytest.approx(8 / 16),
        "position_alone": pytest.approx(8 / 16),
    }


def test_seeds_share_their_images(tmp_path):
    """The same replies under three seeds are little more data than one seed: the spread is 0, the width alike."""
    generator = random.Random(3)
    pairs = [(q, Reply(generator.choice("AB"))) for q, _ in shared_images("A")]
    metrics = measured(tmp_path, {Cell("original", seed): pairs for seed in range(3)})
    pooled, single = pick(metrics, "accuracy", seed=None), pick(metrics, "accuracy", seed=0)
    assert pooled.high - pooled.low == pytest.approx(single.high - single.low, rel=0.1)
    assert pooled.spread == 0
    assert pooled.method == f"{single.method}{EQUAL_SEEDS_NOTE}, mean of 3 seeds"


def test_a_mean_over_seeds_is_undefined_where_one_is(tmp_path):
    cells = {Cell("original", 0): shared_images("AE"), Cell("original", 1): shared_images("E")}
    metrics = measured(tmp_path, cells)
    assert pick(metrics, "accuracy_answered", seed=0).value == 1
    answered = pick(metrics, "accuracy_answered", seed=None)
    assert (answered.value, answered.low, answered.high, answered.spread) == (None, None, None, None)


def test_the_constant_answer_is_the_most_frequent_right_label(tmp_path):
    """Right are A A B with seed 0 and B A B with seed 1: A in the first, B in the second and in both together."""
    right = {0: "AAB", 1: "BAB"}
    cells = {
        Cell("original", seed): [(ask(n, "Object", label), Reply("C")) for n, label in enumerate(labels)]
        for seed, labels in right.items()
    }
    found = {m.seed: m for m in measured(tmp_path, cells) if (m.name, m.parser, m.category) == CONSTANT}
    assert {seed: (m.value, m.label) for seed, m in found.items()} == {
        0: (pytest.approx(2 / 3), "A"),
        1: (pytest.approx(2 / 3), "B"),
        None: (pytest.approx(3 / 6), "A or B"),
    }
    assert {(m.low, m.high, m.n) for m in found.values()} == {(None, None, 3)}


def test_a_number_with_one_possible_value_is_undefined(tmp_path):
    """Where the refusal is the only right answer, every refusal is right and every other answer is wrong."""
    pairs = [
        (ask(n, category, "E"), Reply(text)) for n, (category, text) in enumerate([("Object", "E"), ("Object", "A")])
    ]
    pairs += [(ask(2, "Relation", "A"), Reply("E")), (ask(3, "Relation", "B"), Reply("A"))]
    found = measured(tmp_path, {ORIGINAL: pairs})
    assert pick(found, "refusal_precision").value == 1 / 2 and pick(found, "accuracy_answered").value == 0
    for name, category, reason in (
        ("accuracy_answered", "Object", "undefined: no option but the refusal is right"),
        ("refusal_precision", "Object", "undefined: every refusal is right"),
        ("refusal_precision", "Relation", "undefined: no refusal is right"),
    ):
        metric = pick(found, name, category=category)
        assert (metric.value, metric.low, metric.high, metric.method) == (None, None, None, reason)
    assert pick(found, "accuracy_answered", category="Relation").value == 0


def test_one_seed_has_no_mean(tmp_path):
    metrics = measured(tmp_path, {ORIGINAL: TWELVE})
    assert all(metric.seed == 0 for metric in metrics)
    assert list(MetricIndex(metrics)) == metrics


PAIRS = st.lists(
    st.tuples(
        st.sampled_from("ABCDE"),
        st.sampled_from(["A", "b", "E", "E.", "F", "none of the above", "A or B", "", None]),
        st.sampled_from(["Object", "Relation"]),
        st.integers(0, 12),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=8)
@given(PAIRS, st.randoms(use_true_random=False))
def test_what_holds_for_any_replies(drawn, generator):
    pairs = [
        (
            ask(n, category, answer, group=f"g{group}"),
            Reply("", error="no") if text is None else Reply(text, {"A": -1.0, "E": -2.0}),
        )
        for n, (answer, text, category, group) in enumerate(drawn)
    ]
    with tempfile.TemporaryDirectory() as folder:
        metrics = measured(Path(folder), {ORIGINAL: pairs})
    shuffled = generator.sample(pairs, len(pairs))
    with tempfile.TemporaryDirectory() as folder:
        assert measured(Path(folder), {ORIGINAL: shuffled}) == [
            replace(m, value=approximately(m.value), low=approximately(m.low), high=approximately(m.high))
            for m in metrics
        ]
    for parser, category in {(metric.parser, metric.category) for metric in metrics}:
        found = {m.name: m for m in metrics if (m.parser, m.category) == (parser, category)}
        if found["accuracy"].value is None:
            continue  # nothing is measured of replies that do not begin with a label
        parts = [f"share_{letter}" for letter in "ABCDE"] + ["share_no_letter", "share_failed"]
        assert sum(found[name].value for name in parts) == pytest.approx(1)
        assert found["accuracy"].value <= found["accuracy_high_bound"].value
        assert found["chance"].value <= found["constant_answer"].value + 1e-12
        for metric in found.values():
            if metric.value is not None and metric.low is not None:
                assert metric.low <= metric.value <= metric.high
                assert metric.low < metric.high, metric


def approximately(value: float | None) -> object:
    return None if value is None else pytest.approx(value, abs=1e-12)


def test_answers_that_are_missing_or_doubled_are_named(tmp_path):
    write(tmp_path, {ORIGINAL: TWELVE})
    file, schema = tmp_path / "answers.parquet", answer_schema("humblebench")
    answers = tables.read_columns(file, schema)
    of_robust = pc.equal(answers["parser"], "robust")
    lacking = answers.filter(pc.invert(pc.and_(of_robust, pc.equal(answers["question_id"], "7"))))
    doubled = pa.concat_tables([answers, answers.filter(of_robust).slice(4, 1)])
    for changed, message in (
        (lacking, "other questions by 'robust' than those of seed 0 by 'official', from '7' on"),
        (doubled, "question '5' is answered twice by 'robust'"),
        (answers.filter(pc.invert(of_robust)), "no answers to original, seed 0 by 'robust'"),
    ):
        tables.write_cells(file, schema, [(ORIGINAL, changed)])
        with pytest.raises(DataError, match=message) as error:
            measured_again(tmp_path, {ORIGINAL: TWELVE})
        assert "answers.parquet" in str(error.value)


def test_a_damaged_table_of_answers_is_named(tmp_path):
    write(tmp_path, {ORIGINAL: TWELVE})
    file, schema = tmp_path / "answers.parquet", answer_schema("humblebench")
    without = pa.schema([column for column in schema if column.name != "outcome"])
    answers = tables.read_columns(file, schema)
    tables.write_cells(file, without, [(ORIGINAL, answers)])
    with pytest.raises(DataError, match=r"missing column\(s\): outcome; delete it and run again"):
        measured_again(tmp_path, {ORIGINAL: TWELVE})


def test_seeds_must_ask_the_same_questions(tmp_path):
    for less, first in ((TWELVE[1:], "1"), (TWELVE[:5] + TWELVE[6:], "6"), (TWELVE[:-1], "12")):
        message = (
            r"answers\.parquet \(original, seed 1\): other questions by 'official' than those of seed 0 by 'official', "
            f"from '{first}' on"
        )
        with pytest.raises(DataError, match=message):
            measured(tmp_path, {Cell("original", 0): TWELVE, Cell("original", 1): less})


def test_parser_without_input_has_no_values_but_its_n(tmp_path):
    """No reply of seed 0 has log-probabilities, so neither seed 0 nor the mean over seeds has a value."""
    with_logprobs = Reply("A", {"A": -0.1, "B": -3.0})
    cells = {
        Cell("original", 0): [(ask(1, "Object", "A"), Reply("A"))],
        Cell("original", 1): [(ask(1, "Object", "A"), with_logprobs)],
    }
    found = measured(tmp_path, cells)
    accuracy = {m.seed: m for m in found if (m.parser, m.name, m.category) == ("likelihood", "accuracy", "Overall")}
    assert {seed: (m.value, m.low, m.high, m.n) for seed, m in accuracy.items() if seed != 1} == {
        0: (None, None, None, 1),
        None: (None, None, None, 1),
    }
    assert accuracy[1].value == 1.0
    assert all(m.value is None for m in found if m.parser == "likelihood" and m.seed == 0 and m.name not in KNOWN)
    assert any(m.value == 1.0 for m in found if m.parser == "robust" and m.seed == 0 and m.name == "accuracy")


@pytest.mark.parametrize(
    ("mass", "defined"), [(0.008, False), (0.3, False), (0.49, False), (0.51, True), (0.999, True)]
)
def test_likelihood_needs_half_of_the_probability(tmp_path, mass, defined):
    """With less, the value is null with the reason; the mass is a metric of its own, and other parsers keep theirs."""
    logprobs = [{"A": math.log(mass * 0.7), "B": math.log(mass * 0.3)}] * 2 + [{"A": math.log(mass)}] * 2
    pairs = [(ask(n, "Object", "A"), Reply("A", known)) for n, known in enumerate(logprobs)]
    pairs.append((ask(9, "Object", "A"), Reply("A")))  # without log-probabilities, it has no mass
    found = measured(tmp_path, {Cell("original", 0): pairs})
    label_mass = pick(found, "label_mass", parser="likelihood")
    assert label_mass.value == pytest.approx(mass)
    assert (label_mass.n, label_mass.denominator) == (5, 4)
    assert label_mass.low < mass < label_mass.high
    accuracy = pick(found, "accuracy", parser="likelihood")
    assert (accuracy.value is not None) == defined
    if not defined:
        reason = f"undefined: the labels have {mass:.1%} of the probability on average, less than 50%"
        assert (accuracy.low, accuracy.high, accuracy.method) == (None, None, reason)
        rest = [m for m in found if m.parser == "likelihood" and m.name not in (*KNOWN, "label_mass")]
        assert {m.value for m in rest} == {None}
    assert pick(found, "accuracy").value == 1
    assert not [m for m in found if m.name == "label_mass" and m.parser != "likelihood"]
