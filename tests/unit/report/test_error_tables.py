"""The section on kinds of errors: shares with intervals, examples with links, and hostile names."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from known_unknowns.errors import DataError
from known_unknowns.report.error_tables import shares
from known_unknowns.workflow.rule_functions import error_tables
from known_unknowns_construction.review.error_analysis import ErrorShare, write_table

from .conftest import write
from .fake_run import make, params

OWN = "benchmark-humblebench.html"
HOSTILE = '"><img src=x onerror=alert(1)>'
ROWS = [
    ErrorShare("Overall", "perception", 1, 4, 0.25, 0.05, 0.7, 6, 0, ("12",)),
    ErrorShare("Overall", "counting", 3, 4, 0.75, 0.3, 0.95, 6, 0, ("3", HOSTILE)),
    ErrorShare("Overall", "parser", 0, 4, 0.0, 0.0, 0.4, 6, 0, ()),
    ErrorShare("Object", "counting", 3, 3, 1.0, 0.4, 1.0, 2, 0, ("3",)),
]


@pytest.mark.usefixtures("no_figures")
def test_the_page_of_the_benchmark_has_shares_and_examples(tmp_path: Path) -> None:
    run = make(tmp_path, questions=15, variants_kept=["original"])
    model = run.params.models[0]
    path = run.results / "errors" / model / "humblebench" / "original-seed0.csv"
    write_table(ROWS, path)
    page = write(run)[OWN]
    shown = " ".join(page["humblebench-errors"].text.split())
    assert "75.0 [30.0, 95.0] n = 4 6 pending3" in shown
    assert "25.0 [5.0, 70.0] n = 4 6 pending1" in shown
    assert "parser" not in shown
    links = [e.attributes["href"] for e in page.all("a") if "&question=" in e.attributes.get("href", "")]
    assert f"questions.html#benchmark=humblebench&question=3&model={model}&variant=original&seed=0" in links
    assert not page.all("img") and any(HOSTILE in e.text for e in page.all("a"))


def test_another_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "errors" / "m" / "humblebench" / "original-seed0.csv"
    path.parent.mkdir(parents=True)
    path.write_text("tag\nx\n")
    run = SimpleNamespace(models=("m",), benchmark="humblebench")
    with pytest.raises(DataError, match=r"original-seed0\.csv: not a table of errors"):
        shares(run, tmp_path)


def test_tables_are_made_for_tagged_cells_of_the_edition_only(tmp_path: Path) -> None:
    found = params()
    model = found.models[0]
    for cell in (
        f"{model}/humblebench/original-seed0",
        f"{model}/humblebench/absent-seed0",
        "other/humblebench/original-seed0",
    ):
        file = tmp_path / "reviews" / found.edition / "errors" / f"{cell}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    assert error_tables(found, tmp_path) == [f"<results>/errors/{model}/humblebench/original-seed0.csv"]
