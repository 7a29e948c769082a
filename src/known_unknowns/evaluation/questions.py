"""The questions of an evaluation outside the workflow: of a project, of a folder, or rendered."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from known_unknowns.benchmark import registry
from known_unknowns.config import FolderData, Params, ScenesData
from known_unknowns.data.questions import normalise
from known_unknowns.errors import ConfigError
from known_unknowns.progress import progress
from known_unknowns.run_command import run_command


def questions_of(params: Params, benchmark: str, data: str | Path | None, scratch: Path) -> tuple[Path, str, bool]:
    """Return the folder of a benchmark's questions, what they are, and whether they are rendered.

    ``data`` is an edition, a folder with questions.parquet or one of own files, which are read into ``scratch``; None
    for those of the pocket edition, which are rendered once in a process. Raises ConfigError if there are no such
    questions.
    """
    if data is None:
        return _rendered(params, benchmark), "pocket edition", True
    named = params.file.editions.get(str(data))
    edition = named.data if named and named.data else str(data)
    in_project = Path("data", edition, "questions", benchmark)
    for folder in (Path(data), in_project):
        if (folder / "questions.parquet").is_file():
            source = params.benchmark(benchmark).data.get(edition)
            return folder, str(data), folder == in_project and isinstance(source, ScenesData)
    if Path(data).is_dir() and registry.get(benchmark).has("contents"):
        normalise(benchmark, Path(data), scratch / "questions", settings=FolderData(source="folder", path=str(data)))
        return scratch / "questions", str(data), False
    table = f"{in_project}/questions.parquet"
    raise ConfigError(
        f"{data} is no folder of questions, and there is no {table} here; in a project, "
        f"`{run_command(str(data), table)}` makes it",
        path="data",
    )


_RENDERED: dict[str, TemporaryDirectory[str]] = {}
"""Folders of rendered questions by benchmark, which end with the process."""


def _rendered(params: Params, benchmark: str) -> Path:
    pocket = registry.pocket_of(benchmark)
    entry = params.benchmark(benchmark).data.get("pocket")
    if pocket is None or not isinstance(entry, ScenesData):
        raise ConfigError(f"{benchmark} has no rendered questions; name a folder of questions", path="data")
    if benchmark in _RENDERED:
        return Path(_RENDERED[benchmark].name, "questions")
    kept = TemporaryDirectory(prefix="known-unknowns-")
    scratch = Path(kept.name)
    with progress(f"rendering {benchmark}", entry.images) as advance:
        pocket.render(
            scratch / "raw",
            seed=entry.seed,
            images=entry.images,
            questions_per_image=entry.questions_per_image,
            advance=advance,
        )
    normalise(benchmark, scratch / "raw", scratch / "questions", settings=entry)
    _RENDERED[benchmark] = kept
    return scratch / "questions"
