"""Files at plain addresses before they are locked: what they are is what comes, the first time."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from known_unknowns.data import download
from known_unknowns.data.fetch_files import Megabytes, candidates
from known_unknowns.data.files import Pinned, pin
from known_unknowns.data.lock_file import Source
from known_unknowns.data.store import Store
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.progress import Advance


def files_at_addresses(name: str, source: Source, store: Store, given: Path | None) -> dict[str, Pinned]:
    """Get every file of an http source into the store, and tell what it is.

    A file that the user gives is taken as it is, where only one could be meant; others are downloaded.
    Raises one of `download.FAILURES`, ConfigError where several given files could be meant, and MachineError for files
    that have no address and are not given.
    """
    found = {path: _given(path, given) for path in source.addresses} if given else {}
    lacking = [path for path, address in source.addresses.items() if address is None and found.get(path) is None]
    if lacking:
        raise MachineError(
            f"{name}: {', '.join(lacking)} has no address that lasts; get it from its publisher and name its folder: "
            f"known-unknowns fetch {name} --from FOLDER"
        )
    files = {}
    with Megabytes(f"fetching {name}", 0) as advance:
        for path, address in source.addresses.items():
            own = found.get(path)
            files[path] = _take(own, store) if own else _download(address, store, advance)
    return files


def _given(path: str, given: Path) -> Path | None:
    there = list(candidates(path, given))
    if len(there) > 1 and there[0] != given / path:
        raise ConfigError(
            f"several files could be {path}, and none is locked: {', '.join(map(str, there))}", path="--from"
        )
    return there[0] if there else None


def _take(path: Path, store: Store) -> Pinned:
    pinned = pin(path)
    wrong = store.take(path, pinned)
    if wrong is not None:
        raise MachineError(f"{path} changes while it is read; run again when it is whole")
    return pinned


def _download(address: str, store: Store, advance: Advance) -> Pinned:
    part = store.part_of_address(f"address-{sha256(address.encode()).hexdigest()[:32]}")
    download.download(download.Remote(address), part, size=None, advance=advance)
    pinned = pin(part)
    part.replace(store.kept(pinned))
    return pinned
