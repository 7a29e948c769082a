"""A benchmark's data in its published format: rendered on this machine, or fetched and checked against the lock."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from known_unknowns.config import DataEntry, FolderData, GitData, HttpData, Params, ReleasedData, ScenesData
from known_unknowns.data import download, folder, git, hub, lock_file, rendered, rerun_stamp
from known_unknowns.data.download import Remote
from known_unknowns.data.fetch_files import FetchPlan, fetch_files
from known_unknowns.data.store import Store
from known_unknowns.data.unlocked_download import download_unlocked
from known_unknowns.errors import ConfigError, MachineError, unknown_name


def fetch(
    params: Params,
    name: str,
    out: Path,
    *,
    user_folder: Path | None = None,
    lock_path: str | Path = lock_file.PATH,
) -> None:
    """Put the files of a data set into a folder.

    The files are those that params.yaml pins (rendered data, a git repository) or that the lock lists. A source
    without an entry in the lock is locked first.

    Parameters
    ----------
    params : Params
    name : str
        A benchmark, or a data set that a benchmark is made from.
    out : Path
        The folder to write.
    user_folder : Path, optional
        A folder of files that the user has. Files with the right hash are copied from it.
    lock_path : str or Path
        The lock.

    Raises
    ------
    ConfigError
        If params.yaml has no such name, or ``user_folder`` does not exist.
    DataError
        If a file has the wrong hash. ``out`` is unchanged.
    MachineError
        If files cannot be downloaded. The message lists them and says what to do. Finished downloads are kept.
    """
    entry = entry_of(params, name)
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
            return folder.copy(entry, store, path=f"benchmarks.{name}.data.{params.data_name}.path")
    with store.lock():
        if isinstance(entry, GitData):
            git.fetch(name, entry, store, user_folder=user_folder)
            print(f"{out}: at {entry.revision}")
        elif isinstance(entry, ReleasedData):
            _fetch_released(name, entry, store, user_folder, lock_path)
        else:
            edition = f" --edition {params.edition}" if name in params.raw["benchmarks"] else ""
            task = _Task(name, entry, store, user_folder, Path(lock_path), f"known-unknowns fetch {name}{edition}")
            print(f"{out}: {_fetch_locked(task).describe()}")


def _fetch_released(
    name: str, entry: ReleasedData, store: Store, user_folder: Path | None, lock_path: str | Path
) -> None:
    """Fetch released files. The full names of abbreviated commits are those of the lock, or are locked."""
    sources = lock_file.released_sources(entry)
    locked = lock_file.read(lock_path)
    full_names = {of.revision: str(locked[of.key].commit) for of in sources if of.key in locked}

    def lock(names: Mapping[str, str]) -> None:
        print(f"{store.out}: released files at {', '.join(names.values())}", flush=True)
        new = {of.key: lock_file.LockEntry(names[of.revision], {}) for of in sources if of.key not in locked}
        if new:
            with lock_file.update(lock_path) as entries:
                entries |= new
            print(f"{name}: locked for the first time: {', '.join(new)}, in {lock_path}", file=sys.stderr)

    git.fetch(name, entry, store, user_folder=user_folder, full_names=full_names, on_names=lock)


def entry_of(params: Params, name: str) -> DataEntry:
    """Return the entry in params.yaml of a benchmark's data, or of a data set that a benchmark is made from."""
    if name in params.raw["benchmarks"]:
        return params.data(name)
    sources = params.sources
    if name not in sources:
        raise ConfigError(unknown_name(name, [*params.raw["benchmarks"], *sources]), path="benchmarks")
    return sources[name]


def default_out(params: Params, name: str) -> Path:
    """Return the default folder of a data set. Data sets that benchmarks are made from are in the full edition."""
    return Path("data", params.data_name if name in params.raw["benchmarks"] else "full", "raw", name)


@dataclass(frozen=True)
class _Task:
    """A data set to fetch. ``command`` is the command line that fetches it again."""

    name: str
    entry: DataEntry
    store: Store
    user_folder: Path | None
    lock_path: Path
    command: str

    @property
    def source(self) -> lock_file.Source:
        source = lock_file.data_source(self.name, self.entry)
        assert source is not None, "rendered data have no source"
        return source


def _fetch_locked(task: _Task) -> lock_file.LockEntry:
    entry, is_new = _lock_entry(task)
    fetch_files(_fetch_plan(task, entry), task.store, user_folder=task.user_folder)
    rerun_stamp.write_stamp(task.store.out, entry, is_new=is_new)
    return entry


def _fetch_plan(task: _Task, entry: lock_file.LockEntry) -> FetchPlan:
    source = task.source
    if isinstance(task.entry, HttpData):
        remotes = {path: Remote(address) for path, address in source.addresses.items() if address is not None}
        return FetchPlan(task.name, task.entry.home, task.command, entry.files, remotes.get)

    def remote(path: str) -> Remote:
        return hub.remote(source.repository, str(entry.commit), "dataset", path)

    return FetchPlan(task.name, f"{source.repository} at {entry.commit}", task.command, entry.files, remote)


def _lock_entry(task: _Task) -> tuple[lock_file.LockEntry, bool]:
    """Return the source's entry in the lock, and whether it was written just now."""
    key = task.source.key
    entry = lock_file.read(task.lock_path).get(key)
    if entry is not None:
        return entry, False
    with lock_file.update(task.lock_path) as entries:
        if key in entries:
            return entries[key], False
        try:
            entry = lock_file.resolve(
                task.source, lambda source: download_unlocked(task.name, source, task.store, task.user_folder)
            )
        except download.FAILURES as error:
            raise MachineError(_unlocked_message(task, download.reason(error))) from error
        entries[key] = entry
    print(f"{task.name}: locked for the first time {entry.describe()}, in {task.lock_path}", file=sys.stderr)
    return entry, True


def _unlocked_message(task: _Task, cause: str) -> str:
    return (
        f"{task.name} ({task.source.key}) is not locked and its source does not answer ({cause}), so its files are "
        "unknown. On a machine with a connection (HF_ENDPOINT names a mirror, HF_TOKEN an access token), run "
        f"known-unknowns lock {task.name}, and copy params.lock.yaml here. Then {task.command} --from FOLDER checks "
        "and copies the files that you have, and lists the missing ones"
    )
