"""Changed settings of models that are asked: new results after exactly one run, whatever happened before it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from known_unknowns import tables
from tests.servers.endpoint import LETTERS, Endpoint
from tests.workflow import asked
from tests.workflow.asked import METRICS, REPLIES
from tests.workflow.project import Project

pytest.importorskip("openai")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
MODELS = ["oracle", "hosted"]
DONE = "Nothing to be done"


@pytest.fixture(scope="module")
def server() -> Iterator[Endpoint]:
    """An endpoint whose replies follow from the temperature."""
    with pytest.MonkeyPatch.context() as environment, Endpoint(reply=asked.by_temperature) as running:
        environment.setenv("OPENAI_API_KEY", "any")
        yield running


@pytest.fixture(scope="module")
def finished(untouched: Project, server: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a finished run of an endpoint's model and a scripted respondent. It must not be changed."""
    project = untouched.twin(tmp_path_factory.mktemp("settings") / "project")
    project.change_params(partial(asked.configure, url=server.url))
    project.change_params(lambda params: params["editions"]["pocket"].update(models=MODELS))
    project.snakemake()
    return project


@pytest.fixture
def project(finished: Project, server: Endpoint, tmp_path: Path) -> Iterator[Project]:
    """A copy of it, and an endpoint that has forgotten its requests."""
    server.log.clear()
    yield finished.twin(tmp_path / "project")
    server.down = False


def heat(project: Project, temperature: float) -> None:
    """Change the temperature, and with it every reply."""
    project.change_params(lambda params: params["models"]["hosted"].update(decoding={"temperature": temperature}))


def labels(project: Project, edition: str = "pocket") -> set[str]:
    """The replies of the endpoint's model."""
    path = project.root / REPLIES["hosted"].replace("results/pocket", f"results/{edition}")
    rows = tables.read_table(path, tables.REPLIES, ["reply"]).column("reply").to_pylist()
    return set(rows)


def label(temperature: float) -> set[str]:
    return {LETTERS[round(10 * temperature)]}


def results(project: Project) -> list[bytes]:
    """What follows from the replies of the endpoint's model."""
    return [(project.root / path).read_bytes() for path in (METRICS["hosted"], "results/pocket/leaderboard.csv")]


def questions_asked(server: Endpoint) -> int:
    return sum(request.path == "/v1/chat/completions" and b'"messages":[]' not in request.raw for request in server.log)


def test_a_changed_temperature_gives_new_replies_after_one_run(project):
    before = results(project)
    heat(project, 0.3)
    project.snakemake()
    assert labels(project) == label(0.3)
    assert all(old != new for old, new in zip(before, results(project), strict=True))
    assert DONE in project.snakemake()


def test_the_first_try_failed_and_the_cause_was_mended(project, server):
    page = project.root / "results/pocket/report/index.html"
    report, before = page.read_bytes(), results(project)
    heat(project, 0.3)
    server.down = True
    said = project.snakemake(code=None)
    assert "models.hosted" in said and "Partial report  results/pocket/partial_report/index.html, without hosted" in said
    partial_page = project.root / "results/pocket/partial_report/index.html"
    assert "missing: hosted." in partial_page.read_text(encoding="utf-8")
    assert page.read_bytes() == report
    server.down = False
    project.snakemake()
    assert labels(project) == label(0.3)
    assert all(old != new for old, new in zip(before, results(project), strict=True))
    assert not partial_page.parent.exists()
    assert DONE in project.snakemake()


def test_the_questions_failed_and_the_cause_was_mended(project, server):
    """The probe succeeds, and then no question is answered: the old replies are gone, and are not reported."""
    heat(project, 0.3)
    server.served, reply = None, server.reply
