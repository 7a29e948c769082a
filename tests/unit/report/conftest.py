from __future__ import annotations

from pathlib import Path

import pytest

from known_unknowns.report.page import build

from .fake_run import REPOSITORY, FakeRun, make
from .pages import Page, parse


def write(run: FakeRun, *, checks: Path | None = None, root: Path = REPOSITORY) -> Page:
    """Build the run's report and read it back."""
    build(
        run.params,
        run.metrics,
        results=run.results,
        data=run.data,
        comparison=run.comparison,
        out=run.page,
        root=root,
        checks=checks,
    )
    return parse(run.page.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    """A run of five models under all variants, with its report written."""
    made = make(tmp_path_factory.mktemp("run"), questions=150)
    write(made)
    return made


@pytest.fixture(scope="session")
def page(run: FakeRun) -> Page:
    return parse(run.page.read_text(encoding="utf-8"))
