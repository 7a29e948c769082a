"""All files of a data set into its folder: what is there already, what a user has, and the rest from the network."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from known_unknowns.data import download
from known_unknowns.data.files import FilePin, Files, difference, human
from known_unknowns.data.store import Store
from known_unknowns.errors import DataError, MachineError
from known_unknowns.progress import Advance, progress

_CONNECTIONS = 8
_SHOWN = 20
_MEGABYTE = 10**6


@dataclass(frozen=True)
class FetchPlan:
    """A data set to be had: its name, what each file must be, and where each is (None: at no address).

    ``origin`` tells people where it is published, ``command`` what fetches it.
    """

    name: str
    origin: str
    command: str
    files: Files
    remote: Callable[[str], download.Remote | None]


def fetch_files(plan: FetchPlan, store: Store, *, user_folder: Path | None = None) -> None:
    """Make ``store.out`` hold exactly the files of ``plan``, each of them right; nothing is done where it does.

    ``user_folder`` is a folder of files that a user has: those that are right are copied, from whichever place in it.
    Raises MachineError where files cannot be had, listing them, and DataError where the network sends wrong ones;
    what was right is kept, and ``store.out`` is as it was.
    """
    if not store.missing_in_folder(plan.files):
        unexpected = store.unexpected_files(plan.files)
        if not unexpected:
            return
        print(
            f"{store.out}: {len(unexpected)} file(s) that are not of {plan.origin} are removed: "
            f"{', '.join(unexpected[:_SHOWN])}{' ...' if len(unexpected) > _SHOWN else ''}",
            file=sys.stderr,
        )
    by_content = {pinned: path for path, pinned in reversed(plan.files.items())}
    contents = sorted((path, pinned) for pinned, path in by_content.items())
    absent = {path: pinned for path, pinned in contents if not _is_available(path, pinned, store)}
    if user_folder is not None and absent:
        absent = _copy_user_files(absent, store, user_folder)
    by_hand = {path: pinned for path, pinned in absent.items() if plan.remote(path) is None}
    addressed = {path: pinned for path, pinned in absent.items() if path not in by_hand}
    if addressed:
        _download(plan, addressed, store)
    if by_hand:
        raise MachineError(missing_message(plan, by_hand, "they have no address that lasts"))
    store.assemble(plan.files)


def _is_available(path: str, pinned: FilePin, store: Store) -> bool:
    """Whether a file is kept, or can be from where it lies already."""
    there = store.out / path
    return store.has(pinned) or (there.is_file() and store.copy_if_right(there, pinned) is None)


def _copy_user_files(absent: Files, store: Store, user_folder: Path) -> dict[str, FilePin]:
    """Copy what is right of a user's files; what is still absent then. Wrong ones are refused, in words."""
    named = _by_name(user_folder)
    still, refused = {}, []
    with MegabyteProgress(f"checking {user_folder}", _size(absent)) as advance:
        for path, pinned in absent.items():
            there = list(_candidates(path, user_folder, named))
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


def candidates(path: str, user_folder: Path) -> Iterable[Path]:
    """A user's files that may be ``path``: the one of that path, then those of that name, wherever they lie."""
    return _candidates(path, user_folder, _by_name(user_folder))


def _by_name(user_folder: Path) -> dict[str, list[Path]]:
    named: dict[str, list[Path]] = {}
    for path in sorted(user_folder.rglob("*")):
        if path.is_file():
            named.setdefault(path.name, []).append(path)
    return named


def _candidates(path: str, user_folder: Path, named: Mapping[str, list[Path]]) -> Iterable[Path]:
    exact = user_folder / path
    if exact.is_file():
        yield exact
    yield from (other for other in named.get(exact.name, ()) if other != exact)


def _download(plan: FetchPlan, absent: Files, store: Store) -> None:
    """Fetch files into the store, several at once. A file that fails does not keep the others from coming; a
    connection that fails does."""
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
    """Raise what there is to be said of files that failed: wrong ones before those that did not come."""
    wrong = [error for _, error in sorted(failed.items()) if isinstance(error, DataError)]
    if wrong:
        more = [f"\n{error}" for error in wrong[1:_SHOWN]]
        raise DataError(f"{wrong[0]}{''.join(more)}", file=plan.name) from wrong[0]
    unforeseen = next((error for error in failed.values() if not isinstance(error, download.FAILURES)), None)
    if unforeseen is not None:
        raise unforeseen
    if failed:
        left = {path: pinned for path, pinned in absent.items() if not store.path_of(pinned).is_file()}
        causes = dict.fromkeys(download.reason(error) for error in failed.values())
        raise MachineError(missing_message(plan, left, "; ".join(list(causes)[:3]))) from next(iter(failed.values()))


def _download_one(
    plan: FetchPlan, path: str, pinned: FilePin, store: Store, advance: Advance, stop: threading.Event
) -> None:
    """Fetch one file into the store. One that turns out wrong after it was continued is fetched once more, from its
    beginning: what was kept of it may have been of another file."""
    if stop.is_set():
        raise download.DownloadCancelled
    remote = plan.remote(path)
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
    """What to tell of files that cannot be had: which, how large, by what hash, and how to place them by hand."""
    lines = [
        f"{len(files)} file(s) of {plan.name} ({plan.origin}) are missing and cannot be downloaded ({cause}):",
        *(f"  {path}  {human(pinned.size)}  {pinned.label}" for path, pinned in list(files.items())[:_SHOWN]),
    ]
    if len(files) > _SHOWN:
        lines.append(f"  ... and {len(files) - _SHOWN} more, which params.lock.yaml lists")
    if any(plan.remote(path) for path in files):
        lines.append(
            "With a connection (HF_ENDPOINT names a mirror, HF_TOKEN a token), the same command continues where this "
            "one stopped."
        )
    lines.append(
        f"If you have them, or get them elsewhere, name their folder: {plan.command} --from FOLDER. They may lie in "
        "it in any layout, and are checked in the same way."
    )
    return "\n".join(lines)


def _size(files: Files) -> int:
    return sum(pinned.size for pinned in files.values())


class MegabyteProgress:
    """Progress in whole megabytes, reported from several threads. A ``total`` of 0 is one that is not known."""

    def __init__(self, what: str, total: int) -> None:
        self._progress = progress(f"{what} (MB)", -(-total // _MEGABYTE))
        self._guard, self._bytes, self._reported = threading.Lock(), 0, 0

    def __enter__(self) -> Advance:
        self._advance = self._progress.__enter__()
        return self._add

    def __exit__(self, *details: object) -> None:
        self._progress.__exit__(*details)

    def _add(self, steps: int = 1) -> None:
        with self._guard:
            self._bytes += steps
            megabytes = self._bytes // _MEGABYTE
            if megabytes > self._reported:
                self._advance(megabytes - self._reported)
                self._reported = megabytes
