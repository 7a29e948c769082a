"""Paired comparisons from tables of answers, of the dual accuracy, and of a small run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from known_unknowns import tables
from known_unknowns.comparison.paired_rows import Series, as_text, read_model_comparison, write_model_comparison
from known_unknowns.comparison.pairs import (
    Answers,
    Selection,
    compare_pairs,
    compare_selection,
    dual_series,
    read_answers,
)
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.records import Repeat, Score
from tests.cells import write_answers
from tests.factories import question, with_keys
from tests.unit.metrics.answered import params as params_of

IDS = ("q1", "q2", "q3", "q4")


def answers(
    model: str,
    flags: Mapping[int, Sequence[int]],
    ids: Sequence[str] = IDS,
    *,
    variant: str = "v",
    refusal: Sequence[bool] | None = None,
    groups: Sequence[int] | None = None,
) -> Answers:
    correct = {Repeat(seed): np.array(row, dtype=bool) for seed, row in flags.items()}
    group_of = np.arange(len(ids)) if groups is None else np.array(groups)
    refusal_is_right = np.zeros(len(ids), dtype=bool) if refusal is None else np.array(refusal)
    return Answers(Series(model, variant, "robust"), tuple(ids), group_of, correct, refusal_is_right)


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
    (row,) = compare_pairs("x", [answers("a", {0: [1, 1, 1, 0]}), answers("b", {1: [1, 1, 1, 0]})])  # no common seed
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


def write_two_questions(folder: Path) -> None:
    """Two questions on one image; the answers of two turns, and a view."""
    asked = [question("q1", group="i"), question("q2", group="i")]
    tables.write_variant(folder / "variants/v.parquet", {3: asked})
    scores = [
        Score("q1", 0, "view", "robust", "answered", "A", 0, True),
        Score("q1", 1, "answer", "robust", "answered", "B", 1, False),
        Score("q2", 0, "answer", "robust", "unparsed", None, None, False),
        Score("q2", 1, "answer", "robust", "answered", "A", 0, True),
        Score("q1", 0, "answer", "official", "failed", None, None, False),
    ]
    write_answers(folder / "answers.parquet", "v", 3, scores)


def read_two_questions(folder: Path, *parsers: str, variant: str = "v") -> list[Answers]:
    write_two_questions(folder)
    answers = folder / "answers.parquet"
    return read_answers(folder / "variants", answers, model="m", variant=variant, parsers=parsers, repeats=[Repeat(3)])


def test_the_last_answer_of_each_question_counts(tmp_path: Path) -> None:
    (found,) = read_two_questions(tmp_path, "robust", "likelihood")
    assert found.series == Series("m", "v", "robust")
    assert (found.ids, found.groups.tolist()) == (("q1", "q2"), [0, 0])
    assert {repeat.seed: flags.tolist() for repeat, flags in found.correct.items()} == {3: [False, True]}


@pytest.mark.parametrize(("variant", "parser", "message"), [("v", "official", "q2"), ("w", "robust", "no answers")])
def test_missing_scores_are_errors(tmp_path: Path, variant: str, parser: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_two_questions(tmp_path, parser, variant=variant)


QUESTIONS = 6
RIGHT = {  # number of right answers, the first ones
    ("m", "original", "robust"): 6,
    ("m", "original", "official"): 5,
    ("m", "nota_only", "robust"): 0,
    ("m", "nota_only", "official"): 0,
    ("m", "noise", "robust"): 0,
    ("o", "noise", "robust"): 6,
    ("o", "original", "robust"): 0,
    ("o", "original", "official"): 2,
    ("p", "original", "robust"): 6,
    ("q", "original", "robust"): 0,
}
ASKED = {"engine": "transformers", "source": "owner/name", "revision": "main", "dtype": "float32"}
PARAMS = params_of(["original", "nota_only", "noise"], [0], parsers=["official", "robust"])
BASELINE = {"engine": "respondent", "behaviour": "oracle"}
PARAMS = with_keys(PARAMS, models={"m": BASELINE, "o": BASELINE, "p": ASKED, "q": ASKED})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    asked = [question(f"q{number}", group=f"i{number}") for number in range(QUESTIONS)]
    for model, variant in {key[:2] for key in RIGHT}:
        tables.write_variant(folder / f"variants/humblebench/{variant}.parquet", {0: asked})
        scores = [
            Score(asked[place].id, 0, "answer", parser, "answered", "A", 0, place < right)
            for (m, v, parser), right in RIGHT.items()
            if (m, v) == (model, variant)
            for place in range(QUESTIONS)
        ]
        write_answers(folder / "answers" / model / "humblebench/answers.parquet", variant, 0, scores)
    return folder


def compared(run: Path, models: str, variants: list[str], parsers: list[str]) -> list[tuple[object, ...]]:
    selection = Selection(list(models), ["humblebench"], variants, parsers)
    rows = compare_selection(PARAMS, selection, EditionFiles(run, run))
    assert all(row.p_holm == row.p and row.pairs == 1 for row in rows)
    return [(getattr(row.a, c), getattr(row.b, c), row.difference, row.p) for row in rows if (c := selection.compared)]


def test_models_variants_and_parsers(run: Path) -> None:
    robust, both = ["robust"], ["official", "robust"]
    # McNemar: six of six discordant, 2 / 2^6; three of three, 2 / 2^3; one of one, 1
    assert compared(run, "mo", ["original"], robust) == [("m", "o", 1.0, pytest.approx(2 / 64))]
    assert compared(run, "om", ["original"], both) == [
        ("o", "m", -0.5, pytest.approx(0.25)),
        ("o", "m", -1.0, pytest.approx(2 / 64)),
    ]
    assert compared(run, "m", ["original", "nota_only"], robust) == [
        ("original", "nota_only", 1.0, pytest.approx(2 / 64))
    ]
    assert compared(run, "m", ["original"], both) == [("official", "robust", pytest.approx(-1 / 6), 1.0)]


def test_models_are_corrected_without_the_pairs_of_baselines(run: Path) -> None:
    """McNemar: 2 / 2^6 for six of six discordant, 1 for none. Of o, a baseline, all three pairs count."""
    selection = Selection(["p", "q", "o"], ["humblebench"], ["original"], ["robust"])
    rows = compare_selection(PARAMS, selection, EditionFiles(run, run))
    assert [(row.model_a, row.model_b, row.p_holm, row.pairs) for row in rows] == [
        ("p", "q", pytest.approx(2 / 64), 1),
        ("p", "o", pytest.approx(3 * 2 / 64), 3),
        ("q", "o", 1.0, 3),
    ]
    ranks = [(row.rank_a_low, row.rank_a_high, row.rank_b_low, row.rank_b_high) for row in rows]
    assert ranks == [(1, 1, 2, 2), (1, 3, 1, 3), (1, 3, 1, 3)]  # three pairs distinguish nobody
    assert "ranks: p 1, o 1-3, q 2" in as_text(rows, "model")


def test_a_written_table_reads_back_and_its_text_has_each_family_once(run: Path, tmp_path: Path) -> None:
    selection = Selection(["m", "o"], ["humblebench"], ["original"], ["robust", "official"])
    rows = compare_selection(PARAMS, selection, EditionFiles(run, run))
    write_model_comparison(tmp_path / "out.parquet", rows)
    assert read_model_comparison(tmp_path / "out.parquet") == rows
    text = as_text(rows, "model")
    assert re.findall(r"^humblebench.*$", text, re.MULTILINE) == [
        "humblebench, original, robust (exact McNemar)",
        "humblebench, original, official (exact McNemar)",
    ]
    assert "m and o: no interval (none: " in text and "+50.0" in text


@pytest.mark.parametrize(
    ("models", "variants", "parsers"),
    [
        ("m", ["original"], ["robust"]),
        ("m", ["original", "nota_only"], ["robust", "official"]),
        ("mo", ["orignal"], ["robust"]),
        ("mx", [], ["robust"]),
    ],
)
def test_what_is_no_pair_is_refused(run: Path, models: str, variants: list[str], parsers: list[str]) -> None:
    with pytest.raises(ConfigError):
        compared(run, models, variants, parsers)


def test_variants_without_content_are_not_compared(run: Path) -> None:
    """``o`` is right under noise, ``m`` is not."""
    with pytest.raises(ConfigError, match="'noise' has no content"):
        compared(run, "mo", ["noise"], ["robust"])
    with pytest.raises(DataError, match="nota_only"):  # o has no scores of it
        compared(run, "mo", ["nota_only"], ["robust"])
    params = with_keys(PARAMS, benchmarks__humblebench__variants=["original", "noise"])
    every = Selection(["m", "o"], ["humblebench"], [], ["robust"])
    assert [row.variant_a for row in compare_selection(params, every, EditionFiles(run, run))] == ["original"]


def of_pair(
    first: Mapping[int, Sequence[int]],
    second: Mapping[int, Sequence[int]],
    refusal: Sequence[bool],
    ids: Sequence[str] = IDS,
    *,
    changed: str = "nota_only",
) -> list[Answers]:
    """The series of the dual accuracy; the questions are on two images."""
    pair = [
        answers("m", first, variant="original", groups=(0, 0, 1, 1)),
        answers("m", second, ids, variant=changed, refusal=refusal),
    ]
    params = params_of(["original", "nota_only", "text_only"], [0], parsers=["robust"])
    return list(dual_series(params, "humblebench", pair))


def test_dual_both_answers_count_of_questions_whose_refusal_is_right() -> None:
    """Right as published: q1, q2. Refused when changed: q2, q3. Both: q2."""
    (found,) = of_pair({0: [1, 1, 0, 0]}, {0: [0, 1, 1, 0]}, (True,) * 4)
    assert found.series == Series("m", "original+nota_only", "robust")
    assert found.ids == IDS and found.groups.tolist() == [0, 0, 1, 1]
    assert found.correct[Repeat(0)].tolist() == [False, True, False, False]
    (found,) = of_pair({0: [1, 1, 1, 1]}, {0: [1, 1]}, (True, False), ("q4", "q1"))
    assert (found.ids, found.groups.tolist(), found.correct[Repeat(0)].tolist()) == (("q4",), [1], [True])


def test_dual_leaves_out_questions_whose_published_answer_is_the_refusal() -> None:
    """A model that always refuses is right twice there."""
    pair = [
        answers("m", {0: [1, 1, 1, 1]}, variant="original", refusal=(False, True, False, False)),
        answers("m", {0: [1, 1, 0, 1]}, variant="nota_only", refusal=(True,) * 4),
    ]
    params = params_of(["original", "nota_only"], [0], parsers=["robust"])
    (found,) = dual_series(params, "humblebench", pair)
    assert found.ids == ("q1", "q3", "q4") and found.correct[Repeat(0)].tolist() == [True, False, True]


def test_dual_one_seed_meets_every_seed_of_the_other() -> None:
    (found,) = of_pair({0: [1, 0, 0, 0], 3: [1, 1, 1, 1]}, {0: [1, 1, 0, 0]}, (True,) * 4)
    assert {repeat.seed: flags.tolist() for repeat, flags in found.correct.items()} == {
        0: [True, False, False, False],
        3: [True, True, False, False],
    }


@pytest.mark.parametrize("changed", ["text_only", "nota_only"])
def test_dual_needs_a_changed_variant_with_refusals(changed: str) -> None:
    assert of_pair({0: [1, 1, 1, 1]}, {0: [1, 1, 1, 1]}, (False,) * 4, changed=changed) == []
