"""Projects for the tests of the workflow: one without a run, and one with a finished run."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock

from tests.workflow.project import RESPONDENTS, Project, reduce

VARIANTS = ["original", "nota_only", "noise"]


@pytest.fixture(scope="session")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project without a run. Tests must not run jobs in it; they copy it with `twin`."""
    project = Project.copy_of_tree(tmp_path_factory.mktemp("untouched"))
    project.change_params(partial(reduce, models=RESPONDENTS, variants=VARIANTS, images=6, tracking=True))
    project.change_params(lambda params: params["models"]["uniform"].update(shards=2))
    project.commit("a small configuration")
    return project


@pytest.fixture(scope="session")
def finished(untouched: Project, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> tuple[Project, str]:
    """A project with a finished run of the whole workflow, and the output of the run. It must not be changed.

    It takes long, so that the processes of pytest-xdist share one.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "finished"
    printed = folder / "printed.txt"
    with FileLock(f"{folder}.lock"):
        if not printed.is_file():
            shutil.rmtree(folder, ignore_errors=True)
            text = untouched.twin(folder / "project").snakemake()
            printed.write_text(text, encoding="utf-8")
    return Project(folder / "project"), printed.read_text(encoding="utf-8")


@pytest.fixture
def fresh(untouched: Project, tmp_path: Path) -> Project:
    """A new copy of the project without a run."""
    return untouched.twin(tmp_path / "project")


@pytest.fixture
def rerun(finished: tuple[Project, str], tmp_path: Path) -> Project:
    """A new copy of the project with a finished run."""
    return finished[0].twin(tmp_path / "project")
