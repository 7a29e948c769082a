"""The command `known-unknowns lock`: select sources, resolve their revisions, and list changes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from known_unknowns.config import ModelEntry, Params, TransformersModel, catalogue
from known_unknowns.data import download, lock_file
from known_unknowns.data.fetch import default_out
from known_unknowns.data.files import Files
from known_unknowns.data.store import Store
from known_unknowns.data.unlocked_download import download_unlocked
from known_unknowns.errors import ConfigError, MachineError, unknown_name

Named = dict[str, tuple[lock_file.Source, list[str]]]
"""Key of a source to the source, and to its names in params.yaml or the catalogue."""


def run(
    params: Params,
    names: Sequence[str] = (),
    *,
    update: bool = False,
    check: bool = False,
    lock_path: str | Path = lock_file.PATH,
) -> bool:
    """Lock sources, update their entries, or compare the entries with the sources.

    Parameters
    ----------
    params : Params
    names : sequence of str
        Benchmarks, data sets that benchmarks are made from, and models. By default, everything in params.yaml and in
        the lock that a hub or git has.
    update : bool
        Also update existing entries, and print the changes.
    check : bool
        Write nothing, and print the differences.
    lock_path : str or Path

    Returns
    -------
    bool
        False if ``check`` is set and a source has changed or is not locked.

    Raises
    ------
    MachineError
        If a source does not answer. All other sources are locked first.
    """
    named = _named(params, names, lock_file.read(lock_path))
    unreachable: list[str] = []
    if check:
        entries = lock_file.read(lock_path)
        states = [_check(key, *named[key], entries, unreachable) for key in named]
        sound = all(states)
    else:
        with lock_file.update(lock_path) as entries:
            for source, of in named.values():
                _lock(params, source, of, entries, unreachable, update=update)
            if update and not names:
                _remove_unused(named, entries)
        sound = True
    if unreachable:
        raise MachineError("\n".join([f"{len(unreachable)} source(s) did not answer:", *unreachable]))
    return sound


def _named(params: Params, names: Sequence[str], locked: Mapping[str, lock_file.LockEntry]) -> Named:
    every = _every(params)
    extra = {name: [lock_file.http_source(name, entry)] for name, entry in params.sources.items()}
    for name, entry in catalogue.models().items():
        sources = _models_source(entry)
        if name in names or any(source.key in locked for source in sources):  # others of the catalogue are off
            every.setdefault(name, sources)
    for name in params.raw["benchmarks"]:  # locked by the first fetch
        sources = [of for entry in params.every_data(name).values() for of in lock_file.released_sources(entry)]
        every[name] += [source for source in sources if source.key in locked]
    found: Named = {}
    for name in names or every:
        if name not in every and name not in extra:
            raise ConfigError(unknown_name(name, [*every, *extra, *catalogue.models()]), path="lock")
        sources = every[name] if name in every else extra[name]
        if names and not sources:
            raise ConfigError(f"{name} needs no lock: its revision in params.yaml is a hash of it", path="lock")
        for source in sources:
            found.setdefault(source.key, (source, []))[1].append(name)
    return found


def _every(params: Params) -> dict[str, list[lock_file.Source]]:
    """Return the sources of every benchmark and model on a hub or in git."""
    found: dict[str, list[lock_file.Source]] = {}
    for name in params.raw["benchmarks"]:
        entries = params.every_data(name).values()
        found[name] = [source for entry in entries if (source := lock_file.data_source(name, entry))]
    for name, entry in params.every_model.items():
        found.setdefault(name, []).extend(_models_source(entry))
    return found


def _models_source(entry: ModelEntry) -> list[lock_file.Source]:
    adapter = entry.adapter if isinstance(entry, TransformersModel) else None
    return [source for source in (lock_file.model_source(entry), lock_file.adapter_source(adapter)) if source]


def _resolve(
    source: lock_file.Source, of: list[str], unreachable: list[str], store: Store | None = None
) -> lock_file.LockEntry | None:
    def download_http(source: lock_file.Source) -> Files:
        return download_unlocked(of[0], source, store, None)

    try:
        return lock_file.resolve(source, download_http)
    except MachineError as error:
        unreachable.append(f"  {', '.join(of)} ({source.key}): {error}")
    except download.FAILURES as error:
        unreachable.append(f"  {', '.join(of)} ({source.key}): {download.reason(error)}")
    return None


def _lock(
    params: Params,
    source: lock_file.Source,
    of: list[str],
    entries: dict[str, lock_file.LockEntry],
    unreachable: list[str],
    *,
    update: bool,
) -> None:
    name, old = ", ".join(of), entries.get(source.key)
    if old is not None and not update:
        print(f"{name}: locked {old.describe()}")
        return
    store = Store(default_out(params, of[0]))
    new = _resolve(source, of, unreachable, store)
    if new is None:
        return
    entries[source.key] = new
    if old is None:
        print(f"{name}: locked for the first time {new.describe()}")
    else:
        _print_changes(name, lock_file.diff(old, new), new)


def _check(
    key: str, source: lock_file.Source, of: list[str], entries: dict[str, lock_file.LockEntry], unreachable: list[str]
) -> bool:
    name, old = ", ".join(of), entries.get(key)
    if old is None:
        print(f"{name}: not locked")
        return False
    if source.kind == "http":
        print(f"{name}: locked {old.describe()}; addresses are not asked")
        return True
    new = _resolve(source, of, unreachable)
    if new is None:
        return False
    changes = lock_file.diff(old, new)
    _print_changes(name, changes, old)
    return not changes


def _print_changes(name: str, changes: list[str], state: lock_file.LockEntry) -> None:
    print(f"{name}: moved" if changes else f"{name}: has not moved, locked {state.describe()}")
    for line in changes:
        print(f"  {line}")


def _remove_unused(named: Named, entries: dict[str, lock_file.LockEntry]) -> None:
    """Remove entries that params.yaml no longer names. Sources at plain addresses are kept."""
    for key in [key for key in entries if key not in named and not key.startswith("http:")]:
        del entries[key]
        print(f"{key}: params.yaml names it no more, removed", file=sys.stderr)
