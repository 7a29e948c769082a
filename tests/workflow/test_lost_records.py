"""Killed runs, runs of other targets and a deleted ``.snakemake``, then other settings: no old result stays."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from known_unknowns import json_files
from tests.workflow.project import Project, reduce

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
DONE = "Nothing to be done"
METRICS = "results/pocket/metrics/uniform/humblebench/metrics.parquet"
CHECKS = "results/pocket/checks/humblebench.json"
JOURNAL = "journal/uniform/humblebench.jsonl"
WHOLE = "results/pocket/params.yaml"
COMMAND = "recorded replies are taken from journal/:  "


def configure(params: dict[str, Any]) -> None:
    reduce(params, models=["uniform"], variants=["original", "noise"], images=2, tracking=False)
    params["models"]["uniform"].pop("shards", None)


def set_key(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(params: dict[str, Any]) -> None:
        *above, last = path.split(".")
        entry = params
        for key in above:
            entry = entry[key]
        entry[last] = value

    return change


NOISE_SEED = set_key("variants.noise.noise_seed", 5)
CONFIDENCE = set_key("statistics.confidence", 0.9)


@pytest.fixture(scope="module")
def measured(untouched: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which a run made the metrics and the check, and no whole run was made."""
    project = untouched.twin(tmp_path_factory.mktemp("lost_records") / "project")
    project.change_params(configure)
    project.snakemake(METRICS, CHECKS)
    return project


def content(root: Path) -> dict[str, Any]:
    """The values of all tables and checks."""
    found: dict[str, Any] = {}
    for path in sorted([*(root / "data").rglob("*.parquet"), *(root / "results").rglob("*")]):
        name = path.relative_to(root).as_posix()
        if path.suffix == ".parquet":
            found[name] = pq.read_table(path).to_pylist()
        elif path.parent.name == "checks":
            found[name] = json_files.read(path)
    return found


