"""What the scripts in rules/scripts share: the settings of a job, its log, and its end with an error.

A script imports what does its work within `job`, so that the log has also the errors of imports.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from known_unknowns.workflow.error_line import error_line
from known_unknowns.workflow.rule_settings import of_job
from known_unknowns.workflow.run_lock import join_run

FOLDER = Path(".snakemake/scripts")
"""Where Snakemake writes the scripts of jobs."""
FROZEN = Path(".snakemake/known-unknowns/params.yaml")
"""The configuration of the present run, for its jobs. A run writes it after it has locked the folder."""


@contextmanager
def job(snakemake: Any) -> Iterator[dict[str, Any]]:
    """Do the work of a job, and yield its settings (`workflow.rule_settings`).

    All output is in the job's log. An error of the package is one line there, with its exit code.
    """
    log = os.open(snakemake.log[0], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    for descriptor in (1, 2):  # also of libraries, and of programs that the job starts
        os.dup2(log, descriptor)
    os.close(log)
    # A process that multiprocessing spawns imports the file of the main module, which would be the script.
    sys.modules["__main__"].__file__ = __file__
    lock = join_run()
    try:
        with error_line(is_job=True):
            yield of_job(snakemake.params)
    except KeyboardInterrupt:
        sys.exit("interrupted")
    finally:
        if lock is not None:
            lock.close()


def is_job(command: list[str]) -> bool:
    """Return whether the command of a process is that of a job's script."""
    return len(command) > 1 and Path(command[1]).parent.parts[-2:] == FOLDER.parts
