"""The commit of a benchmark's data."""

from __future__ import annotations

import re
from pathlib import Path

from known_unknowns.config import DataEntry, ReleasedData
from known_unknowns.data import lock_file

_COMMIT = re.compile(r"[0-9a-f]{7,64}")


def is_commit(revision: str) -> bool:
    """Whether a revision is a commit, and not the name of a branch, a tag or a published state."""
    return _COMMIT.fullmatch(revision) is not None


def data_revision(benchmark: str, entry: DataEntry, lock: str | Path = lock_file.PATH) -> str:
    """Return the commit of a benchmark's data; empty if neither the lock nor the entry has one.

    Parameters
    ----------
    benchmark : str
        The benchmark's name.
    entry : DataEntry
        The data's entry in params.yaml.
    lock : str or Path
        params.lock.yaml.
    """
    if isinstance(entry, ReleasedData):
        return entry.revision
    source = lock_file.data_source(benchmark, entry)
    if source is None:
        return ""
    locked = lock_file.read(lock).get(source.key)
    if locked and locked.commit:
        return locked.commit
    return source.revision if is_commit(source.revision) else ""
