"""A benchmark's data in its published format: rendered here (pocket edition), or fetched and held to the lock."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns.config import Params
from known_unknowns.data import lock_file
from known_unknowns.errors import ConfigError, MachineError, unknown_name

if TYPE_CHECKING:
    from known_unknowns.data.fetch_files import Wanted
    from known_unknowns.data.store import Store


def fetch(
    params: Params, name: str, out: Path, *, given: Path | None = None, lock_path: str | Path = lock_file.PATH
) -> None:
    """Put the files of a benchmark, or of a data set that one is constructed from, into ``out``.

    They are what params.yaml pins (rendered ones, a git repository's) or the lock holds them to. A source that is not
    locked yet is locked first. ``given`` is a folder of files that a user has, which are checked in the same way.

    Raises:
        ConfigError: params.yaml knows no such name.
        DataError: a file is not the pinned one. It was not put into ``out``, which is as it was.
        MachineError: files cannot be had. They are named, with what is to be done; what came is kept.
    """
    entry = entry_of(params, name)
    if given is not None and not given.is_dir():
        raise ConfigError(f"there is no folder {given}", path="--from")
    if entry["source"] == "scenes":
        from known_unknowns.data import rendered

        if given is not None:
            raise ConfigError(f"{name} is rendered in this edition, not fetched; choose --edition full", path="--from")
        return rendered.render(name, entry, out)

    from known_unknowns.data import git
    from known_unknowns.data.store import Store

    store = Store(out)
    with store.held():
        if entry["source"] == "git":
            git.check_out(name, entry, store, given=given)
            print(f"{out}: at {entry['revision']}")
        else:
            edition = f" --edition {params.edition}" if name in params.raw["benchmarks"] else ""
            task = _Task(name, entry, store, given, Path(lock_path), f"known-unknowns fetch {name}{edition}")
            print(f"{out}: {_fetch_locked(task).told()}")


def entry_of(params: Params, name: str) -> dict[str, Any]:
    """Where the data of a benchmark, or of a source of one, come from: their entry in params.yaml."""
    if name in params.raw["benchmarks"]:
        return params.data(name)
    sources = sources_of(params)
    if name not in sources:
        raise ConfigError(unknown_name(name, [*params.raw["benchmarks"], *sources]), path="benchmarks")
    return dict(sources[name])


def sources_of(params: Params) -> dict[str, Mapping[str, Any]]:
    """The data sets that benchmarks are constructed from."""
    return {
        name: entry
        for benchmark in params.raw["benchmarks"].values()
        for name, entry in benchmark.get("sources", {}).items()
    }


def default_out(params: Params, name: str) -> Path:
    """Where the files go if nobody says otherwise. What benchmarks are constructed from is of the full edition."""
    return Path("data", params.data_name if name in params.raw["benchmarks"] else "full", "raw", name)


@dataclass(frozen=True)
class _Task:
    """What is to be fetched: a data set's name and entry, where to, from what of the user's; ``command`` says how to
    ask for it again."""

    name: str
    entry: Mapping[str, Any]
    store: Store
    given: Path | None
    lock_path: Path
    command: str

    @property
    def source(self) -> lock_file.Source:
        return lock_file.data_source(self.name, self.entry)


def _fetch_locked(task: _Task) -> lock_file.Locked:
    from known_unknowns.data import rerun_stamp
    from known_unknowns.data.fetch_files import gather

    locked, first = _held_to(task)
    gather(_wanted(task, locked), task.store, given=task.given)
    rerun_stamp.note(task.store.out, locked, first=first)
    return locked


def _wanted(task: _Task, locked: lock_file.Locked) -> Wanted:
    from known_unknowns.data import hub
    from known_unknowns.data.download import Remote
    from known_unknowns.data.fetch_files import Wanted

    source = task.source
    if source.kind == "http":
        remotes = {path: Remote(address) for path, address in source.addresses.items() if address is not None}
        return Wanted(task.name, task.entry["home"], task.command, locked.files, remotes.get)

    def remote(path: str) -> Remote:
        return hub.remote(source.repository, locked.commit, "dataset", path)

    return Wanted(task.name, f"{source.repository} at {locked.commit}", task.command, locked.files, remote)


def _held_to(task: _Task) -> tuple[lock_file.Locked, bool]:
    """What the lock holds the source to, and whether it was locked just now, for the first time."""
    from known_unknowns.data import download
    from known_unknowns.data.unlocked_download import files_at_addresses

    key = task.source.key
    locked = lock_file.read(task.lock_path).get(key)
    if locked is not None:
        return locked, False
    with lock_file.changing(task.lock_path) as entries:
        if key in entries:
            return entries[key], False
        try:
            locked = lock_file.learn(
                task.source, lambda source: files_at_addresses(task.name, source, task.store, task.given)
            )
        except download.FAILURES as error:
            raise MachineError(_unknown(task, download.reason(error))) from error
        entries[key] = locked
    print(f"{task.name}: locked for the first time {locked.told()}; {task.lock_path} has it", file=sys.stderr)
    return locked, True


def _unknown(task: _Task, cause: str) -> str:
    return (
        f"{task.name} ({task.source.key}) is not locked, and cannot be asked for ({cause}), so that nothing says which "
        "files it has. Where there is a connection (HF_ENDPOINT names a mirror, HF_TOKEN a token), run known-unknowns "
        f"lock {task.name} once, and bring params.lock.yaml here: then {task.command} --from FOLDER takes files that "
        "you have, checks them, and says which are missing"
    )
