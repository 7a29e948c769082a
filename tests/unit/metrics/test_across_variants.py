"""Metrics that combine the answers to the same questions under several variants."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.metrics import AcrossVariants, BenchmarkMetrics, Ratio
from known_unknowns.metrics import dual
from known_unknowns.metrics.index import headline
from known_unknowns.records import Cell, Question, Reply
from tests.factories import question
from tests.unit.metrics.answered import measured, pick


def mean_accuracy(answers):
    correct = np.sum([part["correct"] for part in answers], axis=0)
    return {"accuracy": Ratio(correct, np.full(len(correct), len(answers)))}


def both_right(answers):
    first, second = answers
    return {"both": Ratio(first["correct"] & second["correct"], np.ones(len(first)))}


def metrics_are(monkeypatch, **members):
    """Give the measured benchmark these metrics and no others."""
    found = type("Metrics", (BenchmarkMetrics,), members)()
    monkeypatch.setattr(type(registry.get("humblebench")), "metrics", lambda self: found)


@pytest.fixture
def hooks(monkeypatch):
    """Give the measured benchmark metrics that combine the variants a and b, and no others."""
    combined = (
        AcrossVariants("average", ("original", "noise"), mean_accuracy),
        AcrossVariants("pair", ("original", "noise"), both_right),
        AcrossVariants("of_three", ("original", "noise", "blank"), mean_accuracy),
    )
    metrics_are(monkeypatch, across_variants=combined)
    monkeypatch.setattr(dual, "pairs_of", lambda functions, protocols: ())


def ask(number: int, category: str = "Object", group: str | None = None) -> Question:
    return question(str(number), 0, category=category, group=group or f"g{number}")


def replies(flags: str, *, category: str = "Object", group: str | None = None, first: int = 0):
    """One question per character; "1" is answered correctly."""
    return [
        (ask(first + n, category, group and f"{group}{n // 2}"), Reply("A" if flag == "1" else "B"))
        for n, flag in enumerate(flags)
    ]


def test_values_by_hand(tmp_path, hooks):
    """Object: 1 1 1 0 and 1 0 0 0; Relation: 1 0 and 1 1. Right in both: the first of each category."""
    cells = {
        Cell("original", 0): [*replies("1110"), *replies("10", category="Relation", first=4)],
        Cell("noise", 0): [*replies("1000"), *replies("11", category="Relation", first=4)],
    }
    metrics = measured(tmp_path, cells)
    expected = {"Overall": (7, 12, 2, 6), "Object": (4, 8, 1, 4), "Relation": (3, 4, 1, 2)}
    for category, (right, answers, both, n) in expected.items():
        average = pick(metrics, "accuracy", variant="average", category=category)
        assert (average.value, average.n, average.denominator) == (pytest.approx(right / answers), n, answers)
        pair = pick(metrics, "both", variant="pair", category=category)
        assert (pair.value, pair.n, pair.denominator) == (pytest.approx(both / n), n, n)
    assert {m.name for m in metrics if m.variant == "average"} == {"accuracy"}


def test_questions_are_paired_by_id_and_the_others_are_left_out(tmp_path, hooks):
    """Questions 0 to 3 in one order, 5, 3, 1 in the other: only 1 (right, right) and 3 (wrong, right) are in both."""
    first, second = replies("1110"), replies("111111")
    metrics = measured(tmp_path, {Cell("original", 0): first, Cell("noise", 0): [second[5], second[3], second[1]]})
    average, pair = pick(metrics, "accuracy", variant="average"), pick(metrics, "both", variant="pair")
    assert (average.value, average.n, average.denominator) == (3 / 4, 2, 4)
    assert (pair.value, pair.n) == (1 / 2, 2)


def test_no_rows_without_every_variant_or_without_a_common_question(tmp_path, hooks):
    metrics = measured(tmp_path / "a", {Cell("original", 0): replies("11"), Cell("noise", 0): replies("11", first=7)})
    assert {m.variant for m in metrics} == {"original", "noise"}
    metrics = measured(tmp_path / "b", {Cell("original", 0): replies("11"), Cell("noise", 0): replies("11")})
    assert {m.variant for m in metrics} == {"original", "noise", "average", "pair"}  # blank was not run


def test_the_interval_is_of_groups_and_pairs_the_answers(tmp_path, hooks):
    """Of 60 questions on their own images, 30 are right under both variants and 30 under none.

    The mean of a question's two answers has the standard error of one answer, sqrt(.25 / 60), not of 120 answers.
    """
    flags = "10" * 30
    metrics = measured(tmp_path, {Cell("original", 0): replies(flags), Cell("noise", 0): replies(flags)})
    average = pick(metrics, "accuracy", variant="average")
    half = stats.norm.ppf(0.975) * np.sqrt(0.25 / 60)
    assert (average.low, average.high) == pytest.approx((0.5 - half, 0.5 + half), abs=0.02)
    opposite = measured(tmp_path / "b", {Cell("original", 0): replies(flags), Cell("noise", 0): replies("01" * 30)})
    certain = pick(opposite, "accuracy", variant="average")  # one of the two answers is right for every question
    assert certain.value == 0.5
    assert certain.low <= 0.5 <= certain.high


def test_seeds_that_all_variants_have(tmp_path, hooks):
    """Seeds 0 and 1 of both variants, with averages 3/4 and 1/4: mean 1/2, standard deviation sqrt(1/8)."""
    cells = {
        Cell("original", 0): replies("11"),
        Cell("original", 1): replies("10"),
        Cell("noise", 0): replies("10"),
        Cell("noise", 1): replies("00"),
    }
    metrics = measured(tmp_path, cells)
    values = [pick(metrics, "accuracy", variant="average", seed=seed).value for seed in (0, 1)]
    mean = pick(metrics, "accuracy", variant="average", seed=None)
    assert values == [3 / 4, 1 / 4]
    assert (mean.value, mean.spread, mean.n) == (pytest.approx(0.5), pytest.approx(0.125**0.5), 2)
    assert next(m.seed for m in headline(metrics) if m.variant == "average" and m.parser == "robust") is None


def test_a_variant_may_not_have_the_name_of_combined_metrics(tmp_path, monkeypatch):
    metrics_are(monkeypatch, across_variants=(AcrossVariants("noise", ("original", "noise"), mean_accuracy),))
    with pytest.raises(ValueError, match="name of the metrics across variants: 'noise'"):
        measured(tmp_path, {Cell("original", 0): replies("11"), Cell("noise", 0): replies("11")})


def test_a_metric_of_a_benchmark_is_no_share_of_answers(tmp_path, monkeypatch):
    """The report draws every ``share_...`` as a part of the bar of answers."""
    metrics_are(monkeypatch, ratios=lambda self, cell: {"share_seen": Ratio(cell["correct"], np.ones(len(cell)))})
    with pytest.raises(ValueError, match="share_seen of a benchmark"):
        measured(tmp_path, {Cell("original", 0): replies("10")})
