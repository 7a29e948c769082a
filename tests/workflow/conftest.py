"""Projects for the tests of the workflow: one without a run, and three with a finished run."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.servers.endpoint import Endpoint
from tests.workflow import asked, forked
from tests.workflow.project import RESPONDENTS, Project, reduce

VARIANTS = ["original", "nota_only", "noise"]
TEN = "questions: {Overall: 10, Object: 4, Relation: 3, Attribute: 3}"


@pytest.fixture(scope="session")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project without a run. Tests must not run jobs in it; they copy it with `twin`.

    The published HumbleBench has ten questions there, those that the tests' hubs have.
    """
    project = Project.copy_of_tree(tmp_path_factory.mktemp("untouched"))
    published = project.root / "src/known_unknowns_benchmarks/humblebench/published.yaml"
    text, count = re.subn(r"questions: \{Overall: 22831, .*?\}", TEN, published.read_text(encoding="utf-8"))
    text, of_e = re.subn("questions: 3326", "questions: 2", text)
    assert (count, of_e) == (1, 1)
    published.write_text(text, encoding="utf-8")
    project.change_params(partial(reduce, models=RESPONDENTS, variants=VARIANTS, images=6, tracking=True))
    project.change_params(lambda params: params["models"]["uniform"].update(shards=2))
    project.commit("a small configuration")
    return project


@pytest.fixture(scope="session")
def finished(untouched: Project, made_once: Callable[[str, Callable[[Path], None]], Path]) -> tuple[Project, str]:
    """A project with a finished run of the whole workflow, and the output of the run. It must not be changed."""

    def make(folder: Path) -> None:
        text = untouched.twin(folder / "project").snakemake()
        (folder / "printed.txt").write_text(text, encoding="utf-8")

    folder = made_once("finished", make)
    return Project(folder / "project"), (folder / "printed.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def asked_once(untouched: Project, made_once: Callable[[str, Callable[[Path], None]], Path]) -> Project:
    """A project with a finished run of the models of `asked`. It must not be changed."""

    def make(folder: Path) -> None:
        project = untouched.twin(folder / "project")
        with pytest.MonkeyPatch.context() as environment, Endpoint(reply=asked.by_temperature) as server:
            environment.setenv("OPENAI_API_KEY", "any")
            project.change_params(partial(asked.configure, url=server.url))
            project.snakemake()

    return Project(made_once("asked", make) / "project")


@pytest.fixture(scope="session")
def reproduced(made_once: Callable[[str, Callable[[Path], None]], Path]) -> Project:
    """A repository with a run by `dvc repro`, one of its models with weights. It must not be changed."""

    def make(folder: Path) -> None:
        project = Project.copy_of_tree(folder / "project")
        models = ["oracle", "always_a", "pocket"]
        project.change_params(partial(reduce, models=models, variants=["original", "noise"], images=2, tracking=False))
        project.commit("a small configuration")
        forked.write_snakemake(project.root / ".venv/bin/snakemake")  # which the stage finds first
        project.run("dvc", "repro")

    return Project(made_once("reproduced", make) / "project")


@pytest.fixture
def fresh(untouched: Project, tmp_path: Path) -> Project:
    """A new copy of the project without a run."""
    return untouched.twin(tmp_path / "project")


@pytest.fixture
def rerun(finished: tuple[Project, str], tmp_path: Path) -> Project:
    """A new copy of the project with a finished run."""
    return finished[0].twin(tmp_path / "project")
