"""The commands of `known-unknowns construct`."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from known_unknowns import cli
from known_unknowns.errors import ConfigError
from tests.paths import ROOT


def invoke(*arguments: str):
    return CliRunner().invoke(cli.app, ["construct", *arguments], env={"COLUMNS": "120", "TERM": "dumb"})


def test_generators_and_filters_are_listed():
    shown = invoke("generators", "pocket", "--params", str(ROOT / "params.yaml")).output
    assert "generator scenes: templates without a model" in shown
    assert "generator figure_a1: a language model" in shown and "(needs a model)" in shown
    assert "filter solvable: drops" in shown and "filter balance: flags" in shown


def test_an_unknown_name_is_reported_before_any_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke("graphs", "pockets", "--params", str(ROOT / "params.yaml"))
    assert isinstance(result.exception, ConfigError)
    assert "construction: 'pockets' is not known; did you mean 'pocket'?" in str(result.exception)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("code", "expected"), [("0", 0), ("3", 3)])
def test_a_command_runs_with_the_scripted_endpoint(code, expected):
    program = f"import os, sys; assert os.environ['OPENAI_BASE_URL'].startswith('http://127.0.0.1:'); sys.exit({code})"
    assert invoke("endpoint", "--", sys.executable, "-c", program).exit_code == expected
