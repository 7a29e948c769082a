"""A benchmark's data in its published format: rendered on this machine, or fetched and checked against the lock."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from known_unknowns.config import (
    DataEntry,
    FolderData,
    GitData,
    HttpData,
    HubData,
    Params,
    ReleasedData,
    ScenesData,
    locked_commits,
)
from known_unknowns.config.locked_commits import LockEntry, Source
from known_unknowns.data import download, fetch_files, folder, git, hub, lock_file, rendered, rerun_stamp
from known_unknowns.data.download import Remote
from known_unknowns.data.store import Store
from known_unknowns.errors import ConfigError, MachineError, unknown_name


def fetch(
    name: str,
    entry: DataEntry,
    out: Path,
    *,
    edition: str = "",
    user_folder: Path | None = None,
    lock_path: str | Path = locked_commits.PATH,
) -> None:
    """Put the files of a benchmark, or of a data set that a benchmark is made from, into the folder ``out``.

    The files are those that params.yaml pins (rendered data, a git repository) or that the lock lists. A source
    without an entry in the lock is locked first. Files with the right hash are copied from ``user_folder``.

    Parameters
    ----------
    name : str
    entry : DataEntry
        The source in params.yaml; see `entry_of`.
    edition : str
        The name of a benchmark's data, for messages.

    Raises
    ------
    ConfigError
        If ``user_folder`` does not exist, or the source has no published files.
    DataError
        If a file has the wrong hash. ``out`` is unchanged.
    MachineError
        If files cannot be downloaded. The message lists them and says what to do. Finished downloads are kept.
    """
    if user_folder is not None and not user_folder.is_dir():
        raise ConfigError(f"there is no folder {user_folder}", path="--from")
    if isinstance(entry, ScenesData):
        if user_folder is not None:
            raise ConfigError(f"{name} is rendered in this edition, not fetched; choose --edition full", path="--from")
        return rendered.render(name, entry, out)

    store = Store(out)
    if isinstance(entry, FolderData):
        if user_folder is not None:
            raise ConfigError(f"{name} is copied from {entry.path}, which params.yaml names", path="--from")
        with store.lock():
            return folder.copy(entry, store, path=f"benchmarks.{name}.data.{edition}.path")
    with store.lock():
        if isinstance(entry, GitData):
            git.fetch(name, entry, store, user_folder=user_folder)
            print(f"{out}: {'files without a commit' if git.is_without_commit(out) else f'at {entry.revision}'}")
        elif isinstance(entry, ReleasedData):
            _fetch_released(name, entry, store, user_folder, lock_path)
        else:
            command = f"known-unknowns data fetch {name}" + (f" --edition {edition}" if edition else "")
            locked = _fetch_locked(name, entry, store, user_folder, Path(lock_path), command)
            print(f"{out}: {locked.describe()}")


def _fetch_released(
    name: str, entry: ReleasedData, store: Store, user_folder: Path | None, lock_path: str | Path
) -> None:
    """Fetch released files. The full names of abbreviated commits are those of the lock, or are locked."""
    sources = locked_commits.released_sources(entry)
    locked = locked_commits.read(lock_path)
    full_names = {of.revision: str(locked[of.key].commit) for of in sources if of.key in locked}

    def lock(names: Mapping[str, str]) -> None:
        print(f"{store.out}: released files at {', '.join(names.values())}", flush=True)
        new = {of.key: LockEntry(names[of.revision]) for of in sources if of.key not in locked}
        if new:
            with lock_file.update(lock_path) as entries:
                entries |= new
            print(f"{name}: locked for the first time: {', '.join(new)}, in {lock_path}", file=sys.stderr)

    git.fetch(name, entry, store, user_folder=user_folder, full_names=full_names, on_names=lock)


def entry_of(params: Params, name: str) -> DataEntry:
    """Return the entry in params.yaml of a benchmark's data, or of a data set that a benchmark is made from."""
    if name in params.file.benchmarks:
        return params.data(name)
    sources = params.sources
    if name not in sources:
        raise ConfigError(unknown_name(name, [*params.file.benchmarks, *sources]), path="benchmarks")
    return sources[name]


def default_out(params: Params, name: str) -> Path:
    """Return the default folder of a data set. Data sets that benchmarks are made from are in the full edition."""
    return Path("data", params.data_name if name in params.file.benchmarks else "full", "raw", name)


def _fetch_locked(
    name: str, entry: HubData | HttpData, store: Store, user_folder: Path | None, lock_path: Path, command: str
) -> LockEntry:
    """Fetch the files that the lock lists. A source without an entry is locked first."""
    source = locked_commits.data_source(name, entry)
    assert source is not None
    locked, is_new = locked_commits.read(lock_path).get(source.key), False
    if locked is None:
        with lock_file.update(lock_path) as entries:
            is_new = source.key not in entries
            if is_new:
                entries[source.key] = _resolve(name, source, store, user_folder, command)
            locked = entries[source.key]
        if is_new:
            print(f"{name}: locked for the first time {locked.describe()}, in {lock_path}", file=sys.stderr)
    origin = entry.home if isinstance(entry, HttpData) else f"{entry.repository} at {locked.commit}"
    remotes = {path: Remote(address) for path, address in source.addresses.items() if address is not None}
    if isinstance(entry, HubData):
        remotes = {path: hub.remote(entry.repository, str(locked.commit), "dataset", path) for path in locked.files}
    plan = fetch_files.FetchPlan(name, origin, command, locked.files, remotes)
    fetch_files.fetch_files(plan, store, user_folder=user_folder)
    rerun_stamp.write_stamp(store.out, locked, is_new=is_new)
    return locked


def _resolve(name: str, source: Source, store: Store, user_folder: Path | None, command: str) -> LockEntry:
    try:
        return lock_file.resolve(source, lambda of: fetch_files.download_unlocked(name, of, store, user_folder))
    except download.FAILURES as error:
        raise MachineError(
            f"{name} ({source.key}) is not locked and its source does not answer ({download.reason(error)}), so its "
            "files are unknown. On a machine with a connection (HF_ENDPOINT names a mirror, HF_TOKEN an access token), "
            f"run known-unknowns data lock {name}, and copy params.lock.yaml here. Then {command} --from FOLDER checks "
            "and copies the files that you have, and lists the missing ones"
        ) from error
