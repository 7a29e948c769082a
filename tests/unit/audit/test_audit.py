"""The checks of any benchmark, on toy numbers that are computed by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.published import ALL, AuditFinding, Published
from known_unknowns.comparison.published import published, read
from known_unknowns.errors import DataError
from known_unknowns.report.audit_notes import with_notes
from known_unknowns_audit.audit import findings_on
from known_unknowns_audit.checks import distribution, generic_checks
from known_unknowns_audit.issues import grouped
from known_unknowns_audit.relations import (
    declared_relations,
    inconsistent,
    product,
    ratio,
    total,
    weighted_mean,
)
from scripts import audit_table

TOY = """
benchmark: toy
sources: {paper: {reference: A paper, version: first}}
data:
  published: {source: A paper, questions: {Overall: 300, Red: 100, Blue: 200}}
  older: {source: A paper, questions: {Overall: 80}}
models: {One (again): One}
blocks:
  - table: Table 1
    source: paper
    variant: original
    metric: accuracy
    columns: [{name: All, category: Overall}, {name: Red, category: Red}, {name: Blue, category: Blue}]
    rows:
      One: 60.00 50.00 65.00
      Two: 70.00 60.00 75.00
      Three: 80.00 80.00 80.00
"""


def toy(tmp_path: Path, more: str = "", *, instead: tuple[str, str] = ("", "")) -> Published:
    text = TOY.replace(*instead) if instead[0] else TOY
    path = tmp_path / "toy.yaml"
    path.write_text(text + more, encoding="utf-8")
    return read(path, benchmark="toy")


def said(text: str) -> str:
    """The numbers and the rows that a sentence names, in its order: what a reader learns from it."""
    return " ".join(re.findall(r"\b(?:\d+\.\d+|\d+|One|Two|Three|Four|Won|Text)\b", text))


def findings(published: Published) -> list[tuple[str, str, str, str]]:
    return [(f.table, f.row, f.column, said(f.finding)) for f in generic_checks(published)]


def test_identical_rows(tmp_path):
    found = findings(toy(tmp_path, "      Four: 60.00 50.00 65.00\n"))
    assert found == [
        ("Table 1", "One", ALL, "Four"),
        ("Table 1", "Four", ALL, "One"),
    ]


def test_percentages_that_no_count_gives(tmp_path):
    """61 of 100 is 61.00; 182 / 300 = 60.667 rounds to 60.67 and truncates to 60.66."""
    assert findings(toy(tmp_path, "      Four: 60.66 61.00 60.50\n")) == []
    found = findings(toy(tmp_path, "      Four: 60.68 61.25 60.50\n"))
    assert found == [
        ("Table 1", "Four", "All", "300 60.67"),
        ("Table 1", "Four", "Red", "100 61.00"),
    ]


REPEATED = """
  - table: {table}
    kind: statement
    source: paper
    variant: original
    metric: accuracy
    columns: [{{name: Accuracy, category: Overall}}]
    rows:
      {row}: "{printed}"
"""


@pytest.mark.parametrize(
    ("row", "printed", "texts"),
    [
        ("One", "60", []),
        ("One", "59.67", ["1 60.00"]),  # 179 of 300
        ("One", "59.9", ["1 60.00", "300 60.0"]),
        ("One", "60.33333", ["Text 60.33"]),  # the finding is on the number with fewer decimals
        ("One (again)", "70.00", ["1 60.00"]),  # of Two, but a single number can be so by chance
        ("Won", "60.00", ["Won"]),
    ],
)
def test_a_number_that_is_printed_twice(tmp_path, row, printed, texts):
    found = findings(toy(tmp_path, REPEATED.format(table="Text", row=row, printed=printed)))
    assert [one[3] for one in found] == texts


def test_a_row_with_the_numbers_of_another_model(tmp_path):
    text = REPEATED.format(table="Text", row="One", printed="70.00 75.00").replace('"', "")
    text = text.replace(
        "[{name: Accuracy, category: Overall}]", "[{name: All, category: Overall}, {name: Blue, category: Blue}]"
    )
    found = findings(toy(tmp_path, text))
    assert [one[3] for one in found] == [
        *("1 60.00", "1 65.00"),
        *("Two", "Two"),  # which has both numbers
    ]
    assert len(findings(toy(tmp_path, text.replace("75.00", "80.00")))) == 2  # of Two and of Three


def test_numbers_of_two_models_that_are_exchanged(tmp_path):
    text = REPEATED.format(table="Text", row="One", printed="70.00") + '      Two: "60.00"\n'
    assert [one[1:] for one in findings(toy(tmp_path, text))] == [
        ("One", "Accuracy", "1 60.00"),
        ("Two", "Accuracy", "1 70.00"),
        ("One", "Accuracy", "One Two"),
        ("Two", "Accuracy", "Two One"),
    ]
    assert len(findings(toy(tmp_path, text.replace('"60.00"', '"61.00"')))) == 2


def test_numbers_on_other_data_are_other_numbers(tmp_path):
    other = REPEATED.format(table="Text", row="One", printed="65.00") + "    data: older\n"
    assert findings(toy(tmp_path, other)) == []
    with pytest.raises(DataError, match="'newer'"):
        toy(tmp_path, other.replace("older", "newer"))


RUNS = """
  - table: Runs
    source: paper
    runs: 2
    variant: shuffled_options
    metric: accuracy
    columns: [{{name: Cell, category: {category}}}]
    rows:
      One: {printed}
