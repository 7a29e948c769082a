"""The project with DVC: the real DVC and the real workflow, in a new repository."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.browser import CHROMIUM, Browser
from tests.paths import ROOT
from tests.workflow import forked
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
RESULTS = [
    "metrics.json",
    "models/oracle.json",
    "comparison.parquet",
    "model_comparison.parquet",
    "leaderboard.csv",
    "report/index.html",
    "plots/stress_tests.csv",
    "metrics/oracle/humblebench/metrics.parquet",
]


def dvc(project: Project, *arguments: str | Path, code: int | None = 0) -> str:
    return project.run("dvc", *arguments, code=code).stdout


def shown(project: Project, *command: str) -> dict:
    """The JSON that a command of DVC prints, without preceding text."""
    printed = dvc(project, *command, "--json")
    return json.loads(printed[printed.index("{") :])


@pytest.fixture(scope="module")
def pinned(reproduced: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository with a run made by `dvc repro`, its data pinned, and all of it committed."""
    project = reproduced.twin(tmp_path_factory.mktemp("dvc") / "project")
    dvc(
        project,
        "--wait-for-lock",
        "add",
        "data/pocket/raw/humblebench",
        "data/pocket/questions/humblebench",
    )
    project.commit("a run, and its data pinned")
    return project


def test_the_stage_makes_its_outputs_and_is_then_up_to_date(pinned):
    for name in RESULTS:
        assert (pinned.root / "results/pocket" / name).is_file()
    assert "up to date" in dvc(pinned, "repro")
    assert "up to date" in dvc(pinned, "status")


def test_the_stage_does_not_depend_on_the_code(pinned, tmp_path):
    """Snakemake owns the graph: a commit to the code leaves dvc.lock right."""
    changed = pinned.twin(tmp_path / "changed")
    with (changed.root / "src/known_unknowns/version.py").open("a", encoding="utf-8") as file:
        file.write("# a comment\n")
    assert "up to date" in dvc(changed, "status")
    with (changed.root / "params.lock.yaml").open("a", encoding="utf-8") as file:
        file.write("added: true\n")
    assert "params.lock.yaml" in dvc(changed, "status")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder as files, as any web server does; yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def clone_of(project: Project, root: Path) -> Project:
    project.run("git", "clone", "--quiet", project.root, root)
    return Project(root, project.environment)


def test_two_people_share_a_finished_run(pinned, tmp_path):
    """The six lines of docs/data.md: a folder, and the same folder behind a web server."""
    owner, store = pinned.twin(tmp_path / "owner"), tmp_path / "store"
    dvc(owner, "remote", "add", "--local", "--default", "store", store)
    dvc(owner, "push")
    with served(store) as address:
        for number, remote in enumerate((store, address)):
            clone = clone_of(owner, tmp_path / f"clone {number}")
            assert not (clone.root / "results/pocket").exists()
            assert "no remote" in dvc(clone, "pull", code=None).lower()
            dvc(clone, "remote", "add", "--local", "--default", "store", remote)
            dvc(clone, "pull")
            for name in RESULTS:
                assert (clone.root / "results/pocket" / name).read_bytes() == (
                    owner.root / "results/pocket" / name
                ).read_bytes()
            assert "up to date" in dvc(clone, "status")


def test_a_clone_without_data_makes_them(pinned, tmp_path):
    clone = clone_of(pinned, tmp_path / "clone")
    forked.write_snakemake(clone.root / ".venv/bin/snakemake")
    dvc(clone, "repro")
    assert all((clone.root / "results/pocket" / name).is_file() for name in RESULTS)
    clone.run("known-unknowns", "data", "pin", "--results")  # `make record`
    assert "up to date" in dvc(clone, "status")


def test_git_tracks_the_pins_and_not_the_data(pinned):
    tracked = pinned.run("git", "ls-files").stdout.splitlines()
    assert "dvc.lock" in tracked
    assert "data/pocket/raw/humblebench.dvc" in tracked
    made = [name for name in tracked if name.startswith(("results/", "journal/"))]
    assert made == ["results/README.md"]
    assert [name for name in tracked if name.startswith("data/") and not name.endswith((".dvc", ".gitignore"))] == []


def test_a_run_leaves_the_committed_pins_as_they_are(tmp_path):
    """Of the whole pocket edition, as `make record` writes them. A pin that differs is stale: run `make record`."""
    project = Project.copy_of_tree(tmp_path / "project")
    pins = [path.relative_to(ROOT) for path in (ROOT / "data/pocket").glob("*/*.dvc")]
    for path in pins:
        (project.root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, project.root / path)
    project.commit("the pins")
    names = sorted(path.stem for path in pins if path.parent.name == "questions")
    assert names
    project.snakemake(*(f"data/pocket/questions/{name}/questions.parquet" for name in names))
    dvc(project, "add", *(path.with_suffix("") for path in pins))
    assert project.run("git", "status", "--porcelain").stdout == ""


def test_metrics_are_shown_in_one_line_per_model(pinned):
    header, *lines = dvc(pinned, "metrics", "show").splitlines()
    names = ("accuracy", "recognised", "recognised_abstained", "recognised_refused", "unusable")
    assert header.split() == ["Path", *(f"humblebench.{name}" for name in names)]
    assert [line.split()[0] for line in lines] == [
        f"results/pocket/models/{name}.json" for name in ("always_a", "oracle", "pocket")
    ]
    assert (lines[1].split()[1], lines[1].split()[-1]) == ("1.0", "0.0")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_plots_open_without_a_network(pinned, tmp_path):
    dvc(pinned, "plots", "show", "--out", tmp_path / "plots")
    page = tmp_path / "plots/index.html"
    assert "<script" not in page.read_text(encoding="utf-8")
    with Browser() as browser:  # it has no network
        browser.open(page)
        widths = browser.evaluate("[...document.images].map(image => image.naturalWidth)")
        assert browser.errors == []
        assert all(request.startswith("file:") for request in browser.requests)
    figures = list((pinned.root / "results/pocket/report/figures").iterdir())
    assert len(widths) == len(figures) > 0
    assert all(width > 100 for width in widths)


def test_diffs_show_the_changes(pinned, tmp_path):
    changed = pinned.twin(tmp_path / "changed")
    changed.change_params(lambda params: params["models"]["always_a"].update(behaviour="oracle"))
    params = shown(changed, "params", "diff")["params.yaml"]
    assert params == {"models.always_a.behaviour": {"old": "always_a", "new": "oracle"}}

    changed.snakemake("results/pocket/metrics.json")  # the step that writes the files that DVC compares
    difference = shown(changed, "metrics", "diff")
    assert list(difference) == ["results/pocket/models/always_a.json"]
    change = difference["results/pocket/models/always_a.json"]["humblebench.accuracy"]
    assert change["old"] < change["new"] == 1
    check_results_that_the_lock_does_not_name(changed)


def check_results_that_the_lock_does_not_name(project: Project) -> None:
    """After a plain run, `dvc.lock` names results that only another machine has."""
    shutil.rmtree(project.root / ".dvc/cache")
    models = sorted((project.root / "results/pocket/models").iterdir())
    lines = dvc(project, "metrics", "show", *models).splitlines()[1:]
    assert [line.split()[0] for line in lines] == [f"results/pocket/models/{path.name}" for path in models]
    project.run("known-unknowns", "data", "pin", "--results")  # `make record`
    assert dvc(project, "metrics", "show").splitlines()[1:] == lines
