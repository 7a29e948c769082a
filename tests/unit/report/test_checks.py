"""The data checks of a report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from known_unknowns.data.check import ERROR, NOTE, WARNING, CheckResult, Finding, Quantity, as_json
from known_unknowns.errors import DataError
from known_unknowns.report.checks import SHOWN, data_numbers, read
from known_unknowns.report.page import build

from .conftest import write
from .fake_run import make
from .pages import parse

QUANTITIES = (
    Quantity("questions", 22831, 22831, "Section 3"),
    Quantity("chance, percent", 34.2411, 33.95, "Section 5"),
    Quantity("  questions labelled E", 3300.0),
)


def save(folder: Path, *findings: Finding) -> Path:
    folder.mkdir(exist_ok=True)
    checked = CheckResult("humblebench", Path("data/raw"), QUANTITIES, findings)
    (folder / "humblebench.json").write_text(f"{as_json(checked)}\n", encoding="utf-8")
    return folder


def many(code: str, count: int, severity: str = NOTE) -> list[Finding]:
    return [Finding(severity, code, f"row {k}", f"{code} {k}") for k in range(count)]


def cells(table, head):
    """The cells of a row, by its heading."""
    (found,) = [row for row in table.rows if row.cells and row.heads[0].text == head]
    return [cell.text for cell in found.cells]


def test_numbers_and_findings_of_a_check(tmp_path: Path):
    folder = save(tmp_path, *many("odd", 7), Finding(WARNING, "count", "", "one too many"), *many("gone", 2, ERROR))
    found = read(folder, "humblebench", "HumbleBench")
    assert cells(found["numbers"], "questions") == ["22,831", "22,831", "yes", "Section 3"]
    assert cells(found["numbers"], "chance, percent") == ["34.2411", "33.95", "no", "Section 5"]
    assert cells(found["numbers"], "  questions labelled E") == ["3,300", "–", "–", "–"]
    assert [(s["name"], s["count"]) for s in found["severities"]] == [(ERROR, 2), (WARNING, 1), (NOTE, 7)]
    (odd,) = found["severities"][2]["groups"]
    assert (odd["code"], odd["count"]) == ("odd", 7)
    assert odd["texts"] == [(f"row {k}", f"odd {k}") for k in range(SHOWN)]
    assert read(folder, "mmsap", "MM-SAP") is read(None, "humblebench", "") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"benchmark": "mmsap", "quantities": [], "findings": []}', "it is a check of 'mmsap'"),
        ('{"benchmark": "humblebench", "findings": []}', "the key 'quantities' is missing"),
    ],
)
def test_an_invalid_check_names_its_file(tmp_path: Path, text: str, reason: str):
    (tmp_path / "humblebench.json").write_text(text)
    with pytest.raises(DataError, match=rf"humblebench\.json.*{reason}"):
        read(tmp_path, "humblebench", "")


def test_published_numbers_about_the_data_are_beside_those_of_the_check(tmp_path):
    counted = read(save(tmp_path), "humblebench", "")["counted"]
    table = data_numbers("humblebench", "HumbleBench", counted)
    assert cells(table, "Total Questions, Number") == ["22,831", "22,831"]
    assert cells(table, "questions labelled E, Number") == ["3,326", "3,300"]
    assert cells(table, "Kept, Share") == ["43.74%", "–"]


@pytest.mark.usefixtures("no_figures")
def test_the_report_shows_checks_as_text_only_if_given(tmp_path: Path):
    run = make(tmp_path, questions=15, variants_kept=["original"])
    assert "The data were not checked." in write(run)["audit.html"]["humblebench-checks"].text
    hostile = "<script>alert(1)</script>\x1b[31m"
    checks = save(tmp_path / "checks", Finding(WARNING, "leak", hostile, hostile), *many("odd", 7))
    files = {"comparison": run.comparison, "pairs": run.pairs, "checks": checks, "out": run.page}
    build(run.params, run.metrics, results=run.results, data=run.data, **files)
    page = parse(run.page.with_name("audit.html").read_text(encoding="utf-8"))
    text = " ".join(page["humblebench-checks"].text.split())
    assert "expected and observed" in text and re.search(r"33\.95\s*no\s*Section 5", text) and "and 2 more" in text
    assert "<script>alert(1)</script>␛[31m" in text
    assert text.index("Warning 1") < text.index("Notes 7")
