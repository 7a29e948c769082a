"""The command line. Each command is a thin call into the package.

The module of a command is imported when the command is chosen.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from known_unknowns import entry_points
from known_unknowns.entry_points import of_group
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.run_command import run_command
from known_unknowns.version import __version__
from known_unknowns.workflow.error_line import error_line

HELP = """Reproduce benchmarks of the abstention of multimodal LLMs.

\b
  known-unknowns init my-project    a folder with params.yaml and the workflow
  snakemake                         in it: from data to the report
  known-unknowns open               the report
"""

EPILOG = """\b
Exit codes: 0 success; 1 a check found a difference, or an unexpected error;
2 a mistake in params.yaml or the arguments; 3 data that cannot be used;
4 a fault of the machine or the network, 5 a signal: run the same again.
KNOWN_UNKNOWNS_TRACEBACK=1 shows the traceback of an error.
"""

COMMANDS = {
    "known_unknowns.cli.project": {
        "init": "Create a project, the folder in which the workflow runs.",
    },
    "known_unknowns.cli.try_model": {
        "try": "Ask a model a sample of a benchmark; print its numbers.",
    },
    "known_unknowns.cli.results": {
        "open": "Open the report; print commands that serve it.",
        "tables": "Write tables for a paper, metrics or confidences.",
    },
    "known_unknowns.cli.exchange": {
        "check": "Check params.yaml, or a benchmark's published files.",
        "rescore": "Score predictions of other tools with every parser.",
        "export": "Write replies in the format of another tool.",
    },
    "known_unknowns.cli.model_comparison": {
        "compare-models": "Compare models with each other on the same questions.",
        "plan run": "Print what a run will ask, and its bytes and money.",
    },
    "known_unknowns.cli.models": {
        "models list": "List models, their memory and their published rows.",
    },
    "known_unknowns.cli.probe_model": {
        "models probe": "Check that a model is there and can answer.",
    },
    "known_unknowns.cli.data": {
        "data fetch": "Fetch data in their published format.",
        "data lock": "Write commits and hashes of data and models.",
    },
    "known_unknowns.cli.share": {
        "data pin": "Pin data and replies of a run with DVC.",
        "data licences": "Print the licences and papers of the data.",
    },
    "known_unknowns.cli.replies": {
        "journal check": "Find damaged lines in journals.",
        "journal repair": "Move damaged lines to another file.",
        "journal retry": "Ask the questions again whose reply is a failure.",
    },
}
"""The modules with commands, each with its line in ``--help``. Other packages add theirs.

A command is the public function of its last word, without an underscore at its end. A module is imported when one of
its commands is chosen, so that it imports at its top what its commands need.
"""

GROUPS = {
    "models": "List the models, or check one.",
    "plan": "Plan a run: what it will ask, and what that takes.",
    "data": "Fetch, lock and pin data; print their licences.",
    "journal": "Check, repair or complete recorded replies.",
}
"""The groups of commands with their help, listed after the other commands."""

MOVED = {
    "fetch": "data fetch",
    "lock": "data lock",
    "pin": "data pin",
    "licences": "data licences",
    "retry": "journal retry",
    "metrics": "tables metrics",
}
"""Former names of commands, with the present ones."""

for entry in of_group(entry_points.COMMANDS).values():
    of_package = entry.load()  # a module that imports nothing
    COMMANDS |= of_package.COMMANDS
    GROUPS |= of_package.GROUPS


def functions(module: ModuleType) -> dict[str, Callable[..., None]]:
    """Return the commands that a module defines, by name."""
    own = [f for _, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == module.__name__]
    return {f.__name__.rstrip("_").replace("_", "-"): f for f in own if not f.__name__.startswith("_")}


def _how_to_run() -> str:
    """Return what runs the workflow: another program than this one."""
    if Path("Snakefile").is_file():
        return f"the workflow is run by `{run_command()}`"
    return f"the workflow is run in a project by `{run_command()}`; `known-unknowns init FOLDER` creates one"


class _Commands(TyperGroup):
    """A group that imports the module of a command when the command is chosen. Its help imports none."""

    def list_commands(self, ctx: Any) -> list[str]:
        groups = [] if self.name in GROUPS else list(GROUPS)
        return [*self._listed(), *groups]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if self.name not in GROUPS and cmd_name in MOVED:
            raise ConfigError(f"is now `known-unknowns {MOVED[cmd_name]}`", path=cmd_name)
        if self.name not in GROUPS and cmd_name == "run":
            raise ConfigError(_how_to_run(), path=cmd_name)
        if cmd_name not in self.list_commands(ctx):
            ctx.fail(f"No such command: {unknown_name(cmd_name, self.list_commands(ctx))}.")
        if cmd_name not in self._listed():
            return super().get_command(ctx, cmd_name)  # a group
        module, _ = self._listed()[cmd_name]
        chosen = _typer()
        chosen.command(cmd_name)(functions(import_module(module))[cmd_name])
        return typer.main.get_command(chosen)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        summaries = {name: summary for name, (_, summary) in self._listed().items()}
        if self.name not in GROUPS:
            summaries |= {name: text.partition("\n")[0] for name, text in GROUPS.items()}
        with formatter.section("Commands"):
            formatter.write_dl(list(summaries.items()))

    def _listed(self) -> dict[str, tuple[str, str]]:
        """Return the module and the summary of each command of this group, by the command's last word."""
        own_group = self.name if self.name in GROUPS else ""
        listed = {}
        for module, summaries in COMMANDS.items():
            for path, summary in summaries.items():
                group, _, name = path.rpartition(" ")
                if group == own_group:
                    listed[name] = module, summary
        return listed


def _typer(**settings: Any) -> typer.Typer:
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **settings,
    )


app = _typer(name="known-unknowns", cls=_Commands, help=HELP, epilog=EPILOG, no_args_is_help=True)
for group, summary in GROUPS.items():
    app.add_typer(_typer(cls=_Commands, help=summary, no_args_is_help=True), name=group)


@app.callback(invoke_without_command=True)
def _version(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print(f"known-unknowns {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line. An error of this package is one line on stderr, with its exit code."""
    with error_line():
        app()
