"""The first download of files at plain addresses. Their hashes are unknown until then and are locked afterwards."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from known_unknowns.data import download
from known_unknowns.data.fetch_files import MegabyteProgress, candidates
from known_unknowns.data.files import FilePin, pin
from known_unknowns.data.lock_file import Source
from known_unknowns.data.store import Store
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.progress import Advance


def download_unlocked(name: str, source: Source, store: Store, user_folder: Path | None) -> dict[str, FilePin]:
    """Copy or download every file of an http source into the store, and return their hashes.

    Parameters
    ----------
    name : str
    source : Source
    store : Store
    user_folder : Path, optional
        A folder of files that the user has. They are used as they are; all others are downloaded.

    Raises
    ------
    ConfigError
        If several files in ``user_folder`` have the right name.
    MachineError
        If a file has no address and is not in ``user_folder``.
    download.FAILURES
        If a download fails.
    """
    found = {path: _user_file(path, user_folder) for path in source.addresses} if user_folder else {}
    absent = [path for path, address in source.addresses.items() if address is None and found.get(path) is None]
    if absent:
        raise MachineError(
            f"{name}: {', '.join(absent)} has no permanent address; get it from its publisher and name its folder: "
            f"known-unknowns fetch {name} --from FOLDER"
        )
    files = {}
    with MegabyteProgress(f"fetching {name}", 0) as advance:
        for path, address in source.addresses.items():
            user_file = found.get(path)
            files[path] = _copy(user_file, store) if user_file else _download(address, store, advance)
    return files


def _user_file(path: str, user_folder: Path) -> Path | None:
    there = list(candidates(path, user_folder))
    if len(there) > 1 and there[0] != user_folder / path:
        raise ConfigError(
            f"several files could be {path}, and its hash is not locked: {', '.join(map(str, there))}", path="--from"
        )
    return there[0] if there else None


def _copy(path: Path, store: Store) -> FilePin:
    pinned = pin(path)
    wrong = store.copy_if_right(path, pinned)
    if wrong is not None:
        raise MachineError(f"{path} changed while it was read; run again when it is complete")
    return pinned


def _download(address: str, store: Store, advance: Advance) -> FilePin:
    part = store.unlocked_part(f"address-{sha256(address.encode()).hexdigest()[:32]}")
    download.download(download.Remote(address), part, size=None, advance=advance)
    pinned = pin(part)
    part.replace(store.path_of(pinned))
    return pinned