"""


@pytest.mark.parametrize(
    ("category", "printed", "text"),
    [
        ("Red", "50.50±0.50", None),  # 50 and 51 of 100: 0.50 with ddof = 0, 0.71 with ddof = 1
        ("Red", "50.50±0.71", None),
        ("Red", "50.50±0.60", ""),
        # 100.5 / 200 = 50.25 needs half a question
        ("Red", "50.25±0.50", "100 2 50.00"),
        # 99 and 100 of 300 with ddof = 1: 33.000 and 33.333 have 0.236, rounded to 33.00 and 33.33 they have 0.233
        ("Overall", "33.17±0.24", None),
        ("Overall", "33.17±0.23", None),
        ("Overall", "33.17±0.22", ""),
        ("Overall", "33.16±0.16", None),  # with ddof = 0, 0.167 and its mean 33.167 truncated
    ],
)
def test_spreads_over_runs(tmp_path, category, printed, text):
    found = {one[3] for one in findings(toy(tmp_path, RUNS.format(category=category, printed=printed)))}
    assert found == set() if text is None else text in found  # an empty text: no counts have both numbers


def test_implied_values(tmp_path):
    rows = {row: cells for (_, row), cells in toy(tmp_path).rows().items()}
    one = rows["One"]
    mean = weighted_mean(one["All"], [(one["Red"], 100), (one["Blue"], 200)])
    assert mean.value == pytest.approx(60) and mean.is_consistent  # (100 x 50 + 200 x 65) / 300
    assert mean.arithmetic == "(100 x 50.00 + 200 x 65.00) / 300"
    assert mean.tolerance == pytest.approx(0.01)  # half a hundredth of the parts and of the cell
    partial = weighted_mean(one["All"], [(one["Red"], 100)], whole=300)
    assert partial.value == pytest.approx(50 / 3)
    assert total(one["All"], [one["Red"], one["Blue"]]).value == 115
    found = product(one["All"], one["Red"], one["Blue"], unit=100)
    assert (found.value, found.slack) == (32.5, pytest.approx((50 * 0.005 + 65 * 0.005 + 0.005**2) / 100))
    assert ratio(one["All"], one["Red"], one["Blue"]).value == pytest.approx(100 * 50 / 65)
    runs = [replace(one[name], runs=5) for name in ("Red", "Blue")]  # each of which may have been rounded
    assert total(one["All"], runs).slack == pytest.approx(0.02)
    assert weighted_mean(one["All"], [(runs[0], 100), (runs[1], 200)]).tolerance == pytest.approx(0.015)


def overall(published: Published) -> list[AuditFinding]:
    derived = [
        weighted_mean(row["All"], [(row["Red"], 100), (row["Blue"], 200)]) for row in published.rows("Table 1").values()
    ]
    return list(inconsistent(derived, "The parts give {}."))


def test_totals_that_do_not_follow_or_are_exchanged(tmp_path):
    assert overall(toy(tmp_path)) == []
    (found,) = overall(toy(tmp_path, instead=("One: 60.00", "One: 60.33")))
    assert (found.row, found.printed, found.finding) == ("One", "60.33", "The parts give 60.00.")
    assert found.arithmetic.startswith("(100 x 50.00 + 200 x 65.00) / 300 = 60.00; printed 60.33")
    cells = [
        "One: 60.00 50.00 65.00\n      Two: 70.00 60.00 75.00",
        "One: 70.00 50.00 65.00\n      Two: 60.00 60.00 75.00",
    ]
    texts = [(f.row, said(f.finding)) for f in overall(toy(tmp_path, instead=(cells[0], cells[1])))]
    assert ("One", "One Two") in texts
    assert ("Two", "Two One") in texts and len(texts) == 4


SHARES = """
  - table: Figure 1
    kind: data
    source: paper
    columns: [{name: Share}]
    rows:
