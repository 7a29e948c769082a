"""When a workflow must fetch again: when what the lock holds a source to has changed since it was fetched.

A rule that is given the lock's digest would run again after the run that locked its source for the first time, for
nothing. So the fetch notes with which digest it was made, and what the rule had been given then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from known_unknowns.data.lock_file import PATH, Locked, data_source, read
from known_unknowns.data.store import FOLDER


def note(out: Path, locked: Locked, *, first: bool) -> None:
    """Note that ``out`` is what the lock says. ``first``: it said nothing when the fetch began."""
    from known_unknowns.tables import write_text

    if _read(out).get("lock") != locked.digest:
        given = "" if first else locked.digest
        write_text(_path(out), json.dumps({"lock": locked.digest, "given": given}) + "\n")


def given(out: Path, entry: Mapping[str, Any], lock_file: str | Path = PATH) -> str:
    """What to give to the rule that makes ``out`` by the data's ``entry``: it changes only when what the lock holds it
    to does. Nothing for what params.yaml itself pins."""
    locked = read(lock_file).get(data_source(out.name, entry).key) if entry["source"] == "hub" else None
    if locked is None:
        return ""
    noted = _read(out)
    return noted["given"] if noted.get("lock") == locked.digest else locked.digest


def _path(out: Path) -> Path:
    return out.parent / FOLDER / f"{out.name}.lock.json"


def _read(out: Path) -> dict[str, str]:
    try:
        noted = json.loads(_path(out).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) and noted.keys() == {"lock", "given"} else {}
