"""Projects for the workflow's tests: one that nothing was run in, and one with a finished run."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.workflow.project import RESPONDENTS, Project, reduce

VARIANTS = ["original", "nota_only", "noise"]


@pytest.fixture(scope="session")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which nothing was run. Tests must not run jobs in it: they take a twin."""
    project = Project.copy_of_tree(tmp_path_factory.mktemp("untouched"))
    project.change_params(partial(reduce, models=RESPONDENTS, variants=VARIANTS, images=6, tracking=True))
    project.commit("a small configuration")
    return project


@pytest.fixture(scope="session")
def finished(untouched: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, str]:
    """A project with a finished run of the whole workflow, and what that run printed. Not to be changed."""
    project = untouched.twin(tmp_path_factory.mktemp("finished") / "project")
    return project, project.snakemake()


@pytest.fixture
def fresh(untouched: Project, tmp_path: Path) -> Project:
    """A project of the test's own in which nothing was run."""
    return untouched.twin(tmp_path / "project")


@pytest.fixture
def rerun(finished: tuple[Project, str], tmp_path: Path) -> Project:
    """A project of the test's own with a finished run."""
    return finished[0].twin(tmp_path / "project")
