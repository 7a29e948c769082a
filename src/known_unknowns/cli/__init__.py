"""The command line. Each command is a thin call into the package.

The module of a command is imported when the command is chosen.
"""

from __future__ import annotations

import errno
import inspect
import os
import re
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import requires
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from known_unknowns.errors import ConfigError, DamagedError, KnownUnknownsError, MachineError
from known_unknowns.version import __version__

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

COMMANDS = {
    "known_unknowns.cli.project": {
        "init": "Create a project: the folder in which the workflow runs.",
    },
    "known_unknowns.cli.try_model": {
        "try": "Ask a model a sample of one benchmark, and print its accuracy, abstention and unusable replies.",
    },
    "known_unknowns.cli.results": {
        "open": "Serve the report and the MLflow runs of a finished run on this machine, and print their addresses.",
        "bundle": "Write a folder for any static host: the report, its questions, tables, and numbers to exchange.",
        "metrics": "Write metrics of a finished run as CSV, each with n, interval and method.",
    },
    "known_unknowns.cli.data": {
        "fetch": "Fetch data in their published format.",
        "lock": "Write the commit and file hashes of every data set and model into params.lock.yaml.",
    },
    "known_unknowns.cli.questions": {
        "questions": "Convert published files to a table of questions and a folder of images.",
        "vary": "Apply a variant of params.yaml (nota_only, noise, ...) to a table of questions, with all seeds.",
    },
    "known_unknowns.cli.answers": {
        "infer": "Ask a model every question of a benchmark, in all its variants and seeds.",
        "parse": "Parse every reply of a model to a benchmark with every parser, and write the scores.",
        "judge": "Ask the judge of params.yaml which options the replies of all models give.",
    },
    "known_unknowns.cli.numbers": {
        "measure": "Compute every metric with its confidence interval.",
        "compare": "Compare every published number with that of this run, give a verdict, and print a summary.",
        "summarise": "Write the headline metrics and the leaderboard as CSV, and a short record per model as JSON.",
    },
    "known_unknowns.cli.pages": {
        "track": "Log the results as MLflow runs: one per model, benchmark, variant and seed. A rerun updates them.",
        "question-browser": "Write the page on which every question and reply can be searched and filtered.",
        "report": "Write the report as HTML pages that open offline.",
    },
    "known_unknowns.cli.exchange": {
        "check": "Check params.yaml, or compare a benchmark's files with the statements of its papers.",
        "rescore": "Score predictions of other tools with every parser.",
        "export": "Write a model's replies in the file format of another tool.",
    },
    "known_unknowns.cli.released": {
        "import-released": "Write the released replies of a model as the workflow writes replies.",
        "released-numbers": "Write the numbers released with replies, and whether these reproduce them, as JSON.",
        "reply-tables": "Compare parsers, variants and models question by question, and write the tables as CSV.",
    },
    "known_unknowns.cli.audit": {
        "audit": "Recompute what the published numbers imply, and list what does not agree.",
    },
    "known_unknowns.cli.model_comparison": {
        "compare-models": "Compare models with each other on the same questions, in all pairs.",
        "plan": "Plan a run on a sample: the fewest questions that show a difference from a published number.",
        "power": "Plan a comparison of two models: its power, minimum detectable difference, and the images it needs.",
    },
    "known_unknowns.cli.models": {
        "models": "List the models, their memory requirements, and the published rows that they reproduce.",
        "new-model": "Add a model to params.yaml, with its revision, dtype and memory requirement.",
    },
    "known_unknowns.cli.share": {
        "pin": "Pin the data, journals and results of a finished run with DVC.",
        "licences": "Show the licence of each data set, whether it may be redistributed, and its citation.",
    },
    "known_unknowns.cli.endpoints": {
        "probe": "Check that a model is there and can answer.",
    },
    "known_unknowns.cli.replies": {
        "retry": "Ask only the questions again whose recorded reply is a failure or empty.",
        "journal": "Check journals of replies for damaged lines, or move such lines to <journal>.damaged.",
        "verify": "Ask a random sample of recorded replies again, batched in other ways, and report changed answers.",
    },
    "known_unknowns_construction.cli.review": {
        "review": "Review questions in the browser: keep, modify or delete each, or tag wrong answers.",
        "review-summary": "Show a review's counts, agreement and disputes; for errors, the share of each kind.",
        "review-apply": "Write what the decisions make of questions: final candidates, or corrections of a benchmark.",
    },
    "known_unknowns_pocket.cli": {
        "train": "Train the pocket model on rendered images. This takes more than an hour on one core of a CPU.",
    },
}
"""The modules with commands, in the order of ``--help``, and the first paragraph of each command's docstring.

Every public function of a module is a command of its name, without an underscore at its end. A module is imported when
one of its commands is chosen, so that it imports at its top what its commands need. Those of other packages are found
by name: this package imports none of them.
"""

