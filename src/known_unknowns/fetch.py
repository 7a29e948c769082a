"""A benchmark's data in its published format: rendered here (pocket edition) or from its hub (full edition)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from known_unknowns.config import Params
from known_unknowns.errors import DataError, MachineError
from known_unknowns.progress import progress

UNPINNED = "unpinned"
"""A revision that accepts any content: for those who change the data on purpose, never for a release."""


def fetch(params: Params, benchmark: str, out: Path) -> None:
    """Put the benchmark's files into ``out``, and check that they are the revision that params.yaml names."""
    entry = params.data(benchmark)
    {"scenes": _render, "hub": _download}[entry["source"]](benchmark, entry, out)


def _render(benchmark: str, entry: Mapping[str, Any], out: Path) -> None:
    pocket = import_module(f"known_unknowns.pocket.{benchmark}")
    settings = {key: entry[key] for key in ("seed", "images", "questions_per_image")}
    with progress(f"rendering {benchmark}", entry["images"]) as advance:
        path = pocket.build(out, **settings, advance=advance)
    digest = pocket.content_digest(path)
    if entry["revision"] == UNPINNED:
        print(f"{path}: unpinned; its content has the digest {digest}", file=sys.stderr)
    elif digest != entry["revision"]:
        raise DataError(
            f"the rendered content has the digest {digest}, but params.yaml pins {entry['revision']}: "
            "another version of pillow or of the renderer drew other pixels. Install the locked versions, or, if "
            f"the data were changed on purpose, set benchmarks.{benchmark}.data.pocket.revision to the new digest",
            file=path,
        )


def _download(benchmark: str, entry: Mapping[str, Any], out: Path) -> None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    try:
        snapshot_download(entry["repository"], repo_type="dataset", revision=entry["revision"], local_dir=out)
    except (HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise MachineError(
            f"cannot download the data set {entry['repository']} at {entry['revision']} ({reason}). "
            "Check the connection (HF_ENDPOINT names a mirror, HF_TOKEN a token) and run the same command again: "
            "what was downloaded is kept"
        ) from error
