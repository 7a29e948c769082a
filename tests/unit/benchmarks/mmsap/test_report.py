"""The section on MM-SAP, from a run with real protocols, parsers and metrics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from known_unknowns.comparison import compare_cells, load
from known_unknowns.metrics.index import MetricIndex
from known_unknowns.metrics.run import Run
from known_unknowns.records import OVERALL, Metric
from known_unknowns.report.data_figures import draw
from known_unknowns.report.figures import our_points
from known_unknowns.report.paper_tables import HtmlTable, html_tables
from known_unknowns.report.section import section
from known_unknowns.tables import read_metrics
from known_unknowns_benchmarks.mmsap import report
from tests.unit.benchmarks.mmsap import fake_report
from tests.unit.report.conftest import read, write
from tests.unit.report.fake_run import FakeRun
from tests.unit.report.pages import Page, check, drawn_text

OWN_FIGURES = ("mmsap_scores", "mmsap_subtasks", "mmsap_quadrant", "mmsap_risk_coverage")
FIGURES = ("mmsap_letters", "mmsap_overview", *OWN_FIGURES)
SCORES, SUBTASKS, QUADRANT, _ = section("mmsap").figures


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    made = fake_report.make(tmp_path_factory.mktemp("mmsap"))
    write(made)
    return made


@pytest.fixture(scope="module")
def pages(run: FakeRun) -> dict[str, Page]:
    return read(run)


@pytest.fixture(scope="module")
def page(pages: dict[str, Page]) -> Page:
    return pages[OWN]


def of(run: FakeRun) -> Run:
    """What the tables of a fake run are made of."""
    return Run(
        benchmark="mmsap",
        section=section("mmsap"),
        numbers=MetricIndex(m for path in run.metrics for m in read_metrics(path)),
        models=tuple(run.params.models),
        variants=tuple(run.params.variants("mmsap")),
        parsers=tuple(run.params.parsers),
        seeds={variant: tuple(run.params.seeds_of("mmsap", variant)) for variant in run.params.variants("mmsap")},
        params=run.params,
    )


@pytest.fixture(scope="module")
def made(run: FakeRun) -> Run:
    return of(run)


OWN = "benchmark-mmsap.html"
PAGES = ("audit", "benchmark-mmsap", "confidence", "index", "models", "parsers", "provenance", "stress")


def words(text: str) -> str:
    return " ".join(text.split())


def ours(made: Run, model: str) -> dict[tuple[str, str, str, str], Metric]:
    """The metrics by variant, parser, category and name; means over seeds where there are some."""
    return {(m.variant, m.parser, m.category, m.name): m for m in made.numbers if m.model == model}


def written(metric: Metric) -> str:
    return f"{100 * metric.value:.1f} [{100 * metric.low:.1f}, {100 * metric.high:.1f}]"


# --- the page ------------------------------------------------------------------------------------------------------


def test_every_page_is_sound(pages: dict[str, Page]):
    assert len(pages) == 8
    for page in pages.values():
        check(page, {*pages, "questions.html"})


def test_the_headline_is_score_sa(made: Run, page: Page):
    found = ours(made, "pocket")
    text = words(page["mmsap-headline"].text)
    for variant in ("shuffled_options", "shuffled_refusal_prompt", "nota_only", "noise"):
        assert written(found[variant, "robust", OVERALL, "score_sa"]) in text
    assert "chance" not in text


def test_absent_figures_have_a_reason(tmp_path: Path):
    made = fake_report.make(
        tmp_path, fake_report.params(["text_only"], models=("oracle", "pocket"), parsers=["official"]), per_task=1
    )
    page = write(made)["stress.html"]
    assert "No variant was run with more than one seed." in page["mmsap-consistency"].text
    folder = made.page.parent / "figures"
    drawn = {name: drawn_text((folder / f"{name}.svg").read_text(encoding="utf-8")) for name in OWN_FIGURES}
    assert "shuffled_options, shuffled_refusal_prompt were not run" in drawn["mmsap_scores"]
    assert "no engine of this run has likelihoods" in drawn["mmsap_risk_coverage"]
    assert "not drawn" not in drawn["mmsap_quadrant"] and "not drawn" not in drawn["mmsap_subtasks"]


def test_no_risk_is_drawn_from_labels_with_little_probability(run: FakeRun, made: Run):
    """The log-probabilities say nothing of a model that answers in words; its area is null, with the reason."""
    reason = "the labels have 1.2% of the probability on average, less than 50%"
    undefined = (replace(m, value=None, low=None, high=None, reason=reason) for m in made.numbers if m.name == "aurc")
    without = replace(made, numbers=MetricIndex(undefined))
    found = report.risk_coverage(without, results=run.results, data=run.data)
    assert found.absent == reason
    drawn = draw(found, without)
    assert drawn.alt == f"not drawn: {found.absent}" and drawn.absent == drawn.alt


# --- the papers' tables --------------------------------------------------------------------------------------------


def table_of(made: Run, name: str, published_rows: dict[str, str]) -> HtmlTable:
    cells = [cell for cell in load("mmsap") if cell.table == name]
    compared = compare_cells(cells, made.numbers, published_rows=published_rows, parsers=made.parsers)
    (found,) = html_tables(made, cells, compared)
    return found


def heads(found: HtmlTable) -> list[tuple[str, str]]:
    return [(row.heads[0].text, row.heads[0].note) for row in found.table.rows]


def row_of(found: HtmlTable, *head: str) -> list[str]:
    (row,) = [row for row, named in zip(found.table.rows, heads(found), strict=True) if named == head]
    return [cell.text for cell in row.cells]


def test_table_1_has_the_papers_rows_and_columns(run: FakeRun, made: Run):
    found = table_of(made, "Table 1", {})
    assert [(g.text, g.span) for g in found.table.groups] == [
        ("BasicVisQA", 1), ("KnowVisQA", 2), ("BeyondVisQA", 1), ("Total", 3)
    ]  # fmt: skip
    assert [c.text for c in found.table.columns] == [
        "score_kk", "score_kk", "score_ku", "score_ku", "score_kk", "score_ku", "score_sa"
    ]  # fmt: skip
    models = ("pocket", "this run")
    published = [(c.row, "") for c in load("mmsap")[:98:7]]
    baselines = [(model, "this run") for model in run.params.models if model != "pocket"]
    assert heads(found) == [models, *published, ("baselines", ""), *baselines]
    assert row_of(found, "GPT-4V", "") == ["63.20", "63.60", "12.06", "77.25", "41.34", "30.54", "71.88"]
    assert row_of(found, "oracle", "this run") == ["100.0", "100.0", "0.0", "100.0", "68.4", "31.6", "100.0"]  # 26/38


def test_our_numbers_are_the_metrics(run: FakeRun, made: Run):
    measured = ours(made, "pocket")
    columns = [
        ("BasicVisQA", "score_kk"), ("KnowVisQA", "score_kk"), ("KnowVisQA", "score_ku"), ("BeyondVisQA", "score_ku"),
        (OVERALL, "score_kk"), (OVERALL, "score_ku"), (OVERALL, "score_sa"),
    ]  # fmt: skip
    conditions = [
        ("Table 1", "this run", "shuffled_options", "official"),
        ("Table 3", "this run", "shuffled_options", "official"),
        ("Table 3", "this run, refusal prompt", "shuffled_refusal_prompt", "official"),
    ]
    for table, note, variant, parser in conditions:
        values = [measured[variant, parser, category, name].value for category, name in columns]
        assert row_of(table_of(made, table, {}), "pocket", note) == [f"{100 * value:.1f}" for value in values]


def test_perplexity_of_table_7_is_that_of_the_options_texts(made: Run):
    """The published column order. Scores that need the forced answer are null under this parser, and have a dash."""
    scores = {
        ("BasicVisQA", "score_kk"): 0.625,
        ("KnowVisQA", "score_kk"): 0.5,
        ("KnowVisQA", "score_ku"): None,
        ("BeyondVisQA", "score_ku"): 0.25,
        (OVERALL, "score_kk"): 0.375,
        (OVERALL, "score_ku"): None,
        (OVERALL, "score_sa"): None,
    }
    of_parser = [
        replace(metric, parser="option_text", value=scores[metric.category, metric.name])
        for metric in made.numbers
        if (metric.variant, metric.parser) == ("shuffled_options", "official")
        and (metric.category, metric.name) in scores
    ]
    parsed = replace(made, parsers=(*made.parsers, "option_text"), numbers=MetricIndex([*made.numbers, *of_parser]))
    row = row_of(table_of(parsed, "Table 7", {}), "pocket", "this run, perplexity")
    assert row == ["62.5", "50.0", "–", "25.0", "37.5", "–", "–"]


def test_the_spread_is_that_of_the_first_preprint(run: FakeRun, made: Run):
    found = table_of(made, "Table 1, first preprint", {})
    assert row_of(found, "LLaVA-7b", "")[0] == "62.00 ± 0.85"
    (row,) = [row for row in found.table.rows if row.heads[0].text == "pocket"]
    by_seed = [
        m.value
        for m in read_metrics(run.results / "metrics" / "pocket" / "mmsap/metrics.parquet")
        if (m.variant, m.parser, m.category, m.name) == ("shuffled_options", "official", OVERALL, "score_AR")
        and m.seed is not None
    ]
    assert len(by_seed) == 2
    assert row.cells[-1].note == f"± {100 * np.std(by_seed):.1f} over 2 runs"


def test_consistency_of_every_shuffled_variant(made: Run, pages: dict[str, Page]):
    text = words(pages["stress.html"]["mmsap-consistency"].text)
    measured = ours(made, "pocket")
    for variant in fake_report.SHUFFLED:
        for name in ("same_answer", "content_kept", "position_kept"):
            assert written(measured[variant, "official", OVERALL, name]) in text
    assert "2 runs" in text and "no right option" not in text


def test_dual_accuracy_of_every_pair_and_type(made: Run, pages: dict[str, Page]):
    text = words(pages["stress.html"]["mmsap-dual"].text)
    measured = ours(made, "pocket")
    for changed in ("nota_only", "noise"):
        for category in (OVERALL, "KnowVisQA"):
            assert written(measured[f"shuffled_options+{changed}", "robust", category, "dual_accuracy"]) in text
    assert "MM-SAP and no right option" in text and "MM-SAP and noise" in text


# --- figures -------------------------------------------------------------------------------------------------------


def test_our_points_are_the_scores(run: FakeRun, made: Run):
    points = {(p.model, p.series): p for p in our_points(SCORES, made)}
    assert len(points) == 2 * len(run.params.models)
    always_refuse = points["always_refuse", "plain prompt"]
    assert (always_refuse.x.value, always_refuse.y.value) == (0, pytest.approx(100 * 24 / 38))
    prompted = ours(made, "pocket")["shuffled_refusal_prompt", "official", OVERALL, "score_ku"]
    assert points["pocket", "refusal prompt"].y.low == pytest.approx(100 * prompted.low)


def test_the_oracles_risk_rises_with_unanswerable_questions(run: FakeRun, made: Run):
    """It is sure of 26 of 38 questions; the other 12 are wrong whatever is answered."""
    curve = report._curve(made, "oracle", "shuffled_options", results=run.results, data=run.data)
    coverage = np.arange(1, 101) / 100
    assert curve[coverage * 38 <= 26] == pytest.approx(0)
    assert curve[-1] == pytest.approx(12 / 38)
    assert np.all(np.diff(curve) >= -1e-12)
