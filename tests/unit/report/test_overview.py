"""The first screen: its table and its sentences, from metrics and pairs entered by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from known_unknowns.comparison import MetricIndex
from known_unknowns.comparison.models import PairedRow
from known_unknowns.config import Params
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report import overview_figure, overview_table, overview_text
from known_unknowns.report.overview import Overview
from known_unknowns.report.page import run_of

from .fake_run import params

PAIR = "original+nota_only"
NUMBERS = {  # model: dual accuracy, accuracy, refused without a right option, recognised on blank images
    "pocket": (0.6, 0.8, 0.7, 0.9),
    "pocket-never-refuses": (0.1, 0.9, 0.1, 0.25),
    "oracle": (1.0, 1.0, 1.0, 1.0),
}


def metric(model: str, variant: str, name: str, value: float | None) -> Metric:
    bounds = (None, None) if value is None else (max(0.0, value - 0.05), min(1.0, value + 0.05))
    return Metric(model, "humblebench", variant, 0, "robust", OVERALL, name, value, *bounds, 200, "wilson")


def pair(a: str, b: str, difference: float, p: float) -> PairedRow:
    return PairedRow(
        "humblebench", a, PAIR, "robust", b, PAIR, "robust", n=200, groups=40, seeds=1, only_a=0, only_b=0,
        accuracy_a=0.6, accuracy_b=0.6 - difference, difference=difference, low=difference - 0.1, high=difference + 0.1,
        confidence=0.95, method="t", p=p, p_holm=p, test="sign-flip", pairs=1, correlation=None, standard_error=0.05,
        detectable=0.14, rank_a_low=0, rank_a_high=0, rank_b_low=0, rank_b_high=0,
    )  # fmt: skip


def overview(*pairs: PairedRow, models: tuple[str, ...] = tuple(NUMBERS), dual: bool = True) -> Overview:
    raw = json.loads(json.dumps(params().raw))
    raw["editions"]["pocket"]["models"] = list(models)
    rows = []
    for model in models:
        both, right, refused, blank = NUMBERS[model]
        rows += [metric(model, PAIR, "dual_accuracy", both)] if dual else []
        rows.append(metric(model, "original", "accuracy", right))
        if dual:
            rows += [metric(model, "nota_only", name, refused) for name in ("accuracy", "refusal_recall")]
            parts = {"recognised": blank, "recognised_refused": blank - 0.1, "recognised_abstained": 0.1}
            rows += [metric(model, "blank", name, value) for name, value in parts.items()]
            rows.append(metric(model, "blank", "accuracy", 0.99))  # not shown
    return Overview(run_of(Params(raw), MetricIndex(rows), "humblebench"), [], list(pairs))


def cells(found: Overview) -> dict[str, dict[str, str]]:
    table, _ = overview_table.table(found)
    return {
        row.heads[0].text: dict(zip((c.text for c in table.columns), (c.text for c in row.cells), strict=True))
        for row in table.rows
    }


def test_models_are_sorted_by_dual_accuracy_with_baselines_last() -> None:
    """The oracle has the highest number, and is no model."""
    found = cells(overview(pair("pocket", "pocket-never-refuses", 0.5, 0.001)))
    assert list(found) == ["pocket", "pocket-never-refuses", "oracle"]
    assert found["pocket"] == {
        "Rank": "1",
        "Dual accuracy": "60.0",
        "Refused, no right option": "70.0",
        "Recognised on blank images": "90.0",
        "Refused on blank images": "80.0",
        "Abstained on blank images": "10.0",
        "Accuracy": "80.0",
    }
    assert found["pocket-never-refuses"]["Rank"] == "2" and found["oracle"]["Rank"] == "–"
    assert found["pocket-never-refuses"]["Recognised on blank images"] == "25.0"


def test_a_pair_with_a_variant_without_content_ranks_no_models() -> None:
    found = overview()
    rows = [replace(m, variant="original+blank") if m.variant == PAIR else m for m in found.run.numbers]
    found = Overview(replace(found.run, numbers=MetricIndex(rows)), [], [])
    assert found.pair is None and found.main == "original"
    assert found.models == ("pocket-never-refuses", "pocket")  # by the accuracy on the published questions


def test_a_benchmark_with_variants_without_content_alone_has_no_main_variant() -> None:
    found = overview()
    rows = [m for m in found.run.numbers if m.variant == "blank"]
    run = run_of(found.run.params, MetricIndex(rows), "humblebench")
    assert Overview(run, [], []).main == ""


def test_undefined_columns_have_a_reason_and_no_zero() -> None:
    _, undefined = overview_table.table(overview(dual=False))
    assert "no refusal option" in undefined["Dual accuracy"]
    assert undefined["Recognised on blank images"] == "the variant was not run"
    found = cells(overview(dual=False))
    assert next(iter(found)) == "pocket-never-refuses"  # by accuracy
    assert list(found["pocket"]) == ["Accuracy"]
    assert "rendered" in undefined["Verdicts"] and "does not measure it" in undefined["Risk-coverage area"]


def test_a_significant_difference_is_said() -> None:
    best, distance, guesses = overview_text.sentences(overview(pair("pocket-never-refuses", "pocket", -0.5, 0.001)))
    assert best.startswith("pocket knows best what it does not know: it answers 60.0% [55.0, 65.0] of 200 HumbleBench")
    assert distance == (
        "The paired tests distinguish it from the other model; pocket-never-refuses: "
        "+50.0 [+40.0, +60.0] points, p = 0.0010."
    )
    assert guesses == (
        "The models refuse 10.0 to 70.0% of the questions without a right option and recognise that 25.0 to "
        "90.0% of those without content in the image cannot be answered."
    )


def test_models_that_cannot_be_distinguished_share_their_ranks() -> None:
    found = overview(pair("pocket", "pocket-never-refuses", 0.02, 0.6))
    assert overview_text.sentences(found)[1] == (
        "It cannot be distinguished from pocket-never-refuses: +2.0 [-8.0, +12.0] points, p = 0.6000."
    )
    assert cells(found)["pocket"]["Rank"] == cells(found)["pocket-never-refuses"]["Rank"] == "1–2"


def test_pairs_with_baselines_do_not_count() -> None:
    found = overview(pair("pocket", "oracle", -0.4, 0.001), pair("pocket", "pocket-never-refuses", 0.5, 0.04))
    assert [row.pairs for row in found.tests] == [1]
    assert "p = 0.0400." in overview_text.sentences(found)[1]
    other = replace(pair("pocket", "pocket-never-refuses", 0.5, 0.04), variant_a="noise", variant_b="noise")
    assert overview(other).tests == ()


def test_the_own_metric_of_a_benchmark_takes_the_place_of_the_dual_accuracy() -> None:
    """A benchmark without pairs of variants that has a dual accuracy of its own must not be told to have none."""
    found = overview(dual=False)
    section = replace(found.run.section, measured=("both_right", "dual accuracy in percent"))
    rows = [*found.run.numbers, metric("pocket-never-refuses", "original", "both_right", 0.3)]
    found = Overview(replace(found.run, section=section, numbers=MetricIndex(rows)), [], [])
    assert overview_text.sentences(found)[0] == (
        "pocket-never-refuses has the highest accuracy on HumbleBench: 90.0% [85.0, 95.0], n = 200. "
        "The benchmark's own metric is dual accuracy: 30.0% [25.0, 35.0], n = 200."
    )
    assert list(cells(found)["pocket-never-refuses"].items()) == [("Dual accuracy", "30.0"), ("Accuracy", "90.0")]
    assert "Dual accuracy" not in overview_table.table(found)[1]


def test_one_model_and_none() -> None:
    one = overview_text.sentences(overview(models=("pocket", "oracle")))
    assert one == (
        "pocket answers 60.0% [55.0, 65.0] of 200 HumbleBench questions correctly, and refuses them without their "
        "right option (dual accuracy).",
        "It is the only model of this run, beside 1 scripted baseline.",
        "It refuses 70.0% of the questions without a right option and recognises that 90.0% of those without "
        "content in the image cannot be answered.",
    )
    (none,) = overview_text.sentences(overview(models=("oracle",)))
    assert "scripted baselines" in none


def test_a_model_that_is_not_distinguished_is_not_said_to_know_best() -> None:
    found = overview(pair("pocket", "pocket-never-refuses", 0.02, 0.6))
    assert overview_text.sentences(found)[0] == (
        "pocket has the highest dual accuracy: it answers 60.0% [55.0, 65.0] of 200 HumbleBench questions correctly, "
        "and refuses them without their right option."
    )


def test_equal_models_are_named_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NUMBERS, "pocket-never-refuses", NUMBERS["pocket"])
    found = overview(pair("pocket", "pocket-never-refuses", 0.0, 1.0))
    assert overview_text.sentences(found)[0].startswith(
        "pocket has the highest dual accuracy, equal to that of pocket-never-refuses: it answers 60.0%"
    )
    drawn = overview_figure.draw(found, "humblebench_overview")
    assert ">pocket, pocket-never-refuses</text>" in drawn.svg


def test_a_long_list_of_models_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["Cambrian", "Gemma-3", "Idefics3", "Ovis-2", "Phi-4", "Pixtral"]
    for name in names:
        monkeypatch.setitem(NUMBERS, name, NUMBERS["pocket"])
    pairs = [pair(a, b, 0.0, 1.0) for place, a in enumerate(names) for b in names[place + 1 :]]
    distance = overview_text.sentences(overview(*pairs, models=tuple(names)))[1]
    assert "from 5 other models (Gemma-3, Idefics3, Ovis-2 and 2 more); Gemma-3: +0.0" in distance


def test_one_model_without_a_pair_and_without_baselines() -> None:
    first, second, _ = overview_text.sentences(overview(models=("pocket",), dual=False))
    assert first.startswith("pocket has an accuracy of 80.0% [75.0, 85.0] on HumbleBench, n = 200.")
    assert second == "It is the only model of this run."
