from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from known_unknowns.report import drawing
from known_unknowns.report.page import build

from .fake_run import REPOSITORY, FakeRun, make
from .pages import Page, parse


def write(run: FakeRun, *, checks: Path | None = None, root: Path = REPOSITORY) -> dict[str, Page]:
    """Build the run's report, with its charts checked against Vega-Lite's schema; read its pages back, by file name."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(drawing, "VALIDATE", True)
        build(
            run.params,
            run.metrics,
            results=run.results,
            data=run.data,
            comparison=run.comparison,
            out=run.page,
            root=root,
            checks=checks,
            pairs=run.pairs,
        )
    return read(run)


def read(run: FakeRun) -> dict[str, Page]:
    """Read the pages of a report."""
    return {path.name: parse(path.read_text(encoding="utf-8")) for path in sorted(run.page.parent.glob("*.html"))}


@pytest.fixture(scope="session")
def run(made_once: Callable[[str, Callable[[Path], None]], Path]) -> FakeRun:
    """A run of seven models under five variants, with its report written. It must not be changed."""

    def make_run(folder: Path) -> None:
        variants = ("original", "nota_only", "noise", "text_only", "blank")
        made = make(folder / "run", questions=60, variants_kept=variants)
        write(made)
        (folder / "run.pickle").write_bytes(pickle.dumps(made))

    made: FakeRun = pickle.loads((made_once("report", make_run) / "run.pickle").read_bytes())
    return made


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw empty figures, which takes no time."""
    monkeypatch.setattr(drawing, "_render", lambda specification: '<svg width="300" height="200"></svg>')


@pytest.fixture(scope="session")
def pages(run: FakeRun) -> dict[str, Page]:
    return read(run)
