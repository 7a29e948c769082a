"""Projects that ``known-unknowns init`` creates, and commands that need none."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from typer.testing import CliRunner

from known_unknowns import cli
from known_unknowns.errors import ConfigError, DataError, MachineError
from known_unknowns.workflow import configuration, project
from known_unknowns.workflow.run import shell_prefix
from tests.paths import ROOT

runner = CliRunner()


def test_a_project_has_what_its_snakefile_includes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(cli.app, ["init", "mine"])
    assert result.exit_code == 0 and "cd mine" in result.output and "snakemake --dry-run" in result.output
    made = {path.relative_to(tmp_path / "mine") for path in Path("mine").resolve().rglob("*") if path.is_file()}
    snakefile = Path("mine/Snakefile").read_text(encoding="utf-8")
    included = [line.split('"')[1] for line in snakefile.splitlines() if line.startswith("include:")]
    assert len(included) > 5 and {Path(name) for name in included} <= made
    assert {path.relative_to(ROOT) for path in (ROOT / "envs").glob("*.yaml")} <= made
    assert Path("models/pocket/model.safetensors") in made and Path("data/pocket/raw/mmsap.dvc") in made
    assert Path("mine/rules/common.smk").read_bytes() == (ROOT / "rules/common.smk").read_bytes()
    monkeypatch.chdir("mine")
    assert configuration.load().edition == "pocket"


def test_the_build_copies_the_same_files(monkeypatch):
    monkeypatch.setattr("setuptools.setup", lambda **arguments: None)
    assert set(runpy.run_path(str(ROOT / "setup.py"))["project_files"]()) == set(project.template())


def test_a_folder_that_is_not_empty_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"is not empty \(notes.txt\)"):
        project.create(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(ConfigError, match="is a file"):
        project.create(tmp_path / "notes.txt")


def test_a_failed_copy_leaves_nothing(tmp_path, monkeypatch):
    def fail(source, target):
        Path(target).write_text("part")
        if Path(target).name == "params.yaml":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(project.shutil, "copyfile", fail)
    with pytest.raises(MachineError, match="the disk is full; no project was created"):
        project.create(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_jobs_outside_a_checkout_use_the_installed_package(tmp_path):
    assert "PYTHONPATH" in shell_prefix(ROOT / "src")
    assert "PYTHONPATH" not in shell_prefix(tmp_path / "src")


def test_published_files_are_checked_without_a_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(cli.app, ["check", "humblebench", "--raw", str(tmp_path / "absent")])
    assert isinstance(result.exception, DataError)  # of the folder, not of params.yaml
    result = runner.invoke(cli.app, ["check", "humblebench"])
    assert isinstance(result.exception, ConfigError) and "params.yaml" in str(result.exception)
