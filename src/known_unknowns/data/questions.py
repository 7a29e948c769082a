"""The table of a benchmark's questions, from published files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.config import DataEntry, ReleasedData
from known_unknowns.data import released_cells
from known_unknowns.data.terms import terms_of
from known_unknowns.files import write_text
from known_unknowns.progress import Advance, progress
from known_unknowns.records import Question


def normalise(benchmark: str, raw: Path, out: Path, *, settings: DataEntry | None = None, workers: int = 1) -> None:
    """Convert a benchmark's published files to questions.parquet, images and LICENCE.md.

    The table is written last, so a folder with a table is complete. ``settings`` is the data's entry in params.yaml.
    ``workers`` processes decode images; their number changes only the run time.
    """
    (out / "images").mkdir(parents=True, exist_ok=True)  # it is there without any image too
    write_text(out / "LICENCE.md", terms_of(benchmark, settings).as_text())
    with progress(f"reading {benchmark}", 0) as advance:
        questions = _loaded(benchmark, raw, out, settings=settings, advance=advance, workers=workers)
        tables.write_questions(out / "questions.parquet", questions)


def _loaded(
    benchmark: str, raw: Path, out: Path, *, settings: DataEntry | None, advance: Advance, workers: int
) -> Iterator[Question]:
    """Yield the questions of published files, or those of released replies."""
    found = registry.get(benchmark)
    if not isinstance(settings, ReleasedData):
        yield from found.load(raw, out, settings=settings, advance=advance, workers=workers)
    else:
        for question in released_cells.interface(benchmark).load(raw, out, settings):
            yield question
            advance(1)
