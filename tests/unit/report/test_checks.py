"""The data checks on the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from known_unknowns.cli import app
from known_unknowns.data.check import ERROR, NOTE, WARNING, CheckResult, Finding, Quantity, as_json
from known_unknowns.errors import DataError
from known_unknowns.report.checks import SHOWN, counted, read

from .conftest import write
from .fake_run import make
from .pages import parse

QUANTITIES = (
    Quantity("questions", 22831, 22831, "Section 3"),
    Quantity("chance, percent", 34.2411, 33.95, "Section 5"),
    Quantity("originals", 3582.0),
)


def save(folder: Path, *findings: Finding, benchmark: str = "humblebench") -> Path:
    folder.mkdir(exist_ok=True)
    checked = CheckResult(benchmark, Path("data/raw"), QUANTITIES, findings)
    (folder / f"{benchmark}.json").write_text(f"{as_json(checked)}\n", encoding="utf-8")
    return folder


def many(code: str, count: int, severity: str = NOTE) -> list[Finding]:
    return [Finding(severity, code, f"row {k}", f"{code} {k}") for k in range(count)]


def test_observed_numbers_are_shown_with_expected_ones(tmp_path: Path):
    (found,) = read(save(tmp_path), ["humblebench"])
    rows = {row.heads[0].text: [cell.text for cell in row.cells] for row in found.numbers.rows}
    assert rows == {
        "questions": ["22,831", "22,831", "yes", "Section 3"],
        "chance, percent": ["34.2411", "33.95", "no", "Section 5"],
        "originals": ["3,582", "–", "–", "–"],
    }
    assert "HumbleBench" in found.numbers.caption and not found.severities


def test_findings_are_counted_by_severity_and_shown_by_kind(tmp_path: Path):
    folder = save(tmp_path, *many("odd", 7), Finding(WARNING, "count", "", "one too many"), *many("gone", 2, ERROR))
    (found,) = read(folder, ["humblebench"])
    assert [(s.name, s.count) for s in found.severities] == [(ERROR, 2), (WARNING, 1), (NOTE, 7)]
    (odd,) = found.severities[2].groups
    assert (odd.code, odd.count) == ("odd", 7)
    assert odd.texts == tuple((f"row {k}", f"odd {k}") for k in range(SHOWN))
    assert found.severities[1].groups[0].texts == (("", "one too many"),)


def test_benchmarks_are_in_the_order_of_the_run_and_may_be_absent(tmp_path: Path):
    save(tmp_path)
    save(tmp_path, benchmark="mmsap")
    assert [c.title for c in read(tmp_path, ["mmsap", "actiview", "humblebench"])] == ["MM-SAP", "HumbleBench"]
    assert read(None, ["humblebench"]) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a JSON file"),
        ('{"benchmark": "mmsap", "quantities": [], "findings": []}', "it is a check of 'mmsap'"),
        ('{"benchmark": "humblebench", "findings": []}', "the key 'quantities' is missing"),
        ("[]", "not a JSON object"),
    ],
)
def test_an_invalid_check_names_its_file(tmp_path: Path, text: str, said: str):
    (tmp_path / "humblebench.json").write_text(text)
    with pytest.raises(DataError, match=said) as caught:
        read(tmp_path, ["humblebench"])
    assert "humblebench.json" in str(caught.value)
    if "mmsap" not in text:
        with pytest.raises(DataError, match=said):
            counted(tmp_path, "humblebench")


@pytest.mark.usefixtures("no_figures")
def test_the_page_shows_checks_as_text_only_if_given(tmp_path: Path):
    run = make(tmp_path, questions=15, variants_kept=["original"])
    assert "The data were not checked." in write(run)["audit.html"]["humblebench-checks"].text
    hostile = "<script>alert(1)</script>\x1b[31m"
    pages = write(run, checks=save(tmp_path / "checks", Finding(WARNING, "leak", hostile, hostile), *many("odd", 7)))
    text = " ".join(pages["audit.html"]["humblebench-checks"].text.split())
    assert "expected and observed" in text and re.search(r"33\.95\s*no\s*Section 5", text) and "and 2 more" in text
    assert "<script>alert(1)</script>␛[31m" in text
    assert text.index("Warning 1") < text.index("Notes 7")


@pytest.mark.usefixtures("no_figures")
def test_the_report_command_takes_the_folder(tmp_path: Path):
    run = make(tmp_path, questions=15, variants_kept=["original"])
    settings = tmp_path / "params.yaml"
    settings.write_text(yaml.safe_dump(run.params.raw))
    command = [
        "step",
        "report",
        *run.metrics,
        "--results",
        run.results,
        "--data",
        run.data,
        "--comparison",
        run.comparison,
    ]
    command += ["--out", run.page, "--checks", save(tmp_path / "checks"), "--params", settings, "--pairs", run.pairs]
    done = CliRunner().invoke(app, list(map(str, command)))
    assert done.exit_code == 0, done.output
    page = parse(run.page.with_name("audit.html").read_text(encoding="utf-8"))
    assert "expected and observed numbers" in page["humblebench-checks"].text


def test_the_command_writes_what_the_page_reads(tmp_path: Path):
    """The keys of `as_json` are those that are read here."""
    save(tmp_path, Finding(NOTE, "odd", "x", "y"))
    raw = json.loads((tmp_path / "humblebench.json").read_text())
    assert raw["counts"]["note"] == 1
    (found,) = read(tmp_path, ["humblebench"])
    assert sum(s.count for s in found.severities) == sum(raw["counts"].values())
