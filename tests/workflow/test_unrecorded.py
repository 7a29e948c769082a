"""Results without Snakemake's records, after a changed key: the printed command gives those of a fresh run."""

from __future__ import annotations

import shlex
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from known_unknowns import json_files
from tests.workflow.project import Project, reduce

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
TARGETS = ["results/pocket/metrics.json", "results/pocket/checks/multiple_choice.json"]
QUESTIONS = """set,question,A,B,C,answer
old,Which planet has the most moons?,Mars,Saturn,None of the above,B
old,How many legs has a spider?,Six,Ten,None of the above,C
new,What is the square root of nine?,Two,Three,None of the above,B
"""
DATA, RESULTS = "data/pocket", "results/pocket"
REPLIES = f"{RESULTS}/replies/uniform/{{}}/replies.parquet"
CHANGES = {
    "the source of rendered data, and the rows of one's own": (
        {"benchmarks.humblebench.data.pocket.seed": 2, "benchmarks.multiple_choice.data.pocket.only.set": "new"},
        [
            f"{DATA}/raw/humblebench",
            f"{DATA}/questions/multiple_choice/questions.parquet",
            f"{RESULTS}/checks/multiple_choice.json",
        ],
    ),
    "an argument of a variant, and a model": (
        {"variants.noise.noise_seed": 1, "models.uniform.behaviour": "always_a"},
        [f"{RESULTS}/variants/humblebench/noise.parquet", REPLIES.format("multiple_choice")],
    ),
    "parsers": (
        {"parsers": ["official"]},
        # The protocol of the other benchmark asks again after a refusal, which the parsers decide.
        [f"{RESULTS}/answers/uniform/humblebench/answers.parquet", REPLIES.format("multiple_choice")],
    ),
    "the confidence of intervals": (
        {"statistics.confidence": 0.9},
        [f"{RESULTS}/metrics/uniform/{name}/metrics.parquet" for name in ("humblebench", "multiple_choice")],
    ),
}


def configure(params: dict[str, Any]) -> None:
    reduce(params, models=["uniform"], variants=["original", "noise"], images=2, tracking=False)
    params["models"]["uniform"].pop("shards")
    params["editions"]["pocket"]["benchmarks"] += ["multiple_choice"]
    own = params["benchmarks"]["multiple_choice"]
    own |= {"variants": ["original"], "seeds": {}}
    own["data"]["pocket"] = {"source": "folder", "path": "my_data", "without_image": True, "only": {"set": "old"}}


@pytest.fixture(scope="module")
def finished(untouched: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the results of two benchmarks, one with questions of one's own."""
    project = untouched.twin(tmp_path_factory.mktemp("unrecorded") / "project")
    (project.root / "my_data").mkdir()
    (project.root / "my_data/questions.csv").write_text(QUESTIONS)
    project.change_params(configure)
    project.snakemake(*TARGETS)
    return project


def change(keys: dict[str, Any], params: dict[str, Any]) -> None:
    for path, value in keys.items():
        *above, last = path.split(".")
        entry = params
        for key in above:
            entry = entry[key]
        entry[last] = value


def content(root: Path) -> dict[str, Any]:
    """The values of all tables and checks, and the bytes of all images."""
    found: dict[str, Any] = {}
    for path in sorted([*(root / "data").rglob("*"), *(root / "results").rglob("*")]):
        name = path.relative_to(root).as_posix()
        if path.suffix == ".parquet":
            found[name] = pq.read_table(path).to_pylist()
        elif path.suffix == ".png":
            found[name] = path.read_bytes()
        elif path.parent.name == "checks":
            found[name] = json_files.read(path)
    return found


@pytest.mark.parametrize("kind", CHANGES)
def test_the_printed_command_gives_the_results_of_a_fresh_run(finished: Project, tmp_path: Path, kind: str) -> None:
    keys, files = CHANGES[kind]
    project = finished.twin(tmp_path / "project")
    project.change_params(partial(change, keys))
    shutil.rmtree(project.root / ".snakemake")
    before = content(project.root)
    printed = project.snakemake(*TARGETS, code=1)
    command = shlex.split(printed.partition("make them again:  ")[2].splitlines()[0])
    assert command[command.index("--forcerun") + 1 :] == files
    assert content(project.root) == before
    project.run(*command)
    fresh = finished.twin(tmp_path / "fresh")
    fresh.change_params(partial(change, keys))
    for folder in (".snakemake", "data", "results", "journal"):
        shutil.rmtree(fresh.root / folder)
    fresh.snakemake(*TARGETS)
    assert content(project.root) == content(fresh.root) != before
    assert "Nothing to be done" in project.snakemake(*TARGETS)


def test_a_forced_run_that_fails_leaves_the_rest_to_the_next_one(finished: Project, tmp_path: Path) -> None:
    project = finished.twin(tmp_path / "project")
    project.change_params(partial(change, {"variants.noise.noise_seed": 1}))
    shutil.rmtree(project.root / ".snakemake")
    noise = f"{RESULTS}/variants/humblebench/noise.parquet"
    (project.root / "my_data/questions.csv").unlink()
    project.run("snakemake", "--cores", "1", *TARGETS, "--forcerun", f"{DATA}/raw/multiple_choice", noise, code=None)
    (project.root / "my_data/questions.csv").write_text(QUESTIONS)
    assert noise in project.snakemake(*TARGETS, code=1)
