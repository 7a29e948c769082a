"""A project: the folder in which Snakemake runs, with the workflow, the configuration and the pocket model.

``known-unknowns init`` creates one from the files in the wheel, or from those of a checkout.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.workflow.prerequisites import brace_problem

_PACKAGE = Path(__file__).parents[1]
_IN_WHEEL = _PACKAGE / "project"
_LIST = _PACKAGE / "project_files.txt"


def template() -> dict[Path, Path]:
    """Return the files of a new project: the path within it, and the file to copy.

    Raises
    ------
    MachineError
        If the installation has no such files.
    """
    root = _IN_WHEEL if _IN_WHEEL.is_dir() else _PACKAGE.parents[1]
    patterns = [line for line in _LIST.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    found = {path.relative_to(root): path for pattern in patterns for path in _matching(root, pattern)}
    if Path("Snakefile") not in found:
        raise MachineError(f"{root} has no Snakefile: install known-unknowns again, or use a checkout")
    return found


def _matching(root: Path, pattern: str) -> Iterator[Path]:
    return (path for path in sorted(root.glob(pattern)) if path.is_file())


def create(folder: Path) -> list[Path]:
    """Create a project in a folder, which is created or must be empty.

    Parameters
    ----------
    folder : Path
        The project's folder.

    Returns
    -------
    list of Path
        The files, relative to the folder.

    Raises
    ------
    ConfigError
        If the folder is not empty, is a file, or has a brace in its path. Nothing is written.
    MachineError
        If a file cannot be written. The files written before are removed.
    """
    files = template()
    if problem := brace_problem(folder.absolute()):
        raise ConfigError(problem, path=str(folder))
    if folder.exists() and not folder.is_dir():
        raise ConfigError("is a file; name a new or an empty folder", path=str(folder))
    if folder.is_dir() and (there := sorted(path.name for path in folder.iterdir())):
        shown = ", ".join(there[:3]) + (", ..." if len(there) > 3 else "")
        raise ConfigError(f"is not empty ({shown}); name a new or an empty folder", path=str(folder))
    existed = folder.is_dir()
    try:
        for path, source in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / path)
    except OSError as error:
        for path in folder.iterdir() if folder.is_dir() else ():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if folder.is_dir() and not existed:
            folder.rmdir()
        reason = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error.strerror or error)
        raise MachineError(f"{folder}: {reason}; no project was created") from error
    return list(files)