"""


@pytest.mark.parametrize(
    ("shares", "n", "found"),
    [
        (("33.3", "33.3", "33.3"), 300, []),  # 100 each
        (("33.3", "66.6"), 300, []),  # truncated
        (
            ("33.3", "66.4"),
            300,
            ["300", "99.7 100"],
        ),
        (("25.00", "50.00"), 4, ["75.00 100"]),
        (("25", "50", "26"), 4, ["4"]),  # rounding explains 101
    ],
)
def test_shares_of_a_whole(tmp_path, shares, n, found):
    rows = "".join(f'      part {place}: "{share}"\n' for place, share in enumerate(shares))
    cells = toy(tmp_path, SHARES + rows).rows("Figure 1")
    assert [said(f.finding) for f in distribution([next(iter(row.values())) for row in cells.values()], n)] == found


def test_another_whole_that_explains_the_shares(tmp_path):
    """33.3 and 66.7 are 100 and 200 of 300; with one decimal, 1000 questions explain any share."""
    rows = SHARES + '      one: "33.3"\n      two: "66.7"\n'
    cells = [next(iter(row.values())) for row in toy(tmp_path, rows).rows("Figure 1").values()]
    for instead, text in ((300, "all are whole counts"), (1000, "any such share is a whole count")):
        found = list(distribution(cells, 100, instead=instead))
        assert [f.row for f in found] == ["one", "two"] and all(f.arithmetic.endswith(text) for f in found)


def test_numbers_of_rows(tmp_path):
    text = SHARES.replace("{name: Share}", "{name: Number, unit: models}") + '      Models: "4"\n'
    relation = "relations:\n  - {cells: {n: [Figure 1, Models, Number]}, rows: {n: Table 1}}\n"
    (found,) = declared_relations(toy(tmp_path, text + relation))
    assert (said(found.finding), said(found.arithmetic)) == ("1 3", "3 One Two Three 4")


def test_a_percentage_of_runs_that_only_rounding_in_each_run_gives(tmp_path):
    """248 / 350 = 70.857: of 5 runs, 1,240 / 1,750 rounds to 70.86 and truncates to 70.85."""
    runs = TOY.replace("    metric: accuracy", "    metric: accuracy\n    runs: 5").replace("Red: 100", "Red: 350")
    assert findings(toy(tmp_path, instead=(TOY, runs.replace("One: 60.00 50.00", "One: 60.00 70.85")))) == []


@pytest.mark.parametrize(
    ("printed", "explained"),
    [
        # 7, 8, 85 and 123 of 326 are 2.147, 2.454, 26.074 and 37.730
        ("2.14 2.45 26.07 37.73", "; 326, truncated, gives 2.14, 2.45, 26.07, 37.73"),
        ("71.84 73.31 43.23", ""),  # Table 14 of ActiView; no number from 315 to 335 gives even two of them
        ("59.70", ""),  # 330 and 335 questions give it, but some number near 325 gives almost any single percentage
    ],
)
def test_another_number_of_questions_explains_percentages(tmp_path, printed, explained):
    columns = ", ".join(f"{{name: C{place}, category: Overall}}" for place, _ in enumerate(printed.split()))
    block = REPEATED.format(table="Text", row="One", printed=printed)
    block = block.replace("[{name: Accuracy, category: Overall}]", f"[{columns}]").replace("accuracy", "recall")
    found = list(generic_checks(toy(tmp_path, block, instead=("Overall: 300", "Overall: 325"))))
    of_text = [finding for finding in found if finding.table == "Text" and "No count" in finding.finding]
    assert of_text
    assert {f.strength for f in of_text} == {f"possible only if it is of another number of questions{explained}"}


ISSUES = """
issues:
  - {{issue: Two is wrong., changes: number, findings: [[Table 1, Two, any]]}}
  - {{issue: The red ones are wrong., changes: {changes}, cause: They are blue., findings: [[Table 1, any, Red]]}}
  - {{issue: Nothing is wrong., changes: digit, findings: [[Table 2, any, any]]}}
