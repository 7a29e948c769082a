"""The expected size and hash of a file, and the comparison with a file on disk."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import file_digest, sha1, sha256
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class FilePin:
    """The size of a file in bytes, and its sha256 or its name as a git blob (a sha1 of size and content)."""

    size: Annotated[int, Field(ge=0, strict=True)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    git: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None

    def __post_init__(self) -> None:
        if (self.sha256 is None) == (self.git is None):
            raise ValueError("a file has one hash, sha256 or git")

    @property
    def label(self) -> str:
        """The hash for messages. With a hyphen for the space, it is the file's name in a store."""
        return f"git blob {self.git}" if self.sha256 is None else f"sha256 {self.sha256}"

    def as_dict(self) -> dict[str, Any]:
        return {"size": self.size} | ({"git": self.git} if self.sha256 is None else {"sha256": self.sha256})

    def of(self, path: Path) -> FilePin:
        """Return the size and the hash of ``path``, with the same hash function. Raises OSError if it is unreadable."""
        if self.sha256 is not None:
            return pin(path)
        size = path.stat().st_size
        digest = sha1(b"blob %d\0" % size, usedforsecurity=False)
        with path.open("rb") as content:
            return FilePin(size, git=file_digest(content, lambda: digest).hexdigest())


Files = Mapping[str, FilePin]
"""Paths within a data set, with slashes, and the files' hashes."""


def pin(path: Path) -> FilePin:
    """Return the size and the sha256 of ``path``."""
    with path.open("rb") as content:
        return FilePin(path.stat().st_size, sha256=file_digest(content, sha256).hexdigest())


def difference(found: FilePin, expected: FilePin) -> str | None:
    """Return what is wrong with a file, with both hashes; None if it is right."""
    if found == expected:
        return None
    sizes = "" if found.size == expected.size else f", {found.size} bytes instead of {expected.size}"
    return f"its {found.label} is not the pinned {expected.label.rpartition(' ')[2]}{sizes}"


def is_right(path: Path, expected: FilePin) -> bool:
    """Whether ``path`` is a file with the expected size and hash. The size is compared first."""
    try:
        return path.is_file() and path.stat().st_size == expected.size and expected.of(path) == expected
    except OSError:
        return False


def safe(path: str) -> str:
    """Return ``path`` if it is relative and stays within its folder. Raises ValueError otherwise."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or ":" in parts[0] or "\0" in path:
        raise ValueError(f"the path {path!r} leads out of the data set's folder")
    return path


def human(size: int) -> str:
    """Format a size in powers of ten: 12 bytes, 3.4 MB."""
    if size < 1000:
        return f"{size} bytes"
    value = float(size)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.95 or unit == "GB":
            break
    return f"{value:.1f} {unit}"
