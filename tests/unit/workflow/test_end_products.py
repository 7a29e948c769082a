"""Files of the results that were changed after their run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from known_unknowns.errors import DataError
from known_unknowns.workflow import end_products
from known_unknowns.workflow.opening import report_page
from tests.unit.report.fake_run import params

TABLES = ("leaderboard.csv", "metrics.json", "models/a.json")
PAGES = ("report/index.html", "report/audit.html", "report/figures/a.svg")
BROWSER = ("report/questions.html", "report/questions/0a.js")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Results whose digests were written."""
    folder = tmp_path / "results/pocket"
    for name in (*TABLES, *PAGES, *BROWSER):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("accuracy 0.51\n")
    end_products.write_digests(folder / "digests/summarise.sha256", [folder / name for name in TABLES])
    end_products.write_digests(folder / "digests/report.sha256", end_products.pages(folder / "report"))
    end_products.write_digests(
        folder / "digests/question_browser.sha256", end_products.browser_files(folder / "report")
    )
    return folder


def test_unchanged_files_pass_and_sha256sum_agrees(results):
    end_products.check(results, "pocket")
    files = sorted((results / "digests").iterdir())
    done = subprocess.run(["sha256sum", "-c", *files], cwd=results, capture_output=True, text=True, check=True)
    assert done.stdout.count(": OK") == len((*TABLES, *PAGES, *BROWSER))
    end_products.check(results.with_name("other"), "other")  # results of before, or none


@pytest.mark.parametrize(
    ("name", "missing"),
    [("models/a.json", False), ("report/figures/a.svg", True), ("report/questions/0a.js", False)],
)
def test_a_changed_digit_is_named_with_the_command(results, name, missing):
    if missing:
        (results / name).unlink()
    else:
        (results / name).write_text("accuracy 0.61\n")
    rule = "summarise" if name in TABLES else "report" if name in PAGES else "question_browser"
    with pytest.raises(DataError) as error:
        end_products.check(results, "pocket")
    assert str(results / name) in str(error.value)
    assert f"make run EDITION=pocket ARGS='--forcerun {rule}'" in str(error.value)


def test_a_changed_table_is_not_opened(results, monkeypatch):
    monkeypatch.chdir(results.parent.parent)
    assert report_page(params()) == Path("results/pocket/report/index.html")
    (results / "leaderboard.csv").write_text("accuracy 0.61\n")
    with pytest.raises(DataError, match=r"leaderboard\.csv: not as the run wrote it"):
        report_page(params())
