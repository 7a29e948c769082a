"""Digests of the files that a run is for: tables, records and pages.

The command that writes such files also writes their digests to ``results/<edition>/digests/<rule>.sha256``, in the
format of `sha256sum`. Snakemake compares times, not contents, so that a file that was edited later would stay unseen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from known_unknowns.errors import DataError
from known_unknowns.files import write_text
from known_unknowns.run_command import run_command

FOLDER = "digests"
_NAMED = 5


def write_digests(file: Path, paths: Iterable[Path]) -> None:
    """Write the digests of files.

    Parameters
    ----------
    file : Path
        ``<results>/digests/<rule>.sha256``.
    paths : iterable of Path
        Files below ``<results>``.
    """
    results = file.parent.parent
    lines = {path.relative_to(results).as_posix(): _digest(path) for path in paths}
    write_text(file, "".join(f"{digest}  {name}\n" for name, digest in sorted(lines.items())))


def pages(report: Path) -> Iterator[Path]:
    """Yield the files of the report without those of the question browser."""
    yield from (path for path in report.glob("*.html") if path.name != "questions.html")
    yield from (path for path in report.glob("figures/*") if path.is_file())


def browser_files(report: Path) -> Iterator[Path]:
    """Yield the files of the question browser."""
    yield report / "questions.html"
    yield from (path for path in report.glob("questions/**/*") if path.is_file())


def check(results: Path, edition: str) -> None:
    """Compare the files with their digests. Results without digests pass.

    Raises
    ------
    DataError
        If a file has changed or is missing. The message names it and the command that makes it again.
    """
    changed: dict[str, list[str]] = {}
    for file in sorted((results / FOLDER).glob("*.sha256")):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            digest, _, name = line.partition("  ")
            if not (results / name).is_file() or _digest(results / name) != digest:
                changed.setdefault(file.stem, []).append(name)
    if changed:
        names = [name for of_rule in changed.values() for name in of_rule]
        more = f" (nor are {', '.join(names[1:_NAMED])}{', ...' * (len(names) > _NAMED)})" if names[1:] else ""
        again = run_command(edition, "--forcerun", *changed)
        raise DataError(f"not as the run wrote it{more}; make it again with  {again}", file=results / names[0])


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
