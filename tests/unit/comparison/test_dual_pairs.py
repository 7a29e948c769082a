"""Models compared by dual accuracy: computed by hand on four questions."""

from __future__ import annotations

import numpy as np
import pytest

from known_unknowns.comparison.dual_pairs import dual_series
from known_unknowns.comparison.models import Answers, Series, compare_pairs
from tests.unit.metrics.answered import params

IDS, GROUPS = ("q0", "q1", "q2", "q3"), ("i0", "i0", "i1", "i1")
PARAMS = params(["original", "nota_only", "text_only"], [0], parsers=["robust"])


def answers(variant, flags, *, refusal=(False,) * 4, ids=IDS):
    by_seed = flags if isinstance(flags, dict) else {0: flags}
    correct = {seed: np.array(part, dtype=bool) for seed, part in by_seed.items()}
    return Answers(Series("m", variant, "robust"), ids, GROUPS[: len(ids)], correct, refusal)


def test_both_answers_count():
    """Right as published: q0, q1. Refused when changed: q1, q2. Both: q1."""
    first = answers("original", [1, 1, 0, 0])
    second = answers("nota_only", [0, 1, 1, 0], refusal=(True,) * 4)
    (found,) = dual_series(PARAMS, "humblebench", [first, second])
    assert found.series == Series("m", "original+nota_only", "robust")
    assert found.ids == IDS and found.groups == GROUPS
    assert found.correct[0].tolist() == [False, True, False, False]


def test_only_questions_whose_refusal_is_right_count():
    first = answers("original", [1, 1, 1, 1])
    second = answers("nota_only", [1, 1], refusal=(True, False), ids=("q3", "q0"))
    (found,) = dual_series(PARAMS, "humblebench", [first, second])
    assert (found.ids, found.groups, found.correct[0].tolist()) == (("q3",), ("i1",), [True])


def test_one_seed_meets_every_seed_of_the_other():
    first = answers("original", {0: [1, 0, 0, 0], 3: [1, 1, 1, 1]})
    second = answers("nota_only", {0: [1, 1, 0, 0]}, refusal=(True,) * 4)
    (found,) = dual_series(PARAMS, "humblebench", [first, second])
    assert {seed: flags.tolist() for seed, flags in found.correct.items()} == {
        0: [True, False, False, False],
        3: [True, True, False, False],
    }


@pytest.mark.parametrize("second", ["text_only", "nota_only"])
def test_no_series_without_a_changed_variant_with_refusals(second):
    pair = [answers("original", [1, 1, 1, 1]), answers(second, [1, 1, 1, 1])]
    assert list(dual_series(PARAMS, "humblebench", pair)) == []


def test_the_series_of_two_models_are_compared():
    """3 of 4 against 1 of 4, in two images: the difference is 0.5."""
    a = answers("original+nota_only", [1, 1, 1, 0])
    b = answers("original+nota_only", [1, 0, 0, 0])
    other = Answers(Series("o", *(a.series.variant, a.series.parser)), b.ids, b.groups, b.correct)
    (row,) = compare_pairs("humblebench", [a, other])
    assert (row.accuracy_a, row.accuracy_b, row.difference, row.n, row.groups) == (0.75, 0.25, 0.5, 4, 2)
