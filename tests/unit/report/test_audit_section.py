"""What the report shows of the audit, with the package and without it."""

from __future__ import annotations

import pytest

from known_unknowns import entry_points
from known_unknowns.comparison.published import published
from known_unknowns.report.audit_notes import findings
from known_unknowns.report.audit_notes import noted as load
from known_unknowns_audit.issues import grouped
from known_unknowns_audit.section import finding_table, issue_table

from .conftest import write
from .fake_run import make

ISSUES = grouped(published("humblebench"), findings("humblebench"))


@pytest.fixture
def without_audit(monkeypatch):
    """An installation without the package known_unknowns_audit."""
    of_group = entry_points.of_group

    def without(group):
        return {name: entry for name, entry in of_group(group).items() if "known_unknowns_audit" not in entry.value}

    findings.cache_clear()
    for module in ("known_unknowns.report.audit_notes", "known_unknowns.report.page"):
        monkeypatch.setattr(f"{module}.of_group", without)
    yield
    findings.cache_clear()


def cells(table, head):
    """The cells of a row, by its heading."""
    (found,) = [row for row in table.rows if row.cells and row.heads[0].text == head]
    return [cell.text for cell in found.cells]


def test_every_finding_of_the_audit_is_in_the_table():
    table = finding_table(ISSUES, "HumbleBench")
    assert sum(bool(row.cells) for row in table.rows) == len(findings("humblebench"))
    printed, finding, arithmetic = cells(table, "Table 3, Gemma-3, Attribute")
    assert (printed, finding) == ("70.20", "overall.log has 70.19.") and "5,671 of 8,079" in arithmetic


def test_the_issues_are_numbered_and_name_their_tables():
    table = issue_table(ISSUES, "HumbleBench")
    issue, cause, where = cells(table, "1")
    assert "GLM-4.1V-Thinking 55.02 instead of 0.06" in issue and "leftover tag" in cause and where == "Figure 4 (12)"
    assert sum(bool(row.cells) for row in table.rows) == len(ISSUES) == 7


@pytest.mark.usefixtures("no_figures")
def test_the_page_has_the_issues_and_the_versions_of_the_papers(tmp_path):
    page = write(make(tmp_path, questions=15, variants_kept=["original"]))["audit.html"]
    text = " ".join(page["humblebench-audit"].text.split())
    assert "7 issues: published numbers that do not agree" in text
    assert "first version, 19 models; not checked: arXiv:2509.09658v2" in text


@pytest.mark.usefixtures("no_figures", "without_audit")
def test_without_the_package_published_numbers_have_no_notes_of_it_and_the_page_no_issues(tmp_path):
    assert published("humblebench").cells and not findings("humblebench")
    assert not any("overall.log has 70.19" in cell.note for cell in load("humblebench"))
    page = write(make(tmp_path, questions=15, variants_kept=["original"]))["audit.html"]
    text = " ".join(page["humblebench-audit"].text.split())
    assert "Published numbers about the data" in text and "issue" not in text
