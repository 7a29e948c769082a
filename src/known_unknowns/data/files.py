"""What a file must be, and whether it is: its size and a hash of its content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha1, sha256
from pathlib import Path, PurePosixPath
from typing import Any

_CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class FilePin:
    """A file's ``size`` in bytes, and one hash: ``sha256``, or ``git``, its name as a git blob (a sha1 of size and
    content), where a hub's listing has only that."""

    size: int
    sha256: str | None = None
    git: str | None = None

    def __post_init__(self) -> None:
        if (self.sha256 is None) == (self.git is None):
            raise ValueError("a file is pinned by one hash, sha256 or git")

    @property
    def label(self) -> str:
        """The hash as people are told it, and, with a hyphen for the space, the file's name in a store."""
        return f"git blob {self.git}" if self.sha256 is None else f"sha256 {self.sha256}"

    def as_dict(self) -> dict[str, Any]:
        return {"size": self.size} | ({"git": self.git} if self.sha256 is None else {"sha256": self.sha256})

    def of(self, path: Path) -> FilePin:
        """What ``path`` is, by the same kind of hash. Raises OSError where it cannot be read."""
        name, digest = "sha256", sha256()
        if self.sha256 is None:
            name, digest = "git", sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
        size = 0
        with path.open("rb") as content:
            while chunk := content.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
        return FilePin(size, **{name: digest.hexdigest()})


Files = Mapping[str, FilePin]
"""Paths within a data set, with slashes, to what lies there."""


def pin(path: Path) -> FilePin:
    """What ``path`` is, by its sha256."""
    return FilePin(0, sha256="").of(path)


def difference(found: FilePin, wanted: FilePin) -> str | None:
    """What is wrong with a file, naming both hashes; None where it is right."""
    if found == wanted:
        return None
    sizes = "" if found.size == wanted.size else f", {found.size} bytes instead of {wanted.size}"
    return f"its {found.label} is not the pinned {wanted.label.rpartition(' ')[2]}{sizes}"


def is_right(path: Path, wanted: FilePin) -> bool:
    """Whether ``path`` is a file that holds what it must. The size is looked at first: it costs nothing."""
    try:
        return path.is_file() and path.stat().st_size == wanted.size and wanted.of(path) == wanted
    except OSError:
        return False


def safe(path: str) -> str:
    """``path``, if it stays within the folder that it is relative to. Raises ValueError for any other."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or ":" in parts[0] or "\0" in path:
        raise ValueError(f"the path {path!r} leads out of the data set's folder")
    return path


def human(size: int) -> str:
    """A size for people, in powers of ten: 12 bytes, 3.4 MB."""
    if size < 1000:
        return f"{size} bytes"
    value = float(size)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.95 or unit == "GB":
            break
    return f"{value:.1f} {unit}"