"""


def test_findings_with_one_cause_are_one_issue(tmp_path):
    published = toy(tmp_path, ISSUES.format(changes="conclusion"))
    of = {cell.key[1:]: AuditFinding.of(cell, f"{cell.row} is odd.", "1 + 1 = 3") for cell in published.cells}
    issues = grouped(published, [of["One", "Red"], of["Two", "Red"], of["Three", "All"], of["Two", "All"]])
    assert [(issue.issue, issue.changes, issue.cause, len(issue.findings)) for issue in issues] == [
        ("The red ones are wrong.", "conclusion", "They are blue.", 1),
        ("Two is wrong.", "number", "", 2),  # named first, so that the red one is among them
        ("Table 1, Three, All: Three is odd.", "number", "", 1),
    ]


def test_an_issue_that_changes_something_else_is_an_error(tmp_path):
    with pytest.raises(DataError, match="'all' is not one of"):
        toy(tmp_path, ISSUES.format(changes="all"))


def test_a_source_without_the_version_of_the_paper_is_an_error(tmp_path):
    with pytest.raises(DataError, match="sources, paper: write a reference and the version"):
        toy(tmp_path, instead=("{reference: A paper, version: first}", "A paper"))


def test_findings_become_notes(tmp_path):
    published = toy(tmp_path)
    on_cell = AuditFinding.of(published.cells[0], "It is odd.", "1 + 1 = 3")
    on_row = AuditFinding("toy", "Table 1", "Two", ALL, "70.00 60.00 75.00", "All of it is odd.", "1 + 1 = 3")
    on_column = AuditFinding("toy", "Table 1", ALL, "Red", "50.00", "So is its column.", "1 + 1 = 3")
    elsewhere = AuditFinding("toy", "Table 2", ALL, ALL, "50.00", "Not here.", "1 + 1 = 3")
    noted = with_notes(published.cells, [on_cell, on_row, on_column, elsewhere])
    notes = {cell.key[1:]: cell.note for cell in noted if cell.note}
    assert notes == {
        ("One", "All"): "It is odd.",
        ("One", "Red"): "So is its column.",
        ("Two", "All"): "All of it is odd.",
        ("Two", "Red"): "All of it is odd. So is its column.",
        ("Two", "Blue"): "All of it is odd.",
        ("Three", "Red"): "So is its column.",
    }
    (table,) = with_notes(published.cells[:1], [replace(elsewhere, table="Table 1")])
    assert table.note == "Not here."


@pytest.mark.parametrize("name", [name for name in registry.names() if published(name).issues])
def test_every_finding_belongs_to_a_declared_issue_and_every_issue_has_findings(name):
    numbers = published(name)
    assert {issue.issue for issue in grouped(numbers, findings_on(numbers))} == {
        issue.issue for issue in numbers.issues
    }


def test_every_published_number_names_the_version_of_its_paper():
    cells = [cell for name in registry.names() for cell in published(name).cells]
    assert all(cell.version and cell.version in cell.source for cell in cells)


def test_the_list_of_all_issues_is_up_to_date():
    text = audit_table.FILE.read_text(encoding="utf-8")
    assert text == audit_table.updated(text), "run make audit-table"


def test_the_method_of_a_benchmark_adds_findings(tmp_path, monkeypatch):
    numbers = toy(tmp_path, "")
    own = AuditFinding.of(numbers.cells[0], "The colours are wrong.", "1 = 2")
    monkeypatch.setattr(registry, "get", lambda name: SimpleNamespace(audit=lambda given: [own, own]))
    assert own not in findings(numbers) and findings_on(numbers).count(own) == 1
