"""The report's tables of the audit."""

from __future__ import annotations

import json

from known_unknowns.comparison.audit import audit
from known_unknowns.report import audit_tables, checks


def cells(table, head):
    """The cells of a row, by its heading."""
    (found,) = [row for row in table.rows if row.cells and row.heads[0].text == head]
    return [cell.text for cell in found.cells]


def test_every_finding_is_in_the_table():
    found = audit("humblebench")
    table = audit_tables.tables("humblebench", "HumbleBench", {})["findings"]
    assert sum(bool(row.cells) for row in table.rows) == len(found)
    printed, finding, arithmetic = cells(table, "Gemma-3, Attribute")
    assert (printed, finding) == ("70.20", "overall.log has 70.19.") and "5,671 of 8,079" in arithmetic
    assert audit_tables.findings([], "HumbleBench") is None


def test_numbers_about_the_data_are_beside_those_of_the_check(tmp_path):
    observed = [{"name": "questions", "observed": 22831}, {"name": "  questions labelled E", "observed": 3300.0}]
    (tmp_path / "humblebench.json").write_text(json.dumps({"quantities": observed}), encoding="utf-8")
    counted = checks.counted(tmp_path, "humblebench")
    table = audit_tables.tables("humblebench", "HumbleBench", counted)["data"]
    assert cells(table, "Total Questions, Number") == ["22,831", "22,831"]
    assert cells(table, "questions labelled E, Number") == ["3,326", "3,300"]
    assert cells(table, "Kept, Share") == ["43.74%", "–"]
    assert checks.counted(tmp_path, "mmsap") == checks.counted(None, "mmsap") == {}


def test_sub_tasks_are_counted_under_the_names_of_the_check():
    table = audit_tables.tables("mmsap", "MM-SAP", {"Action": 18, "images of BasicVisQA": 397})["data"]
    assert cells(table, "Action, Share of BasicVisQA") == ["4.50%", "18"]
    assert cells(table, "Images of BasicVisQA, Number") == ["397", "397"]
