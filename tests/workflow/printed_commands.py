"""The commands in what a command prints, as a reader types them."""

from __future__ import annotations

import re
import shlex

_COMMAND = re.compile(
    r"(?:^|  |`|: )"  # at the start, in a column of its own, in backticks, or behind a colon
    r"((?:\S*/)?(?:known-unknowns|snakemake|make|mlflow|python)(?: [^`\n]*?)?)"
    r"(?=`|  |$| \(\d)",  # a comment in a further column, or a count behind it
    re.MULTILINE,
)


def commands(printed: str) -> list[list[str]]:
    """Return the words of each command in an output, in order."""
    return [shlex.split(command) for command in _COMMAND.findall(printed)]


def planned(command: list[str]) -> list[str]:
    """Return the command with which a run only plans, for what takes long or downloads."""
    if command[0] != "make":
        return [*command, "--dry-run"]
    arguments = [word.removeprefix("ARGS=") for word in command if word.startswith("ARGS=")]
    return [*(word for word in command if not word.startswith("ARGS=")), f"ARGS={' '.join([*arguments, '--dry-run'])}"]