@pytest.fixture(scope="module")
def fresh_content(
    measured: Project, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Callable[[dict[str, Any]], None]], dict[str, Any]]:
    """A function that gives the values of a run after a change in a folder without results. Each is made once."""

    @cache
    def content_after(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        fresh = measured.twin(tmp_path_factory.mktemp("fresh") / "project")
        fresh.change_params(change)
        for folder in (".snakemake", "data", "results", "journal"):
            shutil.rmtree(fresh.root / folder)
        fresh.snakemake(METRICS, CHECKS)
        return content(fresh.root)

    return content_after


def lose_records(project: Project) -> None:
    shutil.rmtree(project.root / ".snakemake")


def newly_asked(project: Project) -> int:
    record = project.root / "results/pocket/replies/uniform/humblebench/engine.json"
    found: int = json_files.read(record)["newly_asked"]
    return found


@pytest.mark.parametrize(
    ("change", "asks", "records"),
    [(NOISE_SEED, True, True), (NOISE_SEED, True, False), (CONFIDENCE, False, False)],
    ids=["noise_seed with records", "noise_seed", "confidence"],
)
def test_a_run_of_another_target_does_not_give_its_settings_to_older_results(
    measured: Project, fresh_content: Callable, tmp_path: Path, change: Callable, asks: bool, records: bool
) -> None:
    project = measured.twin(tmp_path / "project")
    project.change_params(change)
    before, journal = content(project.root), (project.root / JOURNAL).read_bytes()
    project.snakemake(CHECKS)
    if records:
        project.snakemake(METRICS, CHECKS)
    else:
        lose_records(project)
        said = project.snakemake(METRICS, CHECKS, code=1)
        assert "no whole run has written the settings that made them" in said
        assert content(project.root) == before
        command = shlex.split(said.partition(COMMAND)[2].splitlines()[0])
        assert command[command.index("--forcerun") :] == ["--forcerun", "fetch", "questions", "check"]
        project.run(*command)
    assert content(project.root) == fresh_content(change) != before
    assert ((project.root / JOURNAL).read_bytes() != journal) == asks
    assert not (project.root / WHOLE).exists()
    assert DONE in project.snakemake(METRICS, CHECKS)


def test_a_run_that_is_killed_at_its_start_does_not_either(measured: Project, tmp_path: Path) -> None:
    project = measured.twin(tmp_path / "project")
    (project.root / WHOLE).write_bytes((project.root / "results/pocket/run.yaml").read_bytes())  # of a whole run
    project.change_params(NOISE_SEED)
    with (project.root / "Snakefile").open("a", encoding="utf-8") as file:
        file.write("\nimport os, signal\nonstart:\n    start_run()\n    os.kill(os.getpid(), signal.SIGKILL)\n")
    project.run("snakemake", "--cores", "1", METRICS, code=None)
    assert not (project.root / WHOLE).exists()
    (project.root / "Snakefile").write_bytes((measured.root / "Snakefile").read_bytes())
    lose_records(project)
    assert "no whole run has written the settings" in project.snakemake(METRICS, code=1)


def test_a_file_of_an_interrupted_job_is_made_again(measured: Project, tmp_path: Path) -> None:
    """Snakemake's mark of an incomplete file is no lost record."""
    project = measured.twin(tmp_path / "project")
    variant = "results/pocket/variants/humblebench/noise.parquet"
    script = project.root / "rules/scripts/vary.py"
    text = script.read_text(encoding="utf-8")
    script.write_text(
        f"{text}\nimport os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos.killpg(0, signal.SIGKILL)\n"
    )
    project.change_params(set_key("editions.pocket.limit", 1))
    project.run("snakemake", "--cores", "1", variant, code=None)
    script.write_text(text, encoding="utf-8")
    assert list((project.root / ".snakemake/incomplete").rglob("*"))
    project.change_params(set_key("editions.pocket.limit", 2))
    assert "Snakemake has no record" not in project.snakemake(variant)
    assert pq.read_table(project.root / variant).num_rows == 2


def test_a_whole_run_writes_its_settings_and_a_clone_takes_them(measured: Project, tmp_path: Path) -> None:
    project = measured.twin(tmp_path / "project")
    project.snakemake()
    written = (project.root / WHOLE).read_bytes()
    assert yaml.safe_load(written)["edition"] == "pocket"
    lose_records(project)
    assert DONE in project.snakemake()
    project.change_params(CONFIDENCE)
    said = project.snakemake("--dry-run", code=1)
    assert "results/pocket/params.yaml has other settings (statistics.confidence)" in said
    assert (project.root / WHOLE).read_bytes() == written
    record = project.root / "results/pocket/replies/uniform/humblebench/engine.json"
    json_files.write(record, json_files.read(record) | {"settings": {}})
    project.change_params(set_key("statistics.confidence", 0.95))
    said = project.snakemake(code=1)
    assert "replies were asked for with other settings" in said and said.rstrip().splitlines()
    assert "--forcerun infer" in said


def test_a_table_of_an_earlier_version_is_named_once(measured: Project, tmp_path: Path) -> None:
    project = measured.twin(tmp_path / "project")
    answers = project.root / "results/pocket/answers/uniform/humblebench/answers.parquet"
    pq.write_table(pq.read_table(answers).drop_columns(["outcome"]), answers)
    lose_records(project)
    said = project.snakemake(METRICS, CHECKS, code=1)
    assert "answers.parquet is a table of an earlier version" in said
    command = shlex.split(said.partition(COMMAND)[2].splitlines()[0])
    project.run(*command, "--dry-run")
    project.run(*command)
    assert newly_asked(project) == 0 and DONE in project.snakemake(METRICS, CHECKS)


def test_a_checkout_does_not_run_the_code_of_another_one(measured: Project, tmp_path: Path) -> None:
    """Two checkouts that share one environment, which has the package of the first."""
    second = measured.twin(tmp_path / "second")
    environment = {"PYTHONPATH": str(measured.root / "src")}
    said = second.run("env", f"PYTHONPATH={environment['PYTHONPATH']}", "snakemake", "--cores", "1", METRICS, code=None)
    assert str(second.root / "src") in said.stdout and str(measured.root / "src") in said.stdout
