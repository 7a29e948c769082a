"""The section on ActiView, from a run with real protocols, parsers and metrics."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from known_unknowns.comparison import ComparisonRow, compare_cells, load
from known_unknowns.metrics.run import Run
from known_unknowns.report.data_figures import draw, table_of
from known_unknowns.report.formatting import Row
from known_unknowns.report.paper_tables import HtmlTable, html_tables
from known_unknowns_benchmarks.actiview import report
from known_unknowns_benchmarks.actiview.metrics import AVERAGED
from known_unknowns_benchmarks.actiview.outcomes import Outcomes, empty_metric
from tests.unit.benchmarks.actiview import fake_report
from tests.unit.benchmarks.actiview.fake_report import right
from tests.unit.report.conftest import read, write
from tests.unit.report.fake_run import FakeRun
from tests.unit.report.pages import check, drawn_text

OWN_FIGURES = ("actiview_pipelines", "actiview_needed", "actiview_cost_images")
QUESTIONS = 16


OWN = "benchmark-actiview.html"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    """A run of three models through ActiView's pipelines, with its report written."""
    made = fake_report.make(tmp_path_factory.mktemp("actiview"))
    write(made)
    return made


@pytest.fixture(scope="module")
def made(run: FakeRun) -> Run:
    return fake_report.of(run)


@pytest.fixture(scope="module")
def outcomes(run: FakeRun, made: Run) -> Outcomes:
    return Outcomes(made, results=run.results, data=run.data)


# --- the page ------------------------------------------------------------------------------------------------------


def test_every_page_is_sound(run: FakeRun):
    pages = read(run)
    assert len(pages) == 8
    for page in pages.values():
        check(page, {*pages, "questions.html"})


def test_absent_parts_are_left_out_with_a_reason(tmp_path: Path):
    made = fake_report.make(tmp_path, fake_report.params(["full_image"], parsers=["official"]), per_class=1)
    page = write(made)[OWN]
    captions = [e.text for e in page.all("caption") if re.match(r"Table \d", e.text)]
    assert [caption.partition(",")[0] for caption in captions] == ["Table 2", "Table 7"]
    assert "both parsers of its steps" in page["actiview-parser-effect"].text
    folder = made.page.parent / "figures"
    drawn = {name: drawn_text((folder / f"{name}.svg").read_text(encoding="utf-8")) for name in OWN_FIGURES}
    assert "no pipeline was run together with its initial image" in drawn["actiview_needed"]
    assert "not drawn" not in drawn["actiview_pipelines"] and "not drawn" not in drawn["actiview_cost_images"]


# --- the paper's tables --------------------------------------------------------------------------------------------


@pytest.fixture
def compared(made: Run) -> list[ComparisonRow]:
    return compare_cells(load("actiview"), made.numbers, published_rows={"pocket": "GPT-4o"}, parsers=made.parsers)


@pytest.fixture
def papers(made: Run, compared: list[ComparisonRow]) -> dict[str, HtmlTable]:
    return {table.name: table for table in html_tables(made, load("actiview"), compared)}


def row_of(found: HtmlTable, *head: str) -> Row:
    (row,) = [row for row in (*found.table.rows, *found.table.foot) if (row.heads[0].text, row.heads[0].note) == head]
    return row


def texts(row: Row) -> list[str]:
    return [cell.text for cell in row.cells]


def test_a_model_is_below_its_row_with_the_verdicts_of_the_comparison(
    run: FakeRun, compared: list[ComparisonRow], papers: dict[str, HtmlTable]
):
    rows = papers["Table 2"].table.rows
    (place,) = [k for k, row in enumerate(rows) if row.heads[0].text == "GPT-4o"]
    ours = rows[place + 1]
    assert (ours.heads[0].text, ours.heads[0].note) == ("pocket", "this run")
    hits = [len(right(run, "pocket", variant, "official")) for variant in AVERAGED]
    assert ours.cells[-1].text == f"{100 * sum(hits) / (5 * QUESTIONS):.1f}"
    of_row = [c for c in compared if (c.table, c.model, c.parser) == ("Table 2", "pocket", "official")]
    assert [cell.note for cell in ours.cells] == [c.verdict for c in of_row]
    assert (
        of_row[-1].variant == "average" and of_row[-1].value is not None
    )  # the average is judged there, and only there


def test_table_8_is_by_sub_class_with_chance_and_without_human_accuracy(made: Run, papers: dict[str, HtmlTable]):
    found = papers["Table 8"]
    assert [(g.text, g.span) for g in found.table.groups] == [("Type I", 4), ("Type II", 4), ("Type III", 3)]
    measured = [made.get("uniform", "zooming", "official", "accuracy", c) for c in ("Geo-Loc", "Orient", "Daily-Loc")]
    assert texts(row_of(found, "uniform", "this run"))[:3] == [f"{100 * m.value:.1f}" for m in measured]
    whole = made.get("uniform", "zooming", "official", "accuracy", "Type I")
    assert texts(row_of(found, "uniform", "this run"))[3] == f"{100 * whole.value:.1f}"
    chances = [made.chance("oracle", "zooming", c).value for c in ("Geo-Loc", "Orient", "Daily-Loc", "Type I")]
    assert texts(row_of(found, "chance", ""))[:4] == [f"{100 * chance:.1f}" for chance in chances]
    assert "people" not in [row.heads[0].text for row in found.table.foot]


