"""The commands of README, the tutorials and other first pages: each exists and has the options that are named.

Those of README's section on models, of docs/own_data.md and of the tutorials are run by tests/workflow; those that need
neither a run nor data are run here.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from known_unknowns import cli
from tests.paths import ROOT

PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
RUN_HERE = [
    "known-unknowns audit",
    "known-unknowns rescore --benchmark humblebench --variant nota_only docs/samples/predictions.jsonl",
    "known-unknowns models list --absent",
]


def commands(page: Path) -> list[str]:
    """The lines of blocks of the shell, and the commands in the text."""
    text = page.read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)).replace("\\\n", " ")
    return [line.partition(" #")[0].strip() for line in blocks.splitlines()]


def options_of(name: list[str]) -> str:
    return CliRunner().invoke(cli.app, [*name, "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_has_the_named_options(page):
    names = {name for listed in cli.COMMANDS.values() for name in listed}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for line in commands(page):
        program, *arguments = shlex.split(line) or [""]
        if program == "make":
            assert arguments[0] in targets, line
        if program != "known-unknowns":
            continue
        name = arguments[: 2 if arguments[0] in cli.GROUPS else 1]
        if name[0].startswith("-"):
            continue
        assert " ".join(name) in names, line
        known = set(re.findall(r"--[a-z-]+", options_of(name)))
        assert {part.partition("=")[0] for part in arguments if part.startswith("--")} <= known, line


@pytest.mark.parametrize("line", RUN_HERE)
def test_a_command_that_needs_no_run(line, monkeypatch):
    assert any(line in commands(page) for page in PAGES)
    monkeypatch.chdir(ROOT)
    _, *arguments = shlex.split(line)
    done = CliRunner().invoke(cli.app, arguments)
    assert done.exit_code == 0 and len(done.output.splitlines()) > 10


def test_the_example_of_rescore_is_what_the_sample_gives(monkeypatch):
    page = (ROOT / "docs/rescore.md").read_text(encoding="utf-8")
    shown = json.loads(re.search(r"^```json\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[1])
    monkeypatch.chdir(ROOT)
    _, *arguments = shlex.split(RUN_HERE[1])
    found = json.loads(CliRunner().invoke(cli.app, [*arguments, "--json"]).stdout)
    assert {key: found[key] for key in ("benchmark", "variant", "n")} == {
        k: shown[k] for k in ("benchmark", "variant", "n")
    }
    assert found["parsers"]["official"]["accuracy"] == pytest.approx(shown["parsers"]["official"]["accuracy"], abs=1e-4)
