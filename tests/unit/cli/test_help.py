"""The help text of every command: an example that the command accepts, and the exit codes."""

from __future__ import annotations

import re
from types import ModuleType

import pytest
from typer.testing import CliRunner

from known_unknowns import cli
from known_unknowns.errors import ConfigError, DataError, MachineError

NAMES = """open bundle metrics fetch lock questions vary infer parse judge measure
compare summarise track question-browser report
check rescore export import-released released-numbers reply-tables
audit compare-models power models new-model"""


def commands() -> list[str]:
    return [command.name or command.callback.__name__.replace("_", "-") for command in cli.app.registered_commands]


def shown(*arguments: str) -> str:
    output = CliRunner().invoke(cli.app, arguments, env={"COLUMNS": "100", "TERM": "dumb"}).output
    return re.sub(r" +$", "", output, flags=re.MULTILINE)


def test_command_names():
    end = "pin licences probe retry journal verify review review-summary review-apply train"
    names = ["init", *NAMES.split(), *end.split()]
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


def test_the_exit_codes_are_listed():
    codes = dict(re.findall(r"^ *(\d) {2}(.+)$", shown("--help"), re.MULTILINE))
    assert set(codes) == {"0", "1", "2", "3", "4", "5"}
    assert "params.yaml" in codes[str(ConfigError.exit_code)]
    assert "data" in codes[str(DataError.exit_code)]
    assert "machine" in codes[str(MachineError.exit_code)]


def test_every_public_function_of_a_module_is_a_command(monkeypatch):
    module = ModuleType("steps")
    exec("from json import dumps\ndef later(): ...\ndef _part(): ...\ndef earlier(): ...", vars(module))
    assert [command.__name__ for command in cli.commands(module)] == ["later", "earlier"]


def test_steps_of_the_workflow_are_listed_apart():
    panels = {name: cli.panel(name.replace("-", "_")) for name in commands()}
    assert {name for name, panel in panels.items() if panel == cli.STEPS_PANEL} == {
        name.replace("_", "-") for name in cli.STEPS
    }
    text = shown("--help")
    first, second = text.index(f"─ {cli.COMMANDS_PANEL} "), text.index(f"─ {cli.STEPS_PANEL} ")
    places = {name: text.index(f"\n│ {name} ") for name in commands()}
    assert first < places["export"] < second < places["questions"]


@pytest.mark.parametrize("command", cli.app.registered_commands, ids=commands())
def test_the_first_line_of_a_command_describes_it(command):
    first = command.callback.__doc__.strip().splitlines()[0]
    assert first.endswith(".") and first[0].isupper()
