"""Put all files of a data set into its folder: existing files, the user's files, and downloads.

The hashes of files at plain addresses are unknown before their first download, and are locked afterwards.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import TracebackType

from known_unknowns.config.locked_commits import Source
from known_unknowns.data import download
from known_unknowns.data.store import Store
from known_unknowns.errors import ConfigError, DataError, MachineError
from known_unknowns.files.pins import FilePin, Files, difference, human, pin
from known_unknowns.progress import Advance, progress

_CONNECTIONS = 8
_SHOWN = 20
_MEGABYTE = 10**6


@dataclass(frozen=True)
class FetchPlan:
    """The files of a data set, and the addresses of those that have one.

    ``origin`` is where the data set is published, and ``command`` the command line that fetches it, for messages.
    """

    name: str
    origin: str
    command: str
    files: Files
    remotes: Mapping[str, download.Remote]


def fetch_files(plan: FetchPlan, store: Store, *, user_folder: Path | None = None) -> None:
    """Make ``store.out`` contain exactly the files of ``plan``. Correct files are not fetched again.

    Files with the right hash are copied from ``user_folder``, in any layout. Raises MachineError, which lists the files
    that cannot be downloaded, or DataError if the network sends wrong files: ``store.out`` is unchanged, and correct
    files are kept.
    """
    if not store.missing_in_folder(plan.files):
        unexpected = store.unexpected_files(plan.files)
        if not unexpected:
            return
        print(
            f"{store.out}: {len(unexpected)} file(s) that do not belong to {plan.origin} are removed: "
            f"{', '.join(unexpected[:_SHOWN])}{' ...' if len(unexpected) > _SHOWN else ''}",
            file=sys.stderr,
        )
    by_content = {pinned: path for path, pinned in reversed(list(plan.files.items()))}
    contents = sorted((path, pinned) for pinned, path in by_content.items())
    absent = {path: pinned for path, pinned in contents if not _is_available(path, pinned, store)}
    if user_folder is not None and absent:
        absent = _copy_user_files(absent, store, user_folder)
    by_hand = {path: pinned for path, pinned in absent.items() if path not in plan.remotes}
    addressed = {path: pinned for path, pinned in absent.items() if path not in by_hand}
    if addressed:
        _download(plan, addressed, store)
    if by_hand:
        raise MachineError(missing_message(plan, by_hand, "they have no permanent address"))
    store.assemble(plan.files)


def _is_available(path: str, pinned: FilePin, store: Store) -> bool:
    """Whether the store has a file, or can copy it from the data set's folder."""
    there = store.out / path
    return store.has(pinned) or (there.is_file() and store.copy_if_right(there, pinned) is None)


def _copy_user_files(absent: Files, store: Store, user_folder: Path) -> dict[str, FilePin]:
    """Copy the correct files of a user, report the wrong ones, and return the files that are still absent."""
    named = _by_name(user_folder)
    still, refused = {}, []
    with MegabyteProgress(f"checking {user_folder}", _size(absent)) as advance:
        for path, pinned in absent.items():
            there = _candidates(path, user_folder, named)
            if not any(
                file.stat().st_size == pinned.size and store.copy_if_right(file, pinned) is None for file in there
            ):
                still[path] = pinned
                refused += [(file, pinned) for file in there]
            advance(pinned.size)
    for file, pinned in refused[:_SHOWN]:
        print(f"{file} was refused: {difference(pinned.of(file), pinned)}", file=sys.stderr)
    if len(refused) > _SHOWN:
        print(f"... and {len(refused) - _SHOWN} more were refused", file=sys.stderr)
    return still


def _by_name(user_folder: Path) -> dict[str, list[Path]]:
    named: dict[str, list[Path]] = {}
    for path in sorted(user_folder.rglob("*")):
        if path.is_file():
            named.setdefault(path.name, []).append(path)
    return named


def _candidates(path: str, user_folder: Path, named: Mapping[str, list[Path]]) -> list[Path]:
    """Return the user's files that may be ``path``: first the same path, then the same name in any folder."""
    exact = user_folder / path
    others = [other for other in named.get(exact.name, ()) if other != exact]
    return [exact, *others] if exact.is_file() else others


def _download(plan: FetchPlan, absent: Files, store: Store) -> None:
    """Download files into the store in parallel. A failed file does not stop the others; a failed connection does."""
    stop = threading.Event()
    failed: dict[str, BaseException] = {}
    with MegabyteProgress(f"fetching {plan.name}", _size(absent)) as advance, ThreadPoolExecutor(_CONNECTIONS) as pool:
        started = {
            pool.submit(_download_one, plan, path, pinned, store, advance, stop): path
            for path, pinned in absent.items()
        }
        try:
            for future in as_completed(started):
                error = future.exception()
                if error is not None and not isinstance(error, download.DownloadCancelled):
                    failed[started[future]] = error
                    if not isinstance(error, DataError) and not _is_of_one_file(error):
                        stop.set()
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
    _raise_failures(plan, absent, failed, store)


def _is_of_one_file(error: BaseException) -> bool:
    return isinstance(error, download.FAILURES) and not download.is_offline(error)


