"""The help text of every command: an example that the command accepts, and the exit codes."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module

import pytest
from typer.testing import CliRunner

from known_unknowns import cli

COMMANDS = [name for listed in cli.COMMANDS.values() for name in listed]


def shown(*arguments: str) -> str:
    return CliRunner().invoke(cli.app, [*arguments, "--help"], env={"COLUMNS": "80", "TERM": "dumb"}).output


def test_the_help_fits_one_screen():
    lines = shown().splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    assert set(re.findall(r"\b(\d) ", shown().partition("Exit codes:")[2])) == set("012345")


@pytest.mark.parametrize("group", ["", *cli.GROUPS])
def test_commands_are_listed_with_whole_summaries(group):
    output = shown(*group.split())
    listed = {name: text for texts in cli.COMMANDS.values() for name, text in texts.items()}
    expected = {name.split()[-1]: text for name, text in listed.items() if name.rpartition(" ")[0] == group}
    assert expected.items() <= dict(re.findall(r"^  ([a-z-]+) +(.+)$", output, re.MULTILINE)).items()


@pytest.mark.parametrize("module", cli.COMMANDS)
def test_every_public_function_of_a_module_is_listed(module):
    assert cli.functions(import_module(module)).keys() == {name.split()[-1] for name in cli.COMMANDS[module]}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_uses_options_of_the_command(name):
    text = shown(*name.split())
    example = re.search(r"Examples?:\n(.*?)\n\s*\n", text, re.DOTALL)[1]
    assert f"known-unknowns {name}" in example
    assert set(re.findall(r"--[a-z-]+", example)) <= set(re.findall(r"--[a-z-]+", text.replace(example, "")))


def test_only_the_module_of_the_chosen_command_is_imported():
    names = "print(*(name for name in sys.modules if name.startswith('known_unknowns.cli.')))"
    program = "import sys; sys.argv = ['known-unknowns', 'init', '--help']; from known_unknowns import cli\n"
    program += f"try: cli.main()\nexcept SystemExit: {names}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "known_unknowns.cli.project"
