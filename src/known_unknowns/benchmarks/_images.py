"""Pictures of a benchmark's published files: found, checked, and stored once each, whatever the benchmark.

Each picture is decoded whole before it is believed, which takes far longer than all else in normalising, so that it is
done, together with writing, in processes of their own. What comes out does not depend on how many there are: neither a
byte nor the order, and of several mistakes the first is told.
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
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from known_unknowns.errors import DataError, MachineError
from known_unknowns.images import decode
from known_unknowns.records import Image

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyarrow.parquet import ParquetFile

WORTH_PROCESSES = 64
"""Fewer distinct pictures than this are done before other processes have started."""
ROWS_AT_ONCE = 64
IN_FLIGHT = 8
"""How many pictures at most wait in memory for each other process: what bounds it, however large the data set."""


class _Picture(NamedTuple):
    """A picture to store, and the size that its header claims. Its bytes are kept to tell what is wrong with it."""

    data: bytes
    target: Path
    size: tuple[int, int]
    file: Path
    row: int


class PictureStore:
    """Writes each distinct picture once to ``folder``/images, named by the sha256 of its bytes.

    A context manager: all pictures are there, and sound, when it is left. Of the ``workers``, this process is one: it
    decodes what the others have no room for, and everything where it is the only one. A file appears whole or not at
    all, so that a run that was killed is simply started again.

    Raises DataError for the first picture that is not sound, MachineError when the disk is full.
    """

    def __init__(self, folder: Path, *, workers: int = 1) -> None:
        self._folder = folder
        self._workers = workers
        self._known: dict[str, Image] = {}
        self._pool: ProcessPoolExecutor | None = None
        self._elsewhere: deque[tuple[Future[tuple[int, int] | None], _Picture]] = deque()

    def __enter__(self) -> PictureStore:
        for left in (self._folder / "images").glob(".*.part"):  # by a run that was killed
            left.unlink()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # What others are at work on comes before whatever went wrong meanwhile, and so do its mistakes.
            if error is None or isinstance(error, Exception):
                self._collect(wait=True)
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)
                self._pool = None

    def add(self, data: bytes, *, file: Path, row: int) -> Image:
        """The picture by reference. DataError, naming file and row, when the bytes are no sound picture.

        That may be told with a later picture, or when the store is closed, as it is decoded meanwhile.
        """
        digest = sha256(data).hexdigest()
        if digest not in self._known:
            kind, size = _header(data, file=file, row=row)
            source = f"images/{digest}.{kind}"
            self._store(_Picture(data, self._folder / source, size, file, row))
            self._known[digest] = Image(source, digest, *size)
        return self._known[digest]

    def _store(self, picture: _Picture) -> None:
        self._collect(wait=False)
        others = self._workers - 1 if len(self._known) >= WORTH_PROCESSES else 0
        if len(self._elsewhere) < IN_FLIGHT * others:
            stored = self._processes().submit(_decode_and_write, picture.data, str(picture.target))
            self._elsewhere.append((stored, picture))
            return
        with self._disk():
            size = _decode_and_write(picture.data, str(picture.target))
        if size != picture.size:
            self._collect(wait=True)
            _refuse(picture)

    def _processes(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Not forked: pyarrow's threads may hold locks that a copy of this process would wait for.
            fresh = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._workers - 1, mp_context=fresh, initializer=_end_with_parent)
        return self._pool

    def _collect(self, *, wait: bool) -> None:
        """See that what others have finished is sound, in its order; with ``wait``, until nothing is left."""
        while self._elsewhere and (wait or self._elsewhere[0][0].done()):
            stored, picture = self._elsewhere.popleft()
            try:
                with self._disk():
                    size = stored.result()
            except BrokenProcessPool as error:
                raise MachineError("a process that decodes pictures was killed; run the same command again") from error
            if size != picture.size:
                _refuse(picture)

    @contextmanager
    def _disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            text = f"{self._folder}: the disk is full; free some space and run the same command again"
            raise MachineError(text) from error


def _refuse(picture: _Picture) -> NoReturn:
    """Say what is wrong with a picture that could not be decoded to the size that its header claims."""
    width, height = decode(picture.data, file=picture.file, row=picture.row).size
    claimed = " x ".join(map(str, picture.size))
    message = f"the image is {width} x {height} pixels, and its header says {claimed}"
    raise DataError(message, file=picture.file, row=picture.row)


def _decode_and_write(data: bytes, target: str) -> tuple[int, int] | None:
    """The picture's width and height, once it lies at ``target``; None when it is not sound."""
    try:
        size = decode(data, file=target).size
    except DataError:
        return None
    path = Path(target)
    if not path.is_file() or path.stat().st_size != len(data):  # named by its content: the same size is the same
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.part")
        try:
            partial.write_bytes(data)
            partial.replace(path)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
    return size


def _end_with_parent() -> None:
    """Let a process end when the one that started it does, even by SIGKILL, instead of waiting for work for ever."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _header(data: bytes, *, file: Path, row: int) -> tuple[str, tuple[int, int]]:
    """The usual file extension of an encoded picture, by its own format and not by its name, and its width and height;
    all without decoding it."""
    from PIL import Image as Pillow

    try:
        with Pillow.open(BytesIO(data)) as picture:
            kind = picture.format or "bin"
            return {"JPEG": "jpg"}.get(kind, kind.lower()), picture.size
    except Exception:
        decode(data, file=file, row=row)  # which tells what is wrong
        raise


def parquet_batches(table: ParquetFile, *, columns: list[str] | None = None) -> Iterator[RecordBatch]:
    """The rows of a file with pictures in it, some at a time.

    One row group after the other: pyarrow's own way over a whole file keeps all of it in memory, gigabytes of it.
    """
    for group in range(table.num_row_groups):
        yield from table.iter_batches(ROWS_AT_ONCE, row_groups=[group], columns=columns)


def picture_bytes(cell: str | Mapping[str, Any], root: Path) -> bytes:
    """The encoded picture that a row names: a path below ``root``, or the hub's struct of bytes and path.

    Raises ValueError when there is none, or when the path leads out of ``root``.
    """
    if isinstance(cell, str):
        return beside(root, cell).read_bytes()
    if not isinstance(cell, Mapping):
        raise ValueError(f"the image is a {type(cell).__name__}, neither a path nor bytes with a path")
    data, path = cell.get("bytes"), cell.get("path")
    if data is None:
        if not path:
            raise ValueError("the image has neither bytes nor a path")
        data = beside(root, path).read_bytes()
    return data


def beside(root: Path, name: str) -> Path:
    """A picture named in a data file; it must lie under ``root`` (a name in a data file is not to be trusted)."""
    folder = root.resolve()
    path = (folder / name).resolve()
    if not path.is_relative_to(folder):
        raise ValueError(f"the image path {name!r} leads out of {root}")
    if not path.is_file():
        raise ValueError(f"the image {name!r} is not beside the file")
    return path
