"""The pocket edition's data: rendered here, from a seed, rather than fetched."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from known_unknowns import benchmarks
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.progress import progress

UNPINNED = "unpinned"
"""A revision that accepts any content: for those who change the data on purpose, never for a release."""


def render(benchmark: str, entry: Mapping[str, Any], out: Path) -> None:
    """Render the benchmark's files into ``out``. DataError where their content is not the pinned one."""
    pocket = benchmarks.get(benchmark).pocket
    if pocket is None:
        raise ConfigError("the benchmark has no rendered edition", path=f"benchmarks.{benchmark}.data")
    settings = {key: entry[key] for key in ("seed", "images", "questions_per_image")}
    with progress(f"rendering {benchmark}", entry["images"]) as advance:
        path = pocket.render.get()(out, **settings, advance=advance)
    digest = pocket.digest.get()(path)
    if entry["revision"] == UNPINNED:
        print(f"{path}: unpinned; its content has the digest {digest}", file=sys.stderr)
    elif digest != entry["revision"]:
        raise DataError(
            f"the rendered content has the digest {digest}, but params.yaml pins {entry['revision']}: "
            "another version of pillow or of the renderer drew other pixels. Install the locked versions, or, if "
            f"the data were changed on purpose, set benchmarks.{benchmark}.data.pocket.revision to the new digest",
            file=path,
        )
