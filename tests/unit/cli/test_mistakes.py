"""Commands outside a project, with files that do not exist, and with unknown names: one line that says what to do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Annotated, get_args, get_origin, get_type_hints

import pytest
from typer.models import OptionInfo
from typer.testing import CliRunner

from known_unknowns import cli
from known_unknowns.errors import KnownUnknownsError
from tests.paths import ROOT

COMMANDS = {
    name: cli.functions(import_module(module))[name.split()[-1]]
    for module, listed in cli.COMMANDS.items()
    for name in listed
    if name not in ("init", "train")
}
ALONE = {"audit", "data licences", "journal check", "journal repair", "construct endpoint"}
"""Commands that need no project."""
IN_A_PROJECT = {
    "tables metrics --out x.csv --model orcale": (2, "--model: 'orcale' is not known; did you mean 'oracle'?"),
    "tables metrics --out x.csv --benchmark humblebenhc": (
        2,
        "--benchmark: 'humblebenhc' is not known; did you mean 'humb",
    ),
    "check humblebench --edition full": (3, "data first (known-unknowns data fetch humblebench --edition full)"),
    "compare-models GLM-4.1V Mulberry --edition released": (3, "results/released: no two have answers to the same"),
    "compare-models oracle orcale": (2, "MODEL: 'orcale' is not known; did you mean 'oracle'?"),
    "check params --params .": (2, "no such file: ."),
    "tables metrics": (2, "--out: name the CSV file to write"),
    "tables paper --variant noise": (2, "--variant: selects metrics; write  tables metrics"),
    "data pin --edition full": (2, "is in no repository of DVC; run  git init && dvc init  and pin again"),
}


def invoke(*arguments: str) -> tuple[BaseException | None, int, str]:
    result = CliRunner().invoke(cli.app, arguments)
    code = getattr(result.exception, "exit_code", result.exit_code)
    return result.exception, code, str(result.exception) if result.exception else result.output


def required(command: Callable[..., None]) -> list[str]:
    """Values of the required arguments and options: a name or file that does not exist, or the least sound number."""
    hints, found = get_type_hints(command, include_extras=True), []
    for name, parameter in signature(command).parameters.items():
        if parameter.default is not parameter.empty:
            continue
        kind, *about = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        value = {int: "2", float: "0.5"}.get(kind, "nowhere")
        is_option = any(isinstance(each, OptionInfo) for each in about)
        found += [f"--{name.replace('_', '-')}", value] if is_option else [value]
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_outside_a_project_says_where_to_run_it(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error, code, text = invoke(*name.split(), *required(COMMANDS[name]))
    if name in ALONE:
        assert (error is None and code == 0) or "nowhere" in text
    else:
        assert isinstance(error, KnownUnknownsError) and code in (2, 3), f"{error!r}"
        assert "\n" not in text and "Errno" not in text
    assert not list(tmp_path.rglob("*"))


@pytest.mark.parametrize("command", IN_A_PROJECT)
def test_a_mistake_in_a_project_is_named(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    error, code, text = invoke(*command.split())
    expected, message = IN_A_PROJECT[command]
    assert isinstance(error, KnownUnknownsError) and code == expected, f"{error!r}"
    assert message in text and "\n" not in text


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("fetch", "data fetch"),
        ("lock", "data lock"),
        ("pin", "data pin"),
        ("licences", "data licences"),
        ("retry", "journal retry"),
        ("metrics", "tables metrics"),
    ],
)
def test_a_former_name_answers_with_the_present_one(former, present):
    done = subprocess.run(
        [sys.executable, "-m", "known_unknowns", former, "--edition", "full"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == f"known-unknowns: error: {former}: is now `known-unknowns {present}`\n"
    assert invoke(*present.split(), "--help")[1] == 0


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ([], "the workflow is run in a project by `snakemake`; `known-unknowns init FOLDER` creates one"),
        (["Snakefile"], "the workflow is run by `snakemake`"),
        (["Snakefile", "Makefile"], "the workflow is run by `make run`"),
    ],
)
def test_run_is_a_command_of_another_program(files, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in files:
        Path(name).touch()
    _, code, text = invoke("run", "--edition", "full")
    assert (code, text) == (2, f"run: {says}")


@pytest.mark.parametrize(
    ("command", "says"), [("journal check", "no journals below"), ("data pin --results", "Nothing was")]
)
def test_a_command_without_anything_to_do_says_so(command, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())
    error, code, text = invoke(*command.split())
    assert error is None and code == 0 and says in text
