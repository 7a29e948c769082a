"""params.lock.yaml: the commit of every branch that params.yaml names, and the size and hash of every file.

`known-unknowns lock` writes the entries. From then on, `known-unknowns fetch` and the `transformers` engine use only
these commits and files, until an entry is updated (``--update``).

The key of an entry is its source (`Source.key`), not a name in params.yaml. So two models of one repository share a
commit, and a source that is changed in params.yaml is not locked yet.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from filelock import FileLock
from pydantic import AfterValidator, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from known_unknowns.config import (
    DataEntry,
    Entry,
    GitData,
    HttpData,
    HubData,
    ModelEntry,
    ReleasedData,
    TransformersModel,
)
from known_unknowns.config.errors import dotted, explained
from known_unknowns.data import git, hub
from known_unknowns.data.files import FilePin, Files, human, safe
from known_unknowns.errors import ConfigError
from known_unknowns.files import write_text
from known_unknowns.yaml_reader import parse_yaml

PATH = Path("params.lock.yaml")

_FOLDER_PIN = re.compile(r"[0-9a-f]{64}|unpinned")  # the revision of a local folder, wherever it is

_ADAPTER = re.compile(r"([\w.-]+/[\w.-]+)@(\S+)")

_COMMIT = re.compile(r"[0-9a-f]{7,64}")

_HEADER = """\
# The sources in params.yaml, pinned: the commit of each branch or tag, and the size and hash of every file.
#
# `known-unknowns lock` writes an entry the first time. `known-unknowns fetch` and the models' loader then accept these
# commits and files only. `known-unknowns lock --update` changes entries and prints the changes.
#
# sha256: hash of a downloaded file, or of a file in a hub's large storage. git: the file's name as a git blob (a sha1
# of size and content), which is all that a hub lists for small files. A git repository is pinned by its commit, and
# an abbreviated commit by its full name. Data sets and models without an entry are not locked yet: locking needs a
# connection to their hub.
"""


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
    return [Source("git", entry.repository, one) for one in git.revisions(entry) if not git.FULL.fullmatch(one)]


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
    found = _ADAPTER.fullmatch(adapter or "")
    if found is None or Path(adapter or "").expanduser().is_dir():
        return None
    return Source("model", found[1], found[2])


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


def write(entries: Mapping[str, LockEntry], path: str | Path = PATH) -> None:
    """Write the lock, sorted, with one line for each file and a header."""
    raw = {"version": 1, "sources": {key: entry.as_dict() for key, entry in sorted(entries.items())}}
    body = yaml.safe_dump(raw, default_flow_style=None, sort_keys=True, allow_unicode=True, width=2**20)
    write_text(path, _HEADER + body)


@contextmanager
def update(path: str | Path = PATH) -> Iterator[dict[str, LockEntry]]:
    """Yield the entries of the lock and write them if the block succeeds. One process at a time."""
    path = Path(path)
    name = sha256(str(path.resolve()).encode()).hexdigest()[:16]
    with FileLock(Path(tempfile.gettempdir()) / f"known-unknowns-{os.getuid()}-{name}.lock"):
        entries = read(path)
        before = dict(entries)
        yield entries
        if entries != before:
            write(entries, path)


def resolve(source: Source, download_http: Callable[[Source], Files]) -> LockEntry:
    """Return the current state of a source.

    ``download_http`` downloads the files of an http source and returns their hashes. Raises download.FAILURES, or
    MachineError if a git repository cannot be read.
    """
    if source.kind == "git":
        is_full = git.FULL.fullmatch(source.revision)
        return LockEntry(source.revision if is_full else git.full_name(source.repository, source.revision))
    if source.kind == "http":
        return LockEntry(files=dict(download_http(source)))
    return LockEntry(*hub.resolve(source.repository, source.revision, source.kind))


def diff(old: LockEntry, new: LockEntry) -> list[str]:
    """Return the changes between two states of a source, one line each: the commit, then the files."""
    lines = [] if old.commit == new.commit else [f"commit {old.commit} -> {new.commit}"]
    for path in sorted(old.files.keys() | new.files.keys()):
        was, now = old.files.get(path), new.files.get(path)
        if now is None:
            lines.append(f"- {path} ({human(old.files[path].size)})")
        elif was is None:
            lines.append(f"+ {path} ({human(now.size)})")
        elif was != now:
            lines.append(f"~ {path} ({human(was.size)} -> {human(now.size)})")
    return lines
