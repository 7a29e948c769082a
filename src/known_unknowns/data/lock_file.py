"""Writing params.lock.yaml (`known_unknowns.config.locked_commits`).

`known-unknowns data lock` writes the entries. From then on, `known-unknowns data fetch` and the `transformers` engine
use only these commits and files, until an entry is updated (``--update``).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import yaml
from filelock import FileLock

from known_unknowns.config.locked_commits import FULL, PATH, LockEntry, Source, read
from known_unknowns.data import git, hub
from known_unknowns.files import write_text
from known_unknowns.files.pins import Files, human

_HEADER = """\
# The sources in params.yaml, locked: the commit of each branch or tag, and the size and hash of every file.
#
# `known-unknowns data lock` writes an entry the first time. `known-unknowns data fetch` and the models' loader then
# accept these commits and files only. `known-unknowns data lock --update` changes entries and prints the changes.
#
# sha256: hash of a downloaded file, or of a file in a hub's large storage. git: the file's name as a git blob (a sha1
# of size and content), which is all that a hub lists for small files. A git repository is pinned by its commit, and
# an abbreviated commit by its full name. A source at "main" without an entry is not locked: its first `data fetch`
# locks a data set, `data lock NAME` a model. From then on, `check` and the report say "main, locked to COMMIT".
"""


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
        is_full = FULL.fullmatch(source.revision)
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
