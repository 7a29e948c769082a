"""The end of a command or a job with an error: one line on stderr, and the exit code of the kind of error."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import requires
from pathlib import Path
from typing import NoReturn

from known_unknowns.errors import ConfigError, DamagedError, KnownUnknownsError, MachineError

TRACEBACK = "KNOWN_UNKNOWNS_TRACEBACK"
"""The environment variable with which errors show their traceback instead."""
_MACHINE_ERRORS = frozenset(
    (
        *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP),
        *(errno.ENAMETOOLONG, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ESTALE),
        *(errno.EMFILE, errno.ENFILE, errno.ENOMEM),
    )
)
"""Numbers of system errors that the user can correct. Others, such as a missing file, may be faults of the package."""


@contextmanager
def error_line(*, is_job: bool = False) -> Iterator[None]:
    """End this process with one line on stderr and an exit code after an error of this package or of the machine.

    Any other error is raised. A job of the workflow renames a damaged file that the next run makes again.
    """
    if os.environ.get(TRACEBACK):
        yield
        return
    try:
        yield
    except KnownUnknownsError as error:
        renamed = _set_aside(error) if is_job and isinstance(error, DamagedError) else ""
        _end(f"{error}{renamed}", error.exit_code)
    except ModuleNotFoundError as error:
        extra = _extra_with(error.name or "")
        if not extra:
            raise
        install = f"install it with  pip install 'known-unknowns[{extra}]'"
        _end(f"this needs the package {error.name}; {install}", ConfigError.exit_code)
    except OSError as error:
        if error.errno not in _MACHINE_ERRORS:
            raise
        where = f"{error.filename}: " if error.filename is not None else ""
        _end(f"{where}{error.strerror}; correct this and run again", MachineError.exit_code)


def _end(text: str, code: int) -> NoReturn:
    print(f"known-unknowns: error: {text}", file=sys.stderr)
    sys.exit(code)


def _set_aside(error: DamagedError) -> str:
    """Rename a damaged file that a run of the workflow makes again; return what was done."""
    if not error.file.is_file():
        return ""
    parts = Path(os.path.relpath(error.file)).parts
    if parts[0] != "results" and not (parts[0] == "data" and "questions" in parts):
        return ""
    record = error.file.with_name("engine.json")
    if record.is_file() and b'"engine": "imported"' in record.read_bytes():
        return ""  # no run makes these replies
    aside = error.file.with_name(f"{error.file.name}.damaged")
    error.file.rename(aside)
    return f" (it was renamed to {aside.name}; the next run makes it again)"


def _extra_with(module: str) -> str:
    """Return the extra of this distribution that installs a module; empty if none does."""
    package = re.escape(module.partition(".")[0].replace("_", "-"))
    for requirement in requires("known-unknowns") or ():
        if found := re.match(rf"{package}(?:-python)?\b[^;]*;.*extra == ['\"](\w+)['\"]", requirement):
            return found[1]
    return ""
