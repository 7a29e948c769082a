"""A stamp beside fetched data, from which the workflow decides whether to fetch again.

The rule ``fetch`` has a parameter that must change when the lock's entry of its source changes. The digest of the entry
alone would also change when the first run writes the entry, and would fetch the same files a second time. So each
fetch writes a stamp with the digest and with the parameter that the rule had at that time.
"""

from __future__ import annotations

import json
from pathlib import Path

from known_unknowns.config import DataEntry, FolderData, HubData
from known_unknowns.config.locked_commits import PATH, LockEntry, data_source, read
from known_unknowns.data import folder
from known_unknowns.data.store import FOLDER
from known_unknowns.files import write_text


def write_stamp(out: Path, entry: LockEntry, *, is_new: bool) -> None:
    """Record that ``out`` holds the files of a lock entry. ``is_new`` is whether this fetch wrote the entry."""
    if _read(out).get("lock") != entry.digest:
        parameter = "" if is_new else entry.digest
        write_text(_path(out), json.dumps({"lock": entry.digest, "given": parameter}) + "\n")


def rule_parameter(out: Path, data: DataEntry, lock_path: str | Path = PATH) -> str:
    """Return the parameter of the rule that makes the folder ``out`` of a data set.

    It changes only when the lock's entry does, or a file in the user's folder. For sources that params.yaml pins
    itself, it is empty.
    """
    if isinstance(data, FolderData):
        return folder.stamp(data)
    source = data_source(out.name, data) if isinstance(data, HubData) else None
    entry = read(lock_path).get(source.key) if source else None
    if entry is None:
        return ""
    stamp = _read(out)
    return stamp["given"] if stamp.get("lock") == entry.digest else entry.digest


def _path(out: Path) -> Path:
    return out.parent / FOLDER / f"{out.name}.lock.json"


def _read(out: Path) -> dict[str, str]:
    try:
        stamp = json.loads(_path(out).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) and stamp.keys() == {"lock", "given"} else {}
