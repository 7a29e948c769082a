"""Files of verified replies: where the summaries are, and how they are read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from known_unknowns import json_files
from known_unknowns.config import Params
from known_unknowns.errors import DamagedError

_KEYS = frozenset({"facts", "changed", "compared", "unexplained", "ways", "flips"})


def facts_digest(facts: Mapping[str, Any]) -> str:
    """Return what identifies the facts of an engine, to recognise results of another model."""
    return sha256(json.dumps(dict(facts), sort_keys=True).encode()).hexdigest()


def folder_of(params: Params, root: Path = Path()) -> Path:
    """Return the folder of an edition's results of this check."""
    return root / "results" / params.edition / "verify"


def summary_path(folder: Path, model: str, benchmark: str) -> Path:
    """Return the path of a benchmark's summary in the folder of `folder_of`."""
    return folder / model / f"{benchmark}.json"


def read_summary(folder: Path, model: str, benchmark: str, facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the summary in the folder of `folder_of`, or None without one of an engine with these facts.

    Raises DamagedError if the file is not a summary.
    """
    path = summary_path(folder, model, benchmark)
    found = json_files.read(path) if path.is_file() else None
    if found is None:
        return None
    if missing := _KEYS - found.keys():
        keys = ", ".join(sorted(missing))
        raise DamagedError(f"no {keys} in this file; delete it and run the command verify again", file=path)
    return found if found["facts"] == facts_digest(facts) else None


def files_digest(folder: Path, models: Sequence[str]) -> str:
    """Return a digest of the summaries of these models, which the comparison and the report depend on."""
    paths = sorted(path for model in models for path in (folder / model).glob("*.json"))
    return sha256(b"".join(path.read_bytes() for path in paths)).hexdigest() if paths else ""
