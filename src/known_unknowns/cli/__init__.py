"""The command line. Each command is a thin call into the package.

No module that is imported here imports a heavy library, so that ``known-unknowns --help`` starts fast.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from known_unknowns import __version__
from known_unknowns.benchmarks._pocket import train_command
from known_unknowns.cli import data, endpoints, exchange, models, share, workflow
from known_unknowns.errors import KnownUnknownsError

HELP = """Reproduce benchmarks that measure whether multimodal LLMs refuse questions that they cannot answer.

The workflow (make run) calls these commands. Each command also works by hand.

\b
Examples:
  known-unknowns check params
  known-unknowns fetch --help

\b
Exit codes:
  0  success
  1  a check found a difference (check, lock --check), or an unexpected error
  2  a mistake in params.yaml or in the arguments
  3  data that cannot be used
  4  a fault of the machine or the network; run the same command again

KNOWN_UNKNOWNS_TRACEBACK=1 shows the traceback of an error.
"""

COMMANDS = (
    data.fetch,
    data.lock,
    workflow.questions,
    workflow.vary,
    workflow.infer,
    workflow.score,
    workflow.measure,
    workflow.compare,
    workflow.summarise,
    workflow.track,
    workflow.report,
    exchange.check,
    exchange.rescore,
    exchange.export,
    models.models,
    share.licences,
    share.pin,
    endpoints.served,
)
"""The commands, in the order of ``--help``. A command has the name of its function."""

app = typer.Typer(
    name="known-unknowns",
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in COMMANDS:
    app.command()(command)
app.command("train")(train_command())


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
    try:
        app()
    except KnownUnknownsError as error:
        if os.environ.get("KNOWN_UNKNOWNS_TRACEBACK"):
            raise
        print(f"known-unknowns: error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
