"""Build the page and its shards from the tables of an edition, one variant, seed and model at a time."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from known_unknowns.benchmark import registry
from known_unknowns.progress import progress
from known_unknowns.report.browser import page
from known_unknowns.report.browser.benchmark import BenchmarkWriter
from known_unknowns.report.browser.shards import ShardFolder
from known_unknowns.version import __version__

if TYPE_CHECKING:
    from known_unknowns.config import Params

SHARDS = "questions"
"""The folder of the shards, beside the page."""


def build(params: Params, *, results: Path, data: Path, out: Path, with_images: bool = True) -> None:
    """Write the page ``out``, and its shards to the folder ``questions`` beside it, which is replaced.

    The same inputs give the same bytes. At most one variant and seed of the questions and one model's replies to it are
    in memory. Without images, the page shows their digests. Raises DataError if a table of the edition's folders
    ``results`` and ``data`` is absent or invalid.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{SHARDS}."))
    try:
        shards = ShardFolder(folder)
        cells = sum(len(params.cells(name, model)) for name in params.benchmarks for model in params.models)
        described = []
        with progress("question browser", cells) as advance:
            for name in params.benchmarks:
                writer = BenchmarkWriter(params, name, shards, results=results, data=data)
                writer.images_to = folder / "images" if with_images else None
                described.append(writer.write(advance))
        manifest = {
            "edition": params.edition,
            "version": __version__,
            "models": [[model, params.model(model).engine == "respondent"] for model in params.models],
            "benchmarks": [[name, registry.get(name).title, *entry] for name, entry in described],
        }
        folder.chmod(0o755)
        _replace(out.parent / SHARDS, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    page.write(out, params, manifest)


def _replace(old: Path, new: Path) -> None:
    """Put a folder in the place of another."""
    if old.exists():
        shutil.rmtree(old)
    new.replace(old)
