"""Images of a benchmark's published files: find, check and store each one once.

Every image is decoded completely to check it. Decoding takes most of the time of normalising, so it is done, together
with writing, in other processes. The result does not depend on their number: files and order are the same, and of
several errors the first is reported.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from known_unknowns.errors import DataError, MachineError
from known_unknowns.images import VIEWED, composite_image, decode, read_foreign, read_header, viewed
from known_unknowns.records import Image

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile

WORTH_PROCESSES = 64
"""Fewer distinct images than this are decoded before other processes would have started."""
ROWS_AT_ONCE = 64
IN_FLIGHT = 8
"""Largest number of images that wait in memory for each other process; it bounds the memory."""


class _PendingImage(NamedTuple):
    """An image to store, and the size according to its header."""

    data: bytes
    target: Path
    size: tuple[int, int]
    file: Path
    row: int


class ImageStore:
    """Write each distinct image once to ``folder``/images, named by the sha256 of its bytes.

    A context manager: on exit all images are checked and written. Files are written atomically, so an interrupted run
    can be started again.

    Parameters
    ----------
    folder : Path
        The benchmark's question folder.
    workers : int
        Number of processes, including this one, which decodes what the others have no room for.
    plain : bool
        Whether models get the stored pixels (`known_unknowns.images.decode`), as with released code that converts
        images so, instead of what a viewer shows (`known_unknowns.images.viewed`).

    Raises
    ------
    DataError
        For the first image that does not decode.
    MachineError
        If the disk is full.
    """

    def __init__(self, folder: Path, *, workers: int = 1, plain: bool = False) -> None:
        self._folder = folder
        self._workers = workers
        self._plain = plain
        self._known: dict[str, Image] = {}
        self._pool: ProcessPoolExecutor | None = None
        self._pending: deque[tuple[Future[tuple[int, int] | None], _PendingImage]] = deque()

    def __enter__(self) -> ImageStore:
        for partial in (self._folder / "images").glob(".*.part"):  # of a run that was killed
            partial.unlink()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # Images that other processes are decoding come first, and so do their errors.
            if error is None or isinstance(error, Exception):
                self._collect(wait=True)
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)
                self._pool = None

    def add(self, data: bytes, *, file: Path, row: int) -> Image:
        """Add an encoded image, found at ``file`` and ``row``; return the reference to the stored file.

        DataError if the image does not decode. It may be raised with a later image or on exit.
        """
        digest = sha256(data).hexdigest()
        if digest not in self._known:
            header = read_header(data, file=file, row=row)
            source = f"images/{digest}.{_SUFFIXES.get(header.format, header.format.lower())}"
            image = Image(source, digest, *header.size)
            if not self._plain and not header.plain:
                image = _as_viewed(image, data, file=file, row=row)
            self._store(_PendingImage(data, self._folder / source, header.size, file, row))
            self._known[digest] = image
        return self._known[digest]

    def add_cell(self, cell: str | Mapping[str, Any], root: Path, *, file: Path, row: int) -> Image:
        """Add the image that a row names; see `image_bytes` and `add`."""
        return self.add(image_bytes(cell, root), file=file, row=row)

    def _store(self, pending: _PendingImage) -> None:
        self._collect(wait=False)
        others = self._workers - 1 if len(self._known) >= WORTH_PROCESSES else 0
        if len(self._pending) < IN_FLIGHT * others:
            stored = self._processes().submit(_decode_and_write, pending.data, str(pending.target))
            self._pending.append((stored, pending))
            return
        with self._disk():
            size = _decode_and_write(pending.data, str(pending.target))
        if size != pending.size:
            self._collect(wait=True)
            _reject(pending)

    def _processes(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = _fresh_processes(self._workers - 1)
        return self._pool

    def _collect(self, *, wait: bool) -> None:
        """Check the images that other processes have finished, in order; with ``wait``, all of them."""
        while self._pending and (wait or self._pending[0][0].done()):
            stored, pending = self._pending.popleft()
            try:
                with self._disk():
                    size = stored.result()
            except BrokenProcessPool as error:
                raise MachineError("a process that decodes images was killed; run the same command again") from error
            if size != pending.size:
                _reject(pending)

    @contextmanager
    def _disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            text = f"{self._folder}: the disk is full; free some space and run the same command again"
            raise MachineError(text) from error


def _fresh_processes(workers: int) -> ProcessPoolExecutor:
    """Return a pool of processes that end with this one.

    They are not forked: pyarrow's threads may hold locks that a copy of this process would wait for.
    """
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"), initializer=_end_with_parent)


def _end_with_parent() -> None:
    """End this process when its parent ends, even by SIGKILL."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _reject(pending: _PendingImage) -> NoReturn:
    """Raise the error of an image that does not decode to the size in its header."""
    width, height = decode(pending.data, file=pending.file, row=pending.row).size
    claimed = " x ".join(map(str, pending.size))
    message = f"the image is {width} x {height} pixels, and its header says {claimed}"
    raise DataError(message, file=pending.file, row=pending.row)


def _decode_and_write(data: bytes, target: str) -> tuple[int, int] | None:
    """Decode an image and write it to ``target``. Return its width and height, None if it does not decode."""
    try:
        size = decode(data, file=target).size
    except DataError:
        return None
    path = Path(target)
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.part")
        try:
            partial.write_bytes(data)
            partial.replace(path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
    return size


_SUFFIXES = {"JPEG": "jpg"}


def _as_viewed(image: Image, data: bytes, *, file: Path, row: int) -> Image:
    """Return the reference to what a viewer shows of a file. It is the file's own if that is the same."""
    pixels, choices = viewed(data, file=file, row=row)
    return composite_image(VIEWED, *pixels.size, of=image, **choices) if choices else image


def parquet_batches(table: ParquetFile, *, columns: list[str] | None = None) -> Iterator[RecordBatch]:
    """Iterate over a Parquet file with images in batches.

    Row groups are read one after the other, because pyarrow's iteration over a whole file keeps all of it in memory.
    """
    for group in range(table.num_row_groups):
        yield from table.iter_batches(ROWS_AT_ONCE, row_groups=[group], columns=columns)


def image_bytes(cell: str | Mapping[str, Any], root: Path) -> bytes:
    """Return the encoded image that a row names: a path below ``root``, or the hub's struct of bytes and path.

    ValueError if there is no such image, or if the path leads out of ``root``. DataError if the file cannot be read or
    is too large.
    """
    if isinstance(cell, str):
        return read_foreign(resolve_image(root, cell))
    if not isinstance(cell, Mapping):
        raise ValueError(f"the image is a {type(cell).__name__}, neither a path nor bytes with a path")
    data, path = cell.get("bytes"), cell.get("path")
    if data is None:
        if not path:
            raise ValueError("the image has neither bytes nor a path")
        data = read_foreign(resolve_image(root, path))
    return data


def resolve_image(root: Path, name: str) -> Path:
    """Resolve the path of an image named in a data file. It must be below ``root``, since data files are untrusted."""
    folder = root.resolve()
    try:
        path = (folder / name).resolve()
    except RuntimeError as error:
        raise ValueError(f"the image {name!r} is a link that leads to itself") from error
    if not path.is_relative_to(folder):
        raise ValueError(f"the image path {name!r} leads out of {root}")
    if not path.is_file():
        raise ValueError(f"the image {name!r} is not beside the file")
    return path
