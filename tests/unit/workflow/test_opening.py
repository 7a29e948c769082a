"""What `known-unknowns open` prints of other stores, and when it opens a browser."""

from __future__ import annotations

import json
import sqlite3
import webbrowser
from contextlib import closing
from pathlib import Path

import pytest

from known_unknowns.config import Tracking
from known_unknowns.errors import DataError
from known_unknowns.records import Cell
from known_unknowns.tables import write_replies
from known_unknowns.tracking.store import open_store
from known_unknowns.workflow.opening import open_in_browser, places, report_page
from tests.factories import params_from
from tests.unit.report.fake_run import params

TABLE = "#/experiments/1/runs"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a report and logged runs."""
    report = tmp_path / "first/results/pocket/report"
    report.mkdir(parents=True)
    (report / "index.html").write_text("<html>")
    (report.parent / "tracking.json").write_text(json.dumps({"page": TABLE}))
    monkeypatch.chdir(tmp_path / "first")
    return tmp_path / "first"


def printed(**tracking: object) -> list[str]:
    chosen = params()
    settings = {"enabled": True, "uri": "sqlite:///mlflow.db", "artifacts": "mlartifacts", "experiment": "e"} | tracking
    chosen = params_from({**chosen.file.plain(), "tracking": settings})
    return [line[11:] for line in places(chosen, report_page(chosen))]


@pytest.mark.parametrize(
    ("tracking", "shown"),
    [
        ({"enabled": False}, ["no runs of this edition"]),
        ({"uri": "databricks://me"}, ["databricks://me"]),
        ({"uri": "https://me:pass@runs.example.org/"}, [f"https://me:***@runs.example.org/{TABLE}"]),
        (
            {"uri": "postgresql://me:pa:ss@t@db/runs"},
            ["mlflow ui --backend-store-uri 'postgresql://me:***@db/runs'", f"http://127.0.0.1:5000/{TABLE}"],
        ),
    ],
)
def test_other_stores(root, tracking, shown):
    found = printed(**tracking)[2:]
    assert len(found) == len(shown) and all(map(str.endswith, found, shown))
    assert not [password for password in ("pass@", "ss@t") if password in "".join(found)]


def test_the_places_of_artifacts_are_corrected_in_a_moved_project(root, monkeypatch):
    tracking = Tracking(enabled=True, uri="sqlite:///mlflow.db", artifacts="mlartifacts", experiment="e")
    with open_store(tracking) as store:
        run = store.client.create_run(store.experiment_id).info
        store.client.log_text(run.run_id, "logged", "own.txt")
    moved = root.rename(root.with_name("second"))
    monkeypatch.chdir(moved)
    printed()
    with closing(sqlite3.connect(moved / "mlflow.db")) as connection:
        ((place,),) = connection.execute("SELECT artifact_uri FROM runs").fetchall()
    assert Path(place.removeprefix("file://"), "own.txt").read_text() == "logged"
    assert place.startswith((moved / "mlartifacts").as_uri())


def test_a_damaged_database_is_named(root):
    (root / "mlflow.db").write_text("no database")
    with pytest.raises(DataError, match=r"mlflow\.db: .*file is not a database"):
        printed()


@pytest.mark.parametrize("left", [0, 100, -1])
def test_a_truncated_table_of_replies_is_named(root, left):
    """The command is typed in tests/workflow/test_open.py."""
    chosen = params()
    table = Path("results/pocket/replies", chosen.models[0], chosen.benchmarks[0], "replies.parquet")
    write_replies(table, {Cell("original", 0): []})
    assert report_page(chosen).is_file()
    table.write_bytes(table.read_bytes()[:left])
    with pytest.raises(DataError) as error:
        report_page(chosen)
    again = f"snakemake --forcerun {table} --config edition=pocket"
    assert str(error.value) == f"{table}: truncated, so that its replies cannot be read; make it again with  {again}"


@pytest.mark.parametrize("display", [True, False])
def test_a_browser_is_opened_where_there_is_a_display(root, monkeypatch, display):
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    if display:
        monkeypatch.setenv("DISPLAY", ":0")
    open_in_browser(report_page(params()))
    assert opened == ([(root / "results/pocket/report/index.html").as_uri()] if display else [])
