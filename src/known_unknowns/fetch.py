"""A benchmark's data in its published format: rendered here (pocket edition), from a hub or a git repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from known_unknowns.config import Params
from known_unknowns.errors import DataError, MachineError
from known_unknowns.progress import progress

UNPINNED = "unpinned"
"""A revision that accepts any content: for those who change the data on purpose, never for a release."""


def fetch(params: Params, benchmark: str, out: Path) -> None:
    """Put the benchmark's files into ``out``, and check that they are the revision that params.yaml names."""
    entry = params.data(benchmark)
    {"scenes": _render, "hub": _download, "git": _check_out}[entry["source"]](benchmark, entry, out)


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


def _check_out(benchmark: str, entry: Mapping[str, Any], out: Path) -> None:
    """The files of one commit, without the history. They are data: no link, hook or filter of theirs is followed."""
    git = shutil.which("git")
    if git is None:
        raise MachineError(f"git is not installed, and {benchmark} is fetched with it; install it and run again")
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as folder:
        for arguments in (
            ("init", "--quiet", "--template="),
            ("fetch", "--quiet", "--depth=1", "--", entry["repository"], entry["revision"]),
            ("-c", "core.symlinks=false", "checkout", "--quiet", "FETCH_HEAD"),
        ):
            _run_git([git, *arguments], Path(folder), entry)
        shutil.rmtree(Path(folder) / ".git")
        if out.exists():
            shutil.rmtree(out)
        shutil.copytree(folder, out, symlinks=True)


def _run_git(command: list[str], folder: Path, entry: Mapping[str, Any]) -> None:
    environment = os.environ | {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "GIT_LFS_SKIP_SMUDGE": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise MachineError(
            f"cannot fetch {entry['repository']} at {entry['revision']} ({reason}). Check the connection and run again"
        )
