from __future__ import annotations

import pytest

from known_unknowns.report.tables import Run
from known_unknowns_benchmarks.actiview.outcomes import Outcomes
from tests.unit.benchmarks.actiview import fake_report
from tests.unit.report.conftest import read, write
from tests.unit.report.fake_run import FakeRun
from tests.unit.report.pages import Page


@pytest.fixture(scope="session")
def perceived(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    """A run of three models through ActiView's pipelines, with its report written."""
    made = fake_report.make(tmp_path_factory.mktemp("actiview"))
    write(made)
    return made


@pytest.fixture(scope="session")
def perceived_pages(perceived: FakeRun) -> dict[str, Page]:
    return read(perceived)


@pytest.fixture(scope="session")
def perceived_run(perceived: FakeRun) -> Run:
    return fake_report.of(perceived)


@pytest.fixture(scope="session")
def outcomes(perceived: FakeRun, perceived_run: Run) -> Outcomes:
    return Outcomes(perceived_run, results=perceived.results, data=perceived.data)


@pytest.fixture
def run(perceived: FakeRun) -> FakeRun:
    return perceived


@pytest.fixture
def pages(perceived_pages: dict[str, Page]) -> dict[str, Page]:
    return perceived_pages


@pytest.fixture
def page(pages: dict[str, Page]) -> Page:
    return pages["benchmark-actiview.html"]


@pytest.fixture
def made(perceived_run: Run) -> Run:
    return perceived_run
