"""Python programs in forks of a process that has imported their libraries, which is most of their start.

The package `known_unknowns` is not among them: each program imports that of its project. Nor is huggingface_hub, which
reads its environment when it is imported.
"""

from __future__ import annotations

import atexit
import os
import runpy
import signal
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path
from subprocess import TimeoutExpired

from tests.paths import ROOT
from tests.workflow.forked_scripts import forked_scripts

MODULES = {"snakemake": "snakemake", "known-unknowns": "known_unknowns"}
"""Programs, and the module that each runs."""
LIBRARIES = [
    *("snakemake.cli", "snakemake.report.html_reporter", "smart_open", "jinja2", "docutils.core", "dpath", "filelock"),
    *("scipy.stats", "pandas", "pyarrow.compute", "pyarrow.parquet", "pydantic", "typer", "httpx2", "PIL.ImageDraw"),
    *("rich.markdown", "rich.progress", "tqdm", "anyio", "h11", "pytest"),
]

SNAKEMAKE = f"""#!{sys.executable}
import runpy, sys
from importlib import import_module

sys.path.append({str(ROOT)!r})
from tests.workflow.forked import LIBRARIES
from tests.paths import ROOT
from tests.workflow.forked_scripts import forked_scripts

for name in LIBRARIES:
    import_module(name)
with forked_scripts():
    runpy.run_module("snakemake", run_name="__main__")
"""


def write_snakemake(path: Path) -> None:
    """Write a program that is Snakemake with forked scripts, for a command that cannot be forked itself."""
    path.parent.mkdir(parents=True)
    path.write_text(SNAKEMAKE, encoding="utf-8")
    path.chmod(0o755)


def run(command: list[str], folder: Path, environment: Mapping[str, str], *, printed: Path, timeout: float) -> int:
    """Run a program of `MODULES` in a folder, write both of its outputs to a file, and return its exit status."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__, *LIBRARIES])
    process = context.Process(target=_run, args=(command, folder, dict(environment), printed))
    process.start()
    process.join(timeout)
    if process.exitcode is None:
        os.killpg(process.pid, signal.SIGKILL)
        raise TimeoutExpired(command, timeout, printed.read_bytes())
    return process.exitcode


def _run(command: list[str], folder: Path, environment: dict[str, str], printed: Path) -> None:
    os.setsid()
    with printed.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    sys.argv = command
    try:
        with forked_scripts() if command[0] == "snakemake" else nullcontext():
            runpy.run_module(MODULES[command[0]], run_name="__main__")
    finally:
        atexit._run_exitfuncs()  # multiprocessing leaves them out
        sys.stdout.flush()
        sys.stderr.flush()
