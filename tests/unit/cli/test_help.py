"""The help text of every command: an example that the command accepts, and the exit codes."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from itertools import pairwise
from types import ModuleType

import pytest
from typer.testing import CliRunner

from known_unknowns import cli
from known_unknowns.errors import ConfigError, DataError, MachineError

NAMES = """open bundle metrics fetch lock questions vary infer parse judge measure
compare summarise track question-browser report
check rescore export import-released released-numbers reply-tables
audit compare-models plan power models new-model"""


def commands() -> list[str]:
    return [name for listed in cli.COMMANDS.values() for name in listed]


def shown(*arguments: str) -> str:
    output = CliRunner().invoke(cli.app, arguments, env={"COLUMNS": "100", "TERM": "dumb"}).output
    return re.sub(r" +$", "", output, flags=re.MULTILINE)


def test_command_names():
    end = "pin licences probe retry journal verify review review-summary review-apply train"
    names = ["init", "try", *NAMES.split(), *end.split()]
    assert commands() == names


@pytest.mark.parametrize("name", commands())
def test_the_example_uses_options_of_the_command(name):
    text = shown(name, "--help")
    lines = re.search(r"Examples?:\n(.*?)\n\s*\n", text, re.DOTALL)
    assert lines, f"{name} shows no example"
    assert f"known-unknowns {name}" in lines[1]
    options = set(re.findall(r"--[a-z-]+", lines[1]))
    listed = set(re.findall(r"--[a-z-]+", text.replace(lines[1], "")))
    assert options <= listed


@pytest.mark.parametrize("name", commands())
def test_paragraphs_break_only_at_the_width(name):
    described = shown(name, "--help").partition("Example")[0].split("Usage:")[1]
    for paragraph in described.split("\n\n")[1:]:
        lines = [line.strip() for line in paragraph.strip().splitlines()]
        for line, following in pairwise(lines):
            assert len(f" {line} {following.split()[0]}") > 98, f"{line!r} ends early"


def test_the_exit_codes_are_listed():
    codes = dict(re.findall(r"^ *(\d) {2}(.+)$", shown("--help"), re.MULTILINE))
    assert set(codes) == {"0", "1", "2", "3", "4", "5"}
    assert "params.yaml" in codes[str(ConfigError.exit_code)]
    assert "data" in codes[str(DataError.exit_code)]
    assert "machine" in codes[str(MachineError.exit_code)]


def test_every_public_function_of_a_module_is_a_command():
    module = ModuleType("steps")
    exec("from json import dumps\ndef later(): ...\ndef _part(): ...\ndef earlier_one(): ...", vars(module))
    assert list(cli.functions(module)) == ["later", "earlier-one"]


def test_steps_of_the_workflow_are_listed_apart():
    assert set(commands()) >= cli.STEPS
    text = shown("--help")
    first, second = text.index(f"─ {cli.COMMANDS_PANEL} "), text.index(f"─ {cli.STEPS_PANEL} ")
    places = {name: text.index(f"\n│ {name} ") for name in [*commands(), *cli.GROUPS]}
    assert all(first < place < second for name, place in places.items() if name not in cli.STEPS)
    assert all(second < place for name, place in places.items() if name in cli.STEPS)


@pytest.mark.parametrize("path", cli.COMMANDS)
def test_the_listed_commands_of_a_module_are_its_functions_with_their_first_paragraphs(path):
    functions = cli.functions(import_module(path))
    assert cli.COMMANDS[path] == {name: first_paragraph(function.__doc__) for name, function in functions.items()}


def test_a_group_is_listed_with_the_first_paragraph_of_its_help():
    assert {name: first_paragraph(import_module(path).HELP) for name, path in cli.GROUP_MODULES.items()} == cli.GROUPS


def first_paragraph(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


@pytest.mark.parametrize("name", commands())
def test_the_first_line_of_a_command_describes_it(name):
    first = next(listed[name] for listed in cli.COMMANDS.values() if name in listed)
    assert first.endswith(".") and first[0].isupper()


def test_only_the_module_of_the_chosen_command_is_imported():
    names = "print(*(name for name in sys.modules if name.startswith('known_unknowns.cli.')))"
    program = "import sys; sys.argv = ['known-unknowns', 'init', '--help']; from known_unknowns import cli\n"
    program += f"try: cli.main()\nexcept SystemExit: {names}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "known_unknowns.cli.project"