def test_table_13_notes_equation_1_where_it_differs(papers: dict[str, HtmlTable]):
    """The oracle sees every annotated view; numbered from 0, one that is called 4 is never found."""
    row = row_of(papers["Table 13"], "oracle", "this run")
    assert (row.cells[2].text, row.cells[2].note) == ("100.0", "")
    assert float(row.cells[5].text) < 100 and row.cells[5].note == "by Equation 1: 100.0"
    feet = [texts(row) for row in papers["Table 13"].table.foot]
    assert feet[2] == ["84.67", "84.67", "", "", "84.67", "", ""]


# --- comparing pipelines -------------------------------------------------------------------------------------------


def test_parser_effects_are_paired_by_question(run: FakeRun, made: Run, outcomes: Outcomes):
    found, unaffected = report.parser_effects(made, outcomes)
    assert unaffected == ("oracle", "uniform")  # both write bare letters
    table = table_of(found, made)
    assert table.caption.endswith("in percentage points, with 95% intervals")
    heads = [[head.text for head in row.heads] for row in table.rows]
    assert heads == [["pocket", "zooming"], ["pocket", "Shifting-R"], ["pocket", "mixed"]]
    for row, variant in zip(table.rows, ("zooming", "shifting_r", "mixed"), strict=True):
        conditions = [(variant, "official"), (variant, "robust"), (f"{variant}_robust", "robust")]
        hits = [len(right(run, "pocket", *condition)) for condition in conditions]
        shares = [100 * h / QUESTIONS for h in hits]
        costs = [shares[1] - shares[0], shares[2] - shares[1], shares[2] - shares[0]]
        assert texts(row)[:6] == [*(f"{share:.1f}" for share in shares), *(f"{cost:+.1f}" for cost in costs)]
        for cell in row.cells[3:6]:
            if cell.interval:
                low, high = map(float, cell.interval.strip("[]").split(","))
                assert low <= float(cell.text) <= high


class Paired(Outcomes):
    """Outcomes of 40 questions with different images."""

    def __init__(self, made: Run) -> None:
        super().__init__(made, results=Path(), data=Path())
        self._groups = pd.Series({str(k): f"g{k}" for k in range(40)})

    def flags(self, *which: int) -> pd.Series:
        return pd.Series({str(k): k in which for k in range(40)})


def test_a_difference_is_paired(made: Run):
    paired, of_both = Paired(made), empty_metric(made, "pocket", "zooming", "robust", "difference")
    first, second = paired.flags(*range(20)).astype(float), paired.flags(*range(30)).astype(float)
    found = paired.difference(of_both, first, second)
    assert (found.value, found.n, found.denominator) == (0.25, 40, 40)
    assert 0.05 < found.low < 0.25 < found.high < 0.5  # standard error: sqrt(.25 * .75 / 40) = 0.068
    back = paired.difference(of_both, second, first)
    assert (back.value, back.low, back.high) == pytest.approx((-0.25, -found.high, -found.low))
    same = paired.difference(of_both, first, first)
    assert (same.value, same.low, same.high) == (0, None, None)


def test_needed_is_right_with_the_views_and_wrong_without(run: FakeRun, made: Run, outcomes: Outcomes):
    figure = draw(report.needed(made, outcomes), made)
    having, lacking = (right(run, "pocket", variant, "robust") for variant in ("zooming", "full_image"))
    first = next(row for row in figure.table.rows if row.heads[-1].text == "pocket")  # the first pipeline is zooming
    assert figure.table.rows[0].heads[0].text == "zooming, against full image"
    assert first.cells[0].text == f"{len(having)} of {QUESTIONS}"
    assert first.cells[1].text == f"{100 * len(having - lacking) / len(having):.1f}"
    assert first.cells[2].text == f"{100 * len(lacking - having) / len(lacking):.1f}"
    found = list(report._needed(made, outcomes))
    for _, _, counted, _ in found:
        assert sum(report._shares(counted)) == pytest.approx(1)
        assert min(report._shares(counted)) >= 0


def test_the_cost_includes_all_turns(made: Run, outcomes: Outcomes):
    """The oracle: one image for the full image; the gridded one, the full image and three views for zooming."""
    table = draw(report.cost_in_images(made, outcomes), made).table
    rows = {(model, variant): cells for model, variant, cells in _named(table.rows)}
    assert texts(rows["oracle", "full image"])[1:] == ["1.00", "1.00", "–", "–"]
    assert texts(rows["oracle", "zooming"])[1:] == ["2.00", "5.00", "–", "–"]
    assert texts(rows["pocket", "full image"])[1:] == ["1.00", "1.00", "60", "100"]


def _named(rows: tuple[Row, ...]) -> list[tuple[str, str, Row]]:
    found, model = [], ""
    for row in rows:
        model = row.heads[0].text if len(row.heads) == 2 else model
        found.append((model, row.heads[-1].text, row))
    return found
