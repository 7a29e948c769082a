"""Rendered data: made here from a seed instead of being fetched."""

from __future__ import annotations

import sys
from pathlib import Path

from known_unknowns.benchmark import registry
from known_unknowns.config import ScenesData
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.progress import progress

UNPINNED = "unpinned"
"""A revision that accepts any content. Use it to change the data on purpose, never in a release."""


def render(benchmark: str, entry: ScenesData, out: Path) -> None:
    """Render a benchmark's files and check their content against the pinned digest.

    Raises ConfigError if the benchmark has no rendered edition, and DataError if the digest of the content is not
    ``entry.revision``.
    """
    pocket = registry.pocket_of(benchmark)
    if pocket is None:
        raise ConfigError("the benchmark has no rendered edition", path=f"benchmarks.{benchmark}.data")
    with progress(f"rendering {benchmark}", entry.images) as advance:
        path = pocket.render(
            out,
            seed=entry.seed,
            images=entry.images,
            questions_per_image=entry.questions_per_image,
            advance=advance,
        )
    digest = pocket.digest(path)
    if entry.revision == UNPINNED:
        print(f"{path}: unpinned; its content has the digest {digest}", file=sys.stderr)
    elif digest != entry.revision:
        raise DataError(
            f"the rendered content has the digest {digest}, but its entry pins {entry.revision}: "
            "another version of pillow or of the renderer produced other pixels. Install the locked versions or, if "
            f"the change is intended, set the revision of its entry in benchmarks.{benchmark}.data to the new digest",
            file=path,
        )
