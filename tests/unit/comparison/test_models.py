"""Paired comparisons from tables of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from known_unknowns import tables
from known_unknowns.comparison.models import (
    Answers,
    Series,
    compare_pairs,
    read_answers,
    read_model_comparison,
    write_model_comparison,
)
from known_unknowns.errors import DataError
from known_unknowns.records import Score
from tests.factories import question

IDS = ("q1", "q2", "q3", "q4")


def answers(model: str, flags: Mapping[int, Sequence[int]], ids: Sequence[str] = IDS) -> Answers:
    by_seed = {seed: np.array(row, dtype=bool) for seed, row in flags.items()}
    return Answers(Series(model, "v", "robust"), tuple(ids), tuple(ids), by_seed)


def test_a_pair_is_compared_on_common_questions_and_seeds() -> None:
    a = answers("a", {0: [1, 1, 1, 0], 1: [1, 1, 0, 0], 7: [0, 0, 0, 0]})
    b = answers("b", {0: [1, 0, 0], 1: [0, 0, 0], 8: [1, 1, 1]}, ids=["q3", "q2", "q1"])
    (row,) = compare_pairs("x", [a, b])
    assert (row.n, row.groups, row.seeds, row.only_a, row.only_b) == (3, 3, 2, 1, 0)
    assert (row.accuracy_a, row.accuracy_b) == pytest.approx((5 / 6, 1 / 6))
    assert row.difference == pytest.approx(4 / 6)
    # differences of q1, q2, q3 over both seeds: 2, 2, 0; both signs agree in 2 of 4 assignments
    assert row.p == pytest.approx(0.5)
    assert (row.p_holm, row.pairs) == (row.p, 1)


def test_common_seeds_are_required() -> None:
    (row,) = compare_pairs("x", [answers("a", {0: [1, 1, 1, 0]}), answers("b", {1: [1, 1, 1, 0]})])
    assert (row.n, row.seeds, row.difference, row.p, row.p_holm, row.accuracy_a) == (0, 0, None, None, None, None)


def test_ranks_follow_from_the_corrected_tests() -> None:
    ids = [f"q{number}" for number in range(20)]
    best, middle, worst = (
        answers(name, {0: [place < right for place in range(20)]}, ids)
        for name, right in (("best", 20), ("middle", 14), ("worst", 2))
    )
    rows = {(row.model_a, row.model_b): row for row in compare_pairs("x", [worst, best, middle])}
    # McNemar: 2 / 2^18, 2 / 2^12 and 2 / 2^6; Holm: times 3, 2 and 1
    assert rows["worst", "best"].p_holm == pytest.approx(3 * 2 / 2**18)
    assert rows["worst", "middle"].p_holm == pytest.approx(2 * 2 / 2**12)
    assert rows["best", "middle"].p_holm == pytest.approx(2 / 2**6)
    row = rows["worst", "best"]
    assert (row.rank_a_low, row.rank_a_high, row.rank_b_low, row.rank_b_high) == (3, 3, 1, 1)
    strict = {(row.model_a, row.model_b): row for row in compare_pairs("x", [worst, best, middle], confidence=0.99)}
    row = strict["best", "middle"]
    assert (row.rank_a_low, row.rank_a_high, row.rank_b_low, row.rank_b_high) == (1, 2, 1, 2)


def write_run(folder: Path) -> None:
    """Two questions on one image; the scores of two turns, and of a view."""
    asked = [question("q1", group="i"), question("q2", group="i")]
    tables.write_variant(folder / "variants/v.parquet", {3: asked})
    scores = [
        Score("q1", 0, "view", "robust", "answered", "A", 0, True),
        Score("q1", 1, "answer", "robust", "answered", "B", 1, False),
        Score("q2", 0, "answer", "robust", "unparsed", None, None, False),
        Score("q2", 1, "answer", "robust", "answered", "A", 0, True),
        Score("q1", 0, "answer", "official", "failed", None, None, False),
    ]
    tables.write_scores(folder / "scores.parquet", {("v", 3): scores})


def test_the_last_answer_of_each_question_counts(tmp_path: Path) -> None:
    write_run(tmp_path)
    (found,) = read_answers(
        tmp_path / "variants", tmp_path / "scores.parquet", model="m", variant="v", parsers=["robust", "likelihood"]
    )
    assert found.series == Series("m", "v", "robust")
    assert (found.ids, found.groups) == (("q1", "q2"), ("i", "i"))
    assert {seed: flags.tolist() for seed, flags in found.correct.items()} == {3: [False, True]}


@pytest.mark.parametrize(("variant", "parser", "message"), [("v", "official", "q2"), ("w", "robust", "no scores")])
def test_missing_scores_are_errors(tmp_path: Path, variant: str, parser: str, message: str) -> None:
    write_run(tmp_path)
    with pytest.raises(DataError, match=message):
        read_answers(tmp_path / "variants", tmp_path / "scores.parquet", model="m", variant=variant, parsers=[parser])


def test_a_written_table_reads_back(tmp_path: Path) -> None:
    rows = compare_pairs("x", [answers("a", {0: [1, 1, 0, 0]}), answers("b", {0: [1, 0, 0, 1]})])
    write_model_comparison(tmp_path / "out.parquet", rows)
    assert read_model_comparison(tmp_path / "out.parquet") == rows
    with pytest.raises(DataError, match="no such file"):
        read_model_comparison(tmp_path / "absent.parquet")
