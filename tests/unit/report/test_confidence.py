"""The page on confidence: its tables, its figures and the column of the first page, from a fake run."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace

import pytest

from known_unknowns import tables
from known_unknowns.engines.respondents import CALIBRATIONS
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.metrics.run import Run
from known_unknowns.records import Metric, Question, Reply
from known_unknowns.report import confidence, confidence_figures
from known_unknowns.report.confidence_figures import ModelSource
from known_unknowns.report.page import run_of

from .fake_run import FakeRun, make, make_reply, params

MODELS = ("oracle", "always_refuse", "pocket", "pocket-never-refuses")


def build(run: Run, fake: FakeRun) -> confidence.PageContent:
    return confidence.build(run, data=fake.data, results=fake.results, corrected=confidence.corrected_tests([run]))


def reply(model: str, question: Question, dice: random.Random) -> Reply:
    """Replies of the fake run; those of "pocket" have log-probabilities that say which are right."""
    found = make_reply(model, question, dice)
    if model != "pocket":
        return found
    right = question.labels[question.answer or 0]
    sure = 0.9 if found.text.startswith(right) else 0.5
    logprobs = {label: math.log((1 - sure) / 4) for label in question.labels} | {found.text[:1]: math.log(sure)}
    return replace(found, logprobs={label: logprobs[label] for label in question.labels})


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    folder, variants = tmp_path_factory.mktemp("sure"), ("shuffled_options", "nota_only")
    return make(folder, questions=400, variants_kept=variants, seeds=2, samples=3, models=MODELS, reply=reply)


@pytest.fixture(scope="module")
def run(fake: FakeRun) -> Run:
    numbers = MetricIndex(metric for path in fake.metrics for metric in tables.read_metrics(path))
    return run_of(fake.params, numbers, "humblebench")


@pytest.fixture(scope="module")
def page(fake: FakeRun, run: Run) -> confidence.PageContent:
    return build(run, fake)


def test_the_table_is_sorted_by_source_and_auroc_without_baselines_that_have_no_confidence(
    page: confidence.PageContent,
) -> None:
    assert page.table is not None
    rows = [(row.heads[0].text, row.heads[1].text) for row in page.table.rows]
    sources = [source for source, _ in rows]
    assert sources == sorted(sources) and set(sources) == {"letters", "samples"}
    assert ("letters", "pocket") in rows and {model for _, model in rows} == {"pocket", "pocket-never-refuses"}
    of_samples = [float(row.cells[1].text) for row in page.table.rows if row.heads[0].text == "samples"]
    assert of_samples == sorted(of_samples, reverse=True)


def test_a_baseline_is_shown_by_the_sources_that_give_its_own_confidence() -> None:
    assert tuple(CALIBRATIONS) == confidence.CALIBRATED_BASELINES
    chosen = params(models=("uniform", "uninformative", "pocket"))
    names = [f"known.{source}" for source in ("letters", "samples", "verbalised")]
    row = Metric("", "humblebench", "original", None, None, "robust", "Overall", "", 1.0, 1.0, 1.0, 60, "t")
    numbers = MetricIndex(replace(row, model=model, name=name) for model in chosen.models for name in names)
    found = confidence.sources_of(run_of(chosen, numbers, "humblebench"))
    known = [(each.model, each.source) for each in found if each.variant]
    assert known == [
        ("pocket", "letters"), ("pocket", "samples"), ("pocket", "verbalised"),
        ("uninformative", "letters"), ("uninformative", "verbalised"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("auroc", "over", "text"),
    [
        (
            (0.578, 0.452, 0.694),
            (0.05, 0.02, 0.08),
            "AUROC 57.8 [45.2, 69.4], cannot be distinguished from chance; overconfident by 5.0 [2.0, 8.0] points",
        ),
        (
            (0.7, 0.6, 0.8),
            (0.01, -0.02, 0.04),
            "AUROC 70.0 [60.0, 80.0], better than chance; confidence and accuracy cannot be distinguished "
            "(+1.0 [-2.0, +4.0] points)",
        ),
        (
            (0.3, 0.2, 0.4),
            (-0.05, -0.08, -0.02),
            "AUROC 30.0 [20.0, 40.0], worse than chance; underconfident by 5.0 [2.0, 8.0] points",
        ),
        (
            (None, None, None),
            (0.2, 0.1, 0.3),
            "no AUROC, because no answer is wrong; overconfident by 20.0 [10.0, 30.0] points",
        ),
    ],
)
def test_a_sentence_says_what_can_be_distinguished(
    auroc: tuple[float | None, ...], over: tuple[float, float, float], text: str
) -> None:
    chosen = params(models=("pocket",))
    base = Metric("pocket", "humblebench", "original", None, None, "robust", "Overall", "", None, None, None, 235, "t")
    named = {"auroc.letters": auroc, "overconfidence.letters": over}
    rows = [
        replace(base, name=name, value=value, low=low, high=high, reason="no answer is wrong")
        for name, (value, low, high) in named.items()
    ]
    known = replace(base, name="known.letters", value=1.0)
    run = run_of(chosen, MetricIndex([*rows, known]), "humblebench")
    each = ModelSource("pocket", "letters", "original", rows[0])
    assert confidence.sentence(run, each, confidence.corrected_tests([run])) == f"pocket: {text} (n = 235)."


def test_sentences_are_corrected_for_their_number() -> None:
    """An AUROC whose interval ends just above chance, alone on a page and beside 19 sources that say nothing."""
    base = Metric(
        "pocket", "humblebench", "original", None, None, "robust", "Overall", "auroc.letters", 0.6, 0.51, 0.69, 235, "t"
    )
    models = [name for name in params().file.models if name not in ("oracle", "uniform", "pocket")][:19]
    others = [replace(base, model=name, value=0.5, low=0.41, high=0.59) for name in models]
    for metrics, clause in (([base], "better than chance"), ([base, *others], "cannot be distinguished from chance")):
        known = [replace(metric, name="known.letters", value=1.0) for metric in metrics]
        run = replace(run_of(params(models=("pocket",)), MetricIndex([*metrics, *known]), "humblebench"))
        run = replace(run, models=[metric.model for metric in metrics])
        each = ModelSource("pocket", "letters", "original", base)
        assert clause in confidence.sentence(run, each, confidence.corrected_tests([run]))


def test_a_sentence_on_few_attempts_gives_their_number_only() -> None:
    where = ("pocket", "humblebench", "original", None, None, "robust", "Overall", "auroc.letters")
    few = Metric(*where, 0.5, 0.1, 0.9, 19, "t")
    run = run_of(params(models=("pocket",)), MetricIndex([few]), "humblebench")
    each = ModelSource("pocket", "letters", "original", few)
    assert confidence.sentence(run, each, {}) == "pocket: too few attempts with a confidence (n = 19)."


def test_the_baselines_of_known_calibration_are_named() -> None:
    assert confidence.calibrated_baselines(params(models=("uniform", "uninformative", "pocket"))) == ["uninformative"]


def test_the_answers_are_grouped_by_source(page: confidence.PageContent) -> None:
    assert [heading.split(",")[0] for heading in page.answers] == ["By letters", "By samples"]
    letters, samples = page.answers.values()
    assert [text.split(":")[0] for text, is_baseline in letters if not is_baseline] == ["pocket"]
    assert {text.split(":")[0] for text, _ in samples} == {"pocket", "pocket-never-refuses"}


def test_sources_that_were_not_asked_name_the_key(page: confidence.PageContent) -> None:
    texts = {source: reason for reason, sources in page.absent.items() for source in sources}
    assert "confidence: [option_text] of the edition in params.yaml" in texts["option text"]
    assert "confidence: [verbalised]" in texts["verbalised"]


def test_the_figures_have_every_source(page: confidence.PageContent) -> None:
    names = [figure.name for figure in page.figures]
    assert names == ["humblebench_reliability", "humblebench_risk_coverage"]
    for figure in page.figures:
        assert "letters" in figure.svg and "samples" in figure.svg and "pocket" in figure.svg
        assert "oracle" not in figure.svg
    table = page.figures[0].table
    assert table is not None
    attempts = sum(int(row.cells[0].text) for row in table.rows if row.heads[0].text == "pocket")
    assert attempts > 2 * confidence_figures.LEAST_DRAWN  # two seeds and two sources
    assert all(row.cells[2].interval for row in table.rows) and re.search(r">pocket<.*>n = \d+<", page.figures[0].svg)


def test_few_attempts_are_not_drawn_and_named(monkeypatch: pytest.MonkeyPatch, fake: FakeRun, run: Run) -> None:
    monkeypatch.setattr(confidence_figures, "LEAST_DRAWN", 10_000)
    page = build(run, fake)
    (questions,) = re.findall(r"^Not drawn: pocket by letters \((\d+)\)", page.not_drawn)
    assert page.figures == [] and 300 < int(questions) <= 400  # not the attempts with both seeds


def test_refusals_that_are_never_asked_again_have_the_reason_and_no_table(page: confidence.PageContent) -> None:
    assert page.refusals.table is None
    assert page.refusals.absent.startswith("no refused question is asked again")


def bounds(model: str, low: float, high: float, *, known: float) -> list[Metric]:
    """Bounds of a gain and a recall from 20 refusals, of which a share has a known answer."""
    row = Metric(model, "humblebench", "shuffled_options", None, None, "robust", "Overall", "", 0.0, 0.0, 0.0, 60, "t")
    found = [replace(row, name="known.refusal", value=known, denominator=20.0)]
    for name, shift in (("selective_gain", -1.0), ("abstention_recall", 0.0)):
        for bound, value in (("low", low), ("high", high)):
            value += shift
            change = {"value": value, "low": value - 0.01, "high": value + 0.01}
            found.append(replace(row, name=f"{name}_{bound}_bound.refusal", **change))
    return found


def test_refusals_without_a_known_answer_give_a_range_and_their_number(fake: FakeRun, run: Run) -> None:
    others = [metric for metric in run.numbers if not metric.name.endswith(".refusal")]
    partly, wholly = bounds("pocket", 0.952, 0.983, known=0.75), bounds("oracle", 0.9, 0.9, known=1.0)
    again = replace(run, numbers=MetricIndex([*others, *partly, *wholly]))
    page = build(again, fake)
    assert page.refusals.table is not None and page.refusals.has_unknown
    cells = {row.heads[0].text: [(c.text, c.interval) for c in row.cells] for row in page.refusals.table.rows}
    assert cells["pocket"][:3] == [
        ("5 of 20", ""),
        ("-4.8 to -1.7", "[-5.8, -0.7]"),
        ("95.2 to 98.3", "[94.2, 99.3]"),
    ]
    assert cells["oracle"][0][0] == "0 of 20" and cells["oracle"][2][0] == "90.0"


def test_the_column_compares_models_by_one_source(run: Run) -> None:
    found = confidence.column([run], MODELS)
    assert found is not None
    head, cells = found
    metric = run.get("pocket", "shuffled_options", "robust", "auroc.samples")
    assert isinstance(metric, Metric) and metric.value is not None
    assert head.note.startswith("samples, ")
    assert cells[MODELS.index("pocket")].text == f"{100 * metric.value:.1f}"


def test_no_column_and_no_table_without_confidences(fake: FakeRun, run: Run) -> None:
    bare = replace(run, numbers=MetricIndex(metric for metric in run.numbers if "." not in metric.name))
    assert confidence.column([bare], MODELS) is None
    page = build(bare, fake)
    assert (page.table, page.refusals, page.figures) == (None, confidence.Refusals(), [])
