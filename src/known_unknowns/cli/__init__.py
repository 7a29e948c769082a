"""The command line. Each command is a thin call into the package.

No module that is imported here imports a heavy library, so that ``known-unknowns --help`` starts fast.
"""

from __future__ import annotations

import errno
import inspect
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from known_unknowns import __version__
from known_unknowns.cli import (
    audit,
    data,
    endpoints,
    exchange,
    model_comparison,
    models,
    project,
    released,
    replies,
    results,
    share,
    workflow,
)
from known_unknowns.errors import DamagedError, KnownUnknownsError, MachineError

HELP = """Reproduce benchmarks that measure whether multimodal LLMs refuse questions that they cannot answer.

The second list has the steps of the workflow (make run). They also work by hand.

\b
Examples:
  known-unknowns init my-project
  known-unknowns open
  known-unknowns check params
  known-unknowns fetch --help

\b
Exit codes:
  0  success
  1  a check found a difference (check, lock --check), or an unexpected error
  2  a mistake in params.yaml or in the arguments
  3  data that cannot be used
  4  a fault of the machine or the network; run the same command again
  5  stopped by a signal; run the same command again

KNOWN_UNKNOWNS_TRACEBACK=1 shows the traceback of an error.
"""

JOB_SETTINGS = "KNOWN_UNKNOWNS_PARAMS"
"""An environment variable of the jobs of the workflow (`workflow.run.SETTINGS_VARIABLE`)."""

MODULES = (
    project,
    *(
        results,
        data,
        workflow,
        exchange,
        released,
        audit,
        model_comparison,
        models,
        share,
        endpoints,
        replies,
    ),
    import_module("known_unknowns_construction.cli.review"),
    import_module("known_unknowns_pocket.cli"),
)
"""The modules with commands, in the order of ``--help``. Every public function of a module is a command of its name.

Those of other packages are found by name: this package imports none of them.
"""

GROUPS = {"construct": import_module("known_unknowns_construction.cli.construct")}
"""The modules whose commands are those of a group, with the group's ``HELP``."""


STEPS = frozenset(
    {
        *(
            "questions",
            "vary",
            "infer",
            "parse",
            "judge",
            "measure",
            "compare",
            "summarise",
            "track",
        ),
        *("import_released", "released_numbers", "reply_tables"),
        *("report", "question_browser", "train"),
    }
)
"""Commands that the rules of the workflow or maintainers call. ``--help`` lists them apart."""
COMMANDS_PANEL, STEPS_PANEL = "Commands", "Steps of the workflow, which make run calls"


def panel(name: str) -> str:
    """Return the group of a command in ``--help``."""
    return STEPS_PANEL if name in STEPS else COMMANDS_PANEL


def commands(module: ModuleType) -> list[Callable[..., None]]:
    """Return the commands that a module defines."""
    functions = inspect.getmembers(module, inspect.isfunction)
    own = [f for name, f in functions if not name.startswith("_") and f.__module__ == module.__name__]
    return sorted(own, key=lambda f: f.__code__.co_firstlineno)


app = typer.Typer(
    name="known-unknowns",
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for each in MODULES:
    for command in commands(each):
        app.command(rich_help_panel=panel(command.__name__))(command)
for name, each in GROUPS.items():
    group = typer.Typer(help=each.HELP, no_args_is_help=True, add_completion=False)
    for command in commands(each):
        group.command()(command)
    app.add_typer(group, name=name, rich_help_panel=COMMANDS_PANEL)


@app.callback(invoke_without_command=True)
def _version(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(f"known-unknowns {__version__}")
        raise typer.Exit


def _set_aside(error: Exception) -> str:
    """Rename a damaged file that a run of the workflow makes again, if this is a job of one; return what was done."""
    if not isinstance(error, DamagedError) or JOB_SETTINGS not in os.environ or not error.file.is_file():
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


_MACHINE_ERRORS = frozenset(
    (
        *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP),
        *(errno.ENAMETOOLONG, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ESTALE),
        *(errno.EMFILE, errno.ENFILE, errno.ENOMEM),
    )
)
"""Numbers of system errors that the user can correct. Others, such as a missing file, may be faults of the package."""


def main() -> None:
    """Run the command line. An error of this package is one line on stderr, with its exit code."""
    try:
        app()
    except KnownUnknownsError as error:
        if os.environ.get("KNOWN_UNKNOWNS_TRACEBACK"):
            raise
        print(f"known-unknowns: error: {error}{_set_aside(error)}", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:
        if os.environ.get("KNOWN_UNKNOWNS_TRACEBACK") or error.errno not in _MACHINE_ERRORS:
            raise
        where = f"{error.filename}: " if error.filename is not None else ""
        print(f"known-unknowns: error: {where}{error.strerror}; correct this and run again", file=sys.stderr)
        sys.exit(MachineError.exit_code)
