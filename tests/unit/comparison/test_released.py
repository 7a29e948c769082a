"""Verdicts on the released files, where they are present: numbers of other models must not count as reproduced."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import PublishedCell
from known_unknowns.comparison import DIFFERS, IDENTICAL, NOT_COMPARABLE, REPRODUCED, ComparisonRow, compare_cells, load
from known_unknowns.exchange.rescore import rescore
from known_unknowns.metrics.intervals import wilson
from known_unknowns.records import OVERALL, Metric, Question
from known_unknowns_benchmarks.actiview.format import TYPES
from tests import paths

SHARED = paths.SHARED / "data"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the released files are absent")
TABLES = ("Table 2", "Table 7", "Table 9")
"""The published accuracies of Shifting-R: 302 numbers."""


def shifting_cells() -> list[PublishedCell]:
    return [c for c in load("actiview") if (c.variant, c.metric) == ("shifting_r", "accuracy") and c.table in TABLES]


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    return registry.get("actiview").load_without_images(SHARED / "actiview")


def accuracies(questions: list[Question], right: np.ndarray, model: str) -> list[Metric]:
    """Accuracy of all questions, of each type and of each sub-class."""
    members = {OVERALL: np.ones(len(questions), bool)}
    for kind, names in TYPES.items():
        members |= {name: np.array([q.category == name for q in questions]) for name in names}
        members[kind] = np.array([q.category in names for q in questions])
    found = []
    for category, of in members.items():
        share, n = float(right[of].mean()), int(of.sum())
        low, high = wilson(share, n, 0.95)
        where = model, "actiview", "shifting_r", 0, 0, "official", category, "accuracy"
        found.append(Metric(*where, share, low, high, n, "wilson"))
    return found


def under_every_name(cells: list[PublishedCell], metrics: list[Metric]) -> list[ComparisonRow]:
    """The verdicts if the same answers are said to be those of each published model in turn."""
    rows: list[ComparisonRow] = []
    for name in dict.fromkeys(cell.model for cell in cells):
        found = compare_cells(cells, metrics, published_rows={"ours": name}, parsers=["official"])
        rows += [row for row in found if row.model == "ours"]
    return rows


def positive(rows: list[ComparisonRow]) -> int:
    return sum(row.verdict in (IDENTICAL, REPRODUCED) for row in rows)


@pytest.fixture(scope="module")
def qwen(questions: list[Question]) -> list[Metric]:
    parser = registry.get("actiview").official
    preds = json.loads((SHARED / "actiview" / "results" / "qwen2vl_shifting.json").read_text())["preds"]
    right = np.array([parser(t, q).choice == q.answer for t, q in zip(preds, questions, strict=True)])
    assert right.sum() == 200
    return accuracies(questions, right, "ours")


def test_released_answers_of_a_model_reproduce_no_number_of_another(qwen: list[Metric]):
    others = [cell for cell in shifting_cells() if cell.model != "Qwen2-VL"]
    assert positive(under_every_name(others, qwen)) == 0


def test_released_answers_reproduce_their_own_row(qwen: list[Metric]):
    """The paper prints one right answer less (61.23, 199 of 325) than the released file has."""
    cells = shifting_cells()
    rows = [r for r in compare_cells(cells, qwen, published_rows={"ours": "Qwen2-VL"}, parsers=["official"]) if r.model]
    (overall,) = [row for row in rows if row.table == "Table 2"]
    assert overall.verdict == REPRODUCED and overall.value - overall.published == pytest.approx(100 / 325, abs=0.005)
    assert positive(rows) == len(rows)


def test_a_guesser_reproduces_nothing(questions: list[Question]):
    rng = np.random.default_rng(0)
    right = np.array([rng.random() < 1 / len(q.options) for q in questions])
    rows = under_every_name(shifting_cells(), accuracies(questions, right, "ours"))
    assert positive(rows) == 0


def test_80_of_the_questions_reproduce_nothing():
    file = SHARED / "humblebench" / "nota_only_Qwen2.5-VL_80.jsonl"
    found = rescore("humblebench", [Path(file)], variant="nota_only")
    metrics = [replace(metric, model="ours") for metric in found.metrics if metric.variant == "nota_only"]
    rows = compare_cells(load("humblebench"), metrics, published_rows={"ours": "Qwen2.5-VL"}, parsers=["official"])
    (row,) = [row for row in rows if (row.table, row.row) == ("Figure 4", "Qwen2.5-VL")]
    assert (row.published, row.verdict, row.obstacle) == (28.89, NOT_COMPARABLE, "n")
    assert (row.published_n, row.n) == (22_831, 80)
    assert not {row.verdict for row in rows} & {IDENTICAL, REPRODUCED, DIFFERS}