GROUPS = {
    "construct": "Construct a benchmark from scene graphs: generate questions, filter them, review them and "
    "release them.",
}
"""The groups of commands, with the first paragraph of their ``HELP``."""
GROUP_MODULES = {"construct": "known_unknowns_construction.cli.construct"}
"""The modules whose commands are those of a group."""

STEPS = frozenset(
    {
        *("questions", "vary", "infer", "parse", "judge", "measure", "compare", "summarise", "track"),
        *("import-released", "released-numbers", "reply-tables"),
        *("report", "question-browser", "train"),
    }
)
"""Commands that the rules of the workflow or maintainers call. ``--help`` lists them apart."""
COMMANDS_PANEL, STEPS_PANEL = "Commands", "Steps of the workflow, which make run calls"


def functions(module: ModuleType) -> dict[str, Callable[..., None]]:
    """Return the commands that a module defines, by name."""
    own = [f for _, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == module.__name__]
    public = [f for f in own if not f.__name__.startswith("_")]
    return {
        f.__name__.rstrip("_").replace("_", "-"): f for f in sorted(public, key=lambda f: f.__code__.co_firstlineno)
    }


def load(name: str) -> Any:
    """Import the module of a command or of a group, and return the command as Typer runs it."""
    if name in GROUPS:
        module = import_module(GROUP_MODULES[name])
        chosen = typer.Typer(help=module.HELP, no_args_is_help=True, add_completion=False)
        for each, function in functions(module).items():
            chosen.command(each, help=_text(function))(function)
    else:
        module = import_module(next(path for path, listed in COMMANDS.items() if name in listed))
        chosen = typer.Typer(add_completion=False)
        function = functions(module)[name]
        chosen.command(name, help=_text(function))(function)
    return typer.main.get_command(chosen)


def _text(function: Callable[..., None]) -> str:
    """Return a docstring with a line for each paragraph, unless ``\\b`` keeps its lines. Typer would keep all lines."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    return "\n\n".join(each if each.startswith("\b") else each.replace("\n", " ") for each in paragraphs)


class _ImportedWhenChosen(TyperGroup):
    """A group whose listed commands have a name and a summary only; the chosen one is imported."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, _, rest = super().resolve_command(ctx, args)
        return name, load(name or ""), rest


app = typer.Typer(
    name="known-unknowns",
    cls=_ImportedWhenChosen,
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


for each in [*COMMANDS.values(), GROUPS]:
    for name, summary in each.items():
        panel = STEPS_PANEL if name in STEPS else COMMANDS_PANEL
        app.command(name, help=summary, rich_help_panel=panel)(lambda: None)


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


def _extra_with(module: str) -> str:
    """Return the extra of this distribution that installs a module; empty if none does."""
    package = re.escape(module.partition(".")[0].replace("_", "-"))
    for requirement in requires("known-unknowns") or ():
        if found := re.match(rf"{package}(?:-python)?\b[^;]*;.*extra == ['\"](\w+)['\"]", requirement):
            return found[1]
    return ""


def main() -> None:
    """Run the command line. An error of this package is one line on stderr, with its exit code."""
    try:
        app()
    except KnownUnknownsError as error:
        if os.environ.get("KNOWN_UNKNOWNS_TRACEBACK"):
            raise
        print(f"known-unknowns: error: {error}{_set_aside(error)}", file=sys.stderr)
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        extra = _extra_with(error.name or "")
        if os.environ.get("KNOWN_UNKNOWNS_TRACEBACK") or not extra:
            raise
        install = f"install it with  pip install 'known-unknowns[{extra}]'"
        print(f"known-unknowns: error: this needs the package {error.name}; {install}", file=sys.stderr)
        sys.exit(ConfigError.exit_code)
    except OSError as error:
        if os.environ.get("KNOWN_UNKNOWNS_TRACEBACK") or error.errno not in _MACHINE_ERRORS:
            raise
        where = f"{error.filename}: " if error.filename is not None else ""
        print(f"known-unknowns: error: {where}{error.strerror}; correct this and run again", file=sys.stderr)
        sys.exit(MachineError.exit_code)
