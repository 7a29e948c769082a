"""The command `known-unknowns data lock`: select sources, resolve their revisions, and list changes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from known_unknowns.config import ModelEntry, Params, TransformersModel, catalogue, locked_commits
from known_unknowns.config.locked_commits import LockEntry, Source
from known_unknowns.data import download, lock_file
from known_unknowns.data.fetch import default_out
from known_unknowns.data.fetch_files import download_unlocked
from known_unknowns.data.store import Store
from known_unknowns.errors import ConfigError, MachineError, unknown_name
from known_unknowns.files.pins import Files


def run(
    params: Params,
    names: Sequence[str] = (),
    *,
    update: bool = False,
    check: bool = False,
    lock_path: str | Path = locked_commits.PATH,
) -> bool:
    """Lock sources, update their entries, or compare the entries with the sources.

    ``names`` are benchmarks, data sets that benchmarks are made from, and models; by default, everything in params.yaml
    and in the lock that a hub or git has. With ``update``, existing entries change too. With ``check``, nothing is
    written, and the result is False if a source has changed or is not locked. Raises MachineError if a source does not
    answer, after all others are locked.
    """
    named = _named(params, names, locked_commits.read(lock_path))
    unreachable: list[str] = []
    sound = True
    with nullcontext(locked_commits.read(lock_path)) if check else lock_file.update(lock_path) as entries:
        for source, of in named.values():
            name, old = ", ".join(of), entries.get(source.key)
            if check and old is None:
                sound = False
                print(f"{name}: not locked")
                continue
            if old is not None and not (update or check):
                print(f"{name}: locked {old.describe()}")
                continue
            if old is not None and check and source.kind == "http":
                print(f"{name}: locked {old.describe()}; addresses are not asked")
                continue
            new = _resolve(params, source, of, unreachable)
            if new is None:
                continue
            changes = lock_file.diff(old or new, new)
            if old is None:
                print(f"{name}: locked for the first time {new.describe()}")
            else:
                print(f"{name}: moved" if changes else f"{name}: has not moved, locked {old.describe()}")
            for line in changes:
                print(f"  {line}")
            sound = sound and not changes
            if not check:
                entries[source.key] = new
        if update and not names and not check:
            _remove_unused(named, entries)
    if unreachable:
        raise MachineError("\n".join([f"{len(unreachable)} source(s) did not answer:", *unreachable]))
    return sound or not check


def _named(
    params: Params, names: Sequence[str], locked: Mapping[str, LockEntry]
) -> dict[str, tuple[Source, list[str]]]:
    """Return the key of each source to the source, and to its names in params.yaml or the catalogue."""
    every: dict[str, list[Source]] = {}
    for name in params.file.benchmarks:
        entries = params.benchmark(name).data.values()
        every[name] = [source for entry in entries if (source := locked_commits.data_source(name, entry))]
        released = [source for entry in entries for source in locked_commits.released_sources(entry)]
        every[name] += [source for source in released if source.key in locked]  # locked by the first fetch
    for name, entry in params.file.models.items():
        every.setdefault(name, []).extend(_of_model(entry))
    for name, known in catalogue.models().items():
        sources = _of_model(known)
        if name in names or any(source.key in locked for source in sources):  # others of the catalogue are off
            every.setdefault(name, sources)
    every |= {
        name: [locked_commits.http_source(name, entry)] for name, entry in params.sources.items() if name in names
    }
    by_key: dict[str, tuple[Source, list[str]]] = {}
    for name in names or every:
        if name not in every:
            raise ConfigError(unknown_name(name, [*every, *params.sources, *catalogue.models()]), path="data lock")
        if names and not every[name]:
            raise ConfigError(f"{name} needs no lock: its revision is a hash of it", path="data lock")
        for source in every[name]:
            by_key.setdefault(source.key, (source, []))[1].append(name)
    return by_key


def _of_model(entry: ModelEntry) -> list[Source]:
    adapter = entry.adapter if isinstance(entry, TransformersModel) else None
    return [source for source in (locked_commits.model_source(entry), locked_commits.adapter_source(adapter)) if source]


def _resolve(params: Params, source: Source, of: list[str], unreachable: list[str]) -> LockEntry | None:
    def download_http(source: Source) -> Files:
        return download_unlocked(of[0], source, Store(default_out(params, of[0])), None)

    try:
        return lock_file.resolve(source, download_http)
    except (MachineError, *download.FAILURES) as error:
        reason = str(error) if isinstance(error, MachineError) else download.reason(error)
        unreachable.append(f"  {', '.join(of)} ({source.key}): {reason}")
    return None


def _remove_unused(named: Mapping[str, object], entries: dict[str, LockEntry]) -> None:
    """Remove entries that params.yaml no longer names. Sources at plain addresses are kept."""
    for key in [key for key in entries if key not in named and not key.startswith("http:")]:
        del entries[key]
        print(f"{key}: params.yaml names it no more, removed", file=sys.stderr)
