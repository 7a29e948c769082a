"""Results of the workflow on the pocket edition, compared with known scores and with HumbleBench's package."""

from __future__ import annotations

from functools import partial

import pytest

from known_unknowns import tables
from known_unknowns.records import OVERALL, Metric
from tests.cells import read_questions
from tests.peers import humblebench
from tests.workflow.project import RESPONDENTS, Project, reduce

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
MODELS = [*RESPONDENTS, "pocket"]
PUBLISHED = ["original", "nota_only", "noise"]
QUESTIONS, REFUSALS = 300, 60


@pytest.fixture(scope="module")
def edition(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """All questions, all models and the published variants: `make run` without our own variants."""
    project = Project.copy_of_tree(tmp_path_factory.mktemp("edition"))
    project.change_params(partial(reduce, models=MODELS, variants=PUBLISHED, images=60, tracking=False))
    project.snakemake("--until", "measure")
    return project


@pytest.fixture(scope="module")
def metrics(edition: Project) -> list[Metric]:
    folder = edition.root / "results/pocket/metrics"
    return [
        metric for model in MODELS for metric in tables.read_metrics(folder / model / "humblebench/metrics.parquet")
    ]


def accuracies(metrics: list[Metric], model: str) -> dict[tuple[str, str], Metric]:
    return {
        (m.variant, m.parser): m
        for m in metrics
        if (m.model, m.category, m.name) == (model, OVERALL, "accuracy") and m.seed == 0
    }


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("oracle", {"original": 1, "nota_only": 1, "noise": 1}),
        ("always_refuse", {"original": REFUSALS / QUESTIONS, "nota_only": 1, "noise": 1}),
        ("always_a", {"original": 60 / QUESTIONS, "nota_only": 0, "noise": 0}),
    ],
)
def test_the_respondents_land_exactly(metrics, edition, model, expected):
    questions = read_questions(edition.root / "results/pocket/variants/humblebench", "original")
    assert len(questions) == QUESTIONS
    assert sum(question.answer == 0 for question in questions) == 60
    assert sum(question.answer == question.refusal for question in questions) == REFUSALS
    found = accuracies(metrics, model)
    assert len(found) == len(PUBLISHED) * 3  # under each parser alike
    assert {(variant, m.value, m.n) for (variant, _), m in found.items()} == {
        (variant, value, QUESTIONS) for variant, value in expected.items()
    }


def test_accuracy_of_guessing_is_near_chance(metrics):
    chances = {
        (m.variant, m.parser): m.value
        for m in metrics
        if (m.model, m.category, m.name) == ("uniform", OVERALL, "chance") and m.seed == 0
    }
    for cell, metric in accuracies(metrics, "uniform").items():
        assert metric.low <= chances[cell] <= metric.high


@humblebench.needed
def test_the_published_package_agrees_on_every_reply(edition, metrics, tmp_path):
    humblebench.assert_scores_alike(
        edition.root / "results/pocket",
        edition.root / "results/pocket/variants/humblebench",
        metrics,
        cells=[(model, variant, 0) for model in MODELS for variant in PUBLISHED],
        folder=tmp_path,
    )
