"""Data in a folder of the user (``source: folder``): copied, so that a run does not change while files are edited."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from known_unknowns.config import FolderData
from known_unknowns.data.store import Store, replace_folder
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.files import copy_file, write_text

MAX_FILES = 500_000
_DIGESTS = Path(".snakemake")
"""Where digests are kept, if there is such a folder."""


def folder_of(entry: FolderData) -> Path:
    """Return the folder that an entry of params.yaml names."""
    return Path(entry.path).expanduser()


def problem_of(entry: FolderData) -> str | None:
    """Return why the folder cannot be used; None if it can."""
    folder = folder_of(entry)
    if folder.is_file():
        return f"{entry.path!r} is a file; name its folder, and the file under files"
    if not folder.is_dir():
        return f"there is no folder {entry.path!r} in {Path.cwd()}; create it, or correct the path"
    if Path("data").resolve().is_relative_to(folder.resolve()):
        return f"{entry.path!r} contains this project's own data folder; name a folder with the questions alone"
    if next(files(folder), None) is None:
        return f"the folder {entry.path!r} is empty; put the questions and images there"
    return None


def files(folder: Path) -> Iterator[Path]:
    """Yield every file of a folder that is not hidden, in the order of the names.

    Raises DataError if a link leads out of the folder, or there are too many files.
    """
    root = folder.resolve()
    count = 0
    for path in sorted(folder.rglob("*")):
        if any(part.startswith(".") for part in path.relative_to(folder).parts) or not path.is_file():
            continue
        if not path.resolve().is_relative_to(root):
            raise DataError("a link that leads out of the folder; copy the file itself into the folder", file=path)
        count += 1
        if count > MAX_FILES:
            raise DataError(f"more than {MAX_FILES:,} files; name a folder with the questions alone", file=folder)
        yield path


def copy(entry: FolderData, store: Store, *, path: str) -> None:
    """Replace ``store.out`` by a copy of the folder's files. Hidden files are not copied.

    Raises ConfigError if the folder cannot be used, with the dotted path of its key, and DataError if a link leads out
    of it.
    """
    problem = problem_of(entry)
    if problem is not None:
        raise ConfigError(problem, path=path)
    folder, new = folder_of(entry), store.root / f"{store.out.name}.new"
    shutil.rmtree(new, ignore_errors=True)
    count = 0
    for file in files(folder):
        target = new / file.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        copy_file(file, target)
        count += 1
    replace_folder(new, store.out, store.root / f"{store.out.name}.old")
    print(f"{store.out}: {count} file(s) from {folder}")


def stamp(entry: FolderData) -> str:
    """Return a digest of the names and contents of the folder's files; empty if there is no such folder.

    A file is read again only if the system says that it changed. The time of that (ctime) cannot be set, unlike that of
    the content (mtime).
    """
    folder = folder_of(entry)
    if not folder.is_dir():
        return ""
    cache = _DIGESTS / f"known-unknowns-own-{sha256(str(folder.resolve()).encode()).hexdigest()[:16]}.json"
    known, found = _known(cache), dict[str, list[Any]]()
    for file in files(folder):
        name, status = file.relative_to(folder).as_posix(), file.stat()
        state = [status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
        of_file = known.get(name)
        found[name] = of_file if of_file and of_file[:-1] == state else [*state, _sha256(file)]
    if found != known and _DIGESTS.is_dir():
        write_text(cache, json.dumps(found))
    lines = (f"{name}\0{of_file[-1]}\n" for name, of_file in found.items())
    return sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _known(cache: Path) -> dict[str, list[Any]]:
    try:
        known = json.loads(cache.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: of for name, of in known.items() if isinstance(of, list)} if isinstance(known, dict) else {}


def _sha256(file: Path) -> str:
    with file.open("rb") as data:
        return file_digest(data, "sha256").hexdigest()
