"""The entries of params.lock.yaml: the commit of every branch that params.yaml names, and every file's size and hash.

The key of an entry is its source (`Source.key`), not a name in params.yaml. So two models of one repository share a
commit, and a source that is changed in params.yaml is not locked yet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from known_unknowns.config.base import Entry
from known_unknowns.config.errors import dotted, explained
from known_unknowns.config.models import ModelEntry, TransformersModel
from known_unknowns.config.sections import DataEntry, GitData, HttpData, HubData, ReleasedData
from known_unknowns.errors import ConfigError
from known_unknowns.files.pins import FilePin, human, safe
from known_unknowns.yaml_reader import parse_yaml

PATH = Path("params.lock.yaml")

_FOLDER_PIN = re.compile(r"[0-9a-f]{64}|unpinned")  # the revision of a local folder, wherever it is

_ADAPTER = re.compile(r"([\w.-]+/[\w.-]+)@(\S+)")

_COMMIT = re.compile(r"[0-9a-f]{7,64}")

FULL = re.compile(r"[0-9a-f]{40}")
"""A commit that is not abbreviated."""


@dataclass(frozen=True, slots=True)
class Source:
    """The source that an entry of params.yaml names.

    ``kind`` is "dataset" or "model" (on the hub), "git", or "http", whose ``addresses`` are those of the files by path.
    """

    kind: str
    repository: str
    revision: str = ""
    addresses: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The key of the source in the lock."""
        if self.kind == "http":
            return f"http:{self.repository}"
        where = f"hub:{self.kind}s/{self.repository}" if self.kind in ("dataset", "model") else self.repository
        return f"{where}@{self.revision}"


@checked_dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class LockEntry:
    """The locked ``commit`` of a source (hub or git), and its files (hub or addresses)."""

    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    files: dict[Annotated[str, AfterValidator(safe)], FilePin] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.commit is None and not self.files:
            raise ValueError("a source has a commit, files or both")

    def as_dict(self) -> dict[str, Any]:
        commit = {"commit": self.commit} if self.commit else {}
        return commit | ({"files": {path: file.as_dict() for path, file in self.files.items()}} if self.files else {})

    @property
    def digest(self) -> str:
        """A hash of the entry."""
        return sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files.values())

    def describe(self) -> str:
        at = f"at {self.commit[:12]}" if self.commit else "by hash"
        return f"{at}, {len(self.files)} file(s), {human(self.size)}" if self.files else at


def locked_revision(source: Source, locked: LockEntry) -> str:
    """Return a source's revision and the commit to which it is locked: "main, locked to 0123456789ab"."""
    if locked.commit is None or locked.commit.startswith(source.revision):
        return locked.describe()
    return f"{source.revision}, locked to {locked.describe().removeprefix('at ')}"


class LockFile(Entry):
    """The whole file."""

    version: Literal[1]
    sources: dict[
        Annotated[str, Field(pattern=r"^(hub:(datasets|models)/.+@.+|https://.+@[0-9a-f]{7,40}|http:.+)$")], LockEntry
    ]


def data_source(name: str, entry: DataEntry) -> Source | None:
    """Return the source of a data set's entry in params.yaml; None for rendered data."""
    if isinstance(entry, HubData):
        return Source("dataset", entry.repository, entry.revision)
    if isinstance(entry, GitData):
        return Source("git", entry.repository, entry.revision)
    return http_source(name, entry) if isinstance(entry, HttpData) else None


def http_source(name: str, entry: HttpData) -> Source:
    """Return the source of a data set at plain addresses."""
    return Source("http", name, addresses=entry.files)


def released_sources(entry: DataEntry) -> list[Source]:
    """Return the abbreviated commits of an entry of released files; none for other data."""
    if not isinstance(entry, ReleasedData):
        return []
    return [Source("git", entry.repository, one) for one in revisions(entry) if not FULL.fullmatch(one)]


def revisions(entry: ReleasedData) -> list[str]:
    """Return the commits of an entry, in order, as they are in params.yaml."""
    return [entry.revision, *entry.further_revisions]


def is_commit(revision: str) -> bool:
    """Whether a revision is a commit, and not the name of a branch, a tag or a published state."""
    return _COMMIT.fullmatch(revision) is not None


def data_revision(benchmark: str, entry: DataEntry, path: str | Path = PATH) -> str:
    """Return the commit of a benchmark's data; empty if neither the lock nor the entry in params.yaml has one."""
    if isinstance(entry, ReleasedData):
        return entry.revision
    source = data_source(benchmark, entry)
    locked = None if source is None else read(path).get(source.key)
    if locked and locked.commit:
        return locked.commit
    return source.revision if source and is_commit(source.revision) else ""


def is_folder_pin(revision: str) -> bool:
    """Whether a model's revision is that of a local folder: the sha256 of its weights, or "unpinned"."""
    return _FOLDER_PIN.fullmatch(revision) is not None


def model_source(entry: ModelEntry) -> Source | None:
    """Return the source of a model's entry in params.yaml; None for a model that is not on the hub."""
    if not isinstance(entry, TransformersModel) or is_folder_pin(entry.revision):
        return None
    if Path(entry.source).expanduser().is_dir():
        return None
    return Source("model", entry.source, entry.revision)


def adapter_source(adapter: str | None) -> Source | None:
    """Return the source of an adapter in a repository of its own, OWNER/NAME@REVISION; None for one in a folder."""
    match = _ADAPTER.fullmatch(adapter or "")
    if match is None or Path(adapter or "").expanduser().is_dir():
        return None
    return Source("model", match[1], match[2])


def model_entry(entry: ModelEntry, path: str | Path = PATH) -> LockEntry | None:
    """Return the lock's entry of a model; None if it has none."""
    source = model_source(entry)
    return None if source is None else read(path).get(source.key)


def adapter_folder(source: str, adapter: str | None) -> Path | None:
    """Return the local folder of a model's adapter, if that is a folder of its own and not one in the model's."""
    own = Path(adapter or "").expanduser()
    if not adapter or not own.is_dir():
        return None
    return own if own.is_absolute() or not Path(source, adapter).expanduser().is_dir() else None


def adapter_entry(entry: ModelEntry, path: str | Path = PATH) -> LockEntry | None:
    """Return the lock's entry of a model's adapter in a repository of its own; None if it has none."""
    source = adapter_source(entry.adapter) if isinstance(entry, TransformersModel) else None
    return None if source is None else read(path).get(source.key)


def commits(entry: ModelEntry) -> dict[str, str | None]:
    """Return the locked commits of a model and of its adapter, as far as the lock has them."""
    entries = {"model": model_entry(entry), "adapter": adapter_entry(entry)}
    return {name: locked.commit for name, locked in entries.items() if locked is not None}


def read(path: str | Path = PATH) -> dict[str, LockEntry]:
    """Read the lock: keys of sources and their entries. It is empty if there is no file.

    Raises ConfigError with the path of the bad key if the file is not a lock.
    """
    path = Path(path)
    try:
        raw = parse_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid YAML ({error}); restore it from git") from error
    try:
        return LockFile.model_validate(raw).sources
    except ValidationError as error:
        location, reason = next(iter(explained(error, raw).items()))
        raise ConfigError(f"{reason}; restore the file from git", path=f"{path}: {dotted(location)}") from None