def _raise_failures(plan: FetchPlan, absent: Files, failed: Mapping[str, BaseException], store: Store) -> None:
    """Raise the error of failed downloads. Wrong files come before missing ones."""
    wrong = [error for _, error in sorted(failed.items()) if isinstance(error, DataError)]
    if wrong:
        more = [f"\n{error}" for error in wrong[1:_SHOWN]]
        raise DataError(f"{wrong[0]}{''.join(more)}", file=plan.name) from wrong[0]
    unexpected = next((error for error in failed.values() if not isinstance(error, download.FAILURES)), None)
    if unexpected is not None:
        raise unexpected
    if failed:
        left = {path: pinned for path, pinned in absent.items() if not store.path_of(pinned).is_file()}
        causes = dict.fromkeys(download.reason(error) for error in failed.values())
        raise MachineError(missing_message(plan, left, "; ".join(list(causes)[:3]))) from next(iter(failed.values()))


def _download_one(
    plan: FetchPlan, path: str, pinned: FilePin, store: Store, advance: Advance, stop: threading.Event
) -> None:
    """Download one file into the store.

    A continued download with a wrong hash is repeated once from the start, because the partial file may have been of
    another version.
    """
    if stop.is_set():
        raise download.DownloadCancelled
    remote = plan.remotes[path]
    part = store.part(pinned)
    started = part.stat().st_size if part.is_file() else 0
    advance(started)
    origin = download.redacted(remote.url)
    for continued in (started > 0, False):
        try:
            download.download(remote, part, size=pinned.size, advance=advance, stop=stop)
            return store.move_if_right(part, pinned, origin=origin)
        except DataError as error:
            part.unlink(missing_ok=True)
            if not continued:
                raise DataError(str(error), file=path) from error
            advance(-pinned.size)


def missing_message(plan: FetchPlan, files: Files, cause: str) -> str:
    """Return the message for files that cannot be downloaded: their sizes and hashes, and how to supply them."""
    lines = [
        f"{len(files)} file(s) of {plan.name} ({plan.origin}) are missing and cannot be downloaded ({cause}):",
        *(f"  {path}  {human(pinned.size)}  {pinned.label}" for path, pinned in list(files.items())[:_SHOWN]),
    ]
    if len(files) > _SHOWN:
        lines.append(f"  ... and {len(files) - _SHOWN} more, which params.lock.yaml lists")
    if any(path in plan.remotes for path in files):
        lines.append(
            "With a connection (HF_ENDPOINT names a mirror, HF_TOKEN a token), the same command continues where this "
            "one stopped."
        )
    lines.append(
        f"If you have the files, name their folder: {plan.command} --from FOLDER. The layout of the folder does not "
        "matter, and the files are checked in the same way."
    )
    return "\n".join(lines)


def download_unlocked(name: str, source: Source, store: Store, user_folder: Path | None) -> dict[str, FilePin]:
    """Copy or download every file of an http source into the store, and return their hashes.

    Files in ``user_folder`` are used as they are. Raises ConfigError if several of them have the right name,
    MachineError if a file has no address and is not there, and download.FAILURES.
    """
    named = _by_name(user_folder) if user_folder else {}
    candidates = {path: _candidates(path, user_folder, named) if user_folder else [] for path in source.addresses}
    absent = [path for path, address in source.addresses.items() if address is None and not candidates[path]]
    if absent:
        raise MachineError(
            f"{name}: {', '.join(absent)} has no permanent address; get it from its publisher and name its folder: "
            f"known-unknowns data fetch {name} --from FOLDER"
        )
    for path, there in candidates.items():
        if len(there) > 1 and user_folder and there[0] != user_folder / path:
            raise ConfigError(
                f"several files could be {path}, and its hash is not locked: {', '.join(map(str, there))}",
                path="--from",
            )
    files = {}
    with MegabyteProgress(f"fetching {name}", 0) as advance:
        for path, address in source.addresses.items():
            if candidates[path]:
                files[path] = pin(candidates[path][0])
                if store.copy_if_right(candidates[path][0], files[path]) is not None:
                    raise MachineError(
                        f"{candidates[path][0]} changed while it was read; run again when it is complete"
                    )
                continue
            part = store.unlocked_part(f"address-{sha256(str(address).encode()).hexdigest()[:32]}")
            download.download(download.Remote(str(address)), part, size=None, advance=advance)
            files[path] = pin(part)
            part.replace(store.path_of(files[path]))
    return files


def _size(files: Files) -> int:
    return sum(pinned.size for pinned in files.values())


class MegabyteProgress:
    """Progress in megabytes, reported by several threads. A ``total`` of 0 is unknown."""

    def __init__(self, description: str, total: int) -> None:
        self._progress = progress(f"{description} (MB)", -(-total // _MEGABYTE))
        self._guard, self._bytes, self._reported = threading.Lock(), 0, 0

    def __enter__(self) -> Advance:
        self._advance = self._progress.__enter__()
        return self._add

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.__exit__(kind, error, trace)

    def _add(self, steps: int = 1) -> None:
        with self._guard:
            self._bytes += steps
            megabytes = self._bytes // _MEGABYTE
            if megabytes > self._reported:
                self._advance(megabytes - self._reported)
                self._reported = megabytes
