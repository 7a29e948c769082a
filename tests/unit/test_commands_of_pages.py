"""The commands of all pages, in blocks and within lines: each exists, and is run by a test or listed with the reason.

What costs a second is run here, as it is written.
"""

from __future__ import annotations

import json
import re
import shlex

import pytest
import typer
import yaml
from snakemake.cli import get_argument_parser
from typer.testing import CliRunner

from known_unknowns import cli
from tests import pages
from tests.paths import ROOT

RUN_HERE = [
    "known-unknowns audit",
    "known-unknowns audit --benchmark mmsap --json",
    "known-unknowns check params",
    "known-unknowns construct --help",
    "known-unknowns construct generators NAME",
    "known-unknowns data licences",
    "known-unknowns models list --absent",
    "known-unknowns models list --as-published humblebench",
    "known-unknowns models list --json",
    "known-unknowns plan run --edition papers_humblebench --gpus 8",
    "known-unknowns rescore --benchmark humblebench --variant nota_only docs/samples/predictions.jsonl",
]
"""NAME is the pocket edition's."""
PAGES_RUN = {
    "docs/own_data.md": "tests/workflow/test_own_data.py",
    "docs/tutorial_benchmark.md": "tests/workflow/test_own_benchmarks.py",
    "docs/tutorial_model.md": "tests/workflow/test_tutorials.py",
}
"""Pages whose blocks are run as they are written."""
ELSEWHERE = {
    "make run": "tests/workflow/test_tutorials.py",
    "make construct": "tests/workflow/test_construct.py",
    "make findings": "tests/workflow/test_tutorials.py",
    "make pin": "tests/workflow/test_share.py",
    "make report": "tests/workflow/test_run.py",
    "make open": "tests/workflow/test_open.py",
    "make record": "tests/workflow/test_dvc.py",
    "make schema": "tests/unit/config/test_config.py",
    "known-unknowns audit": "tests/unit/audit/test_command.py",
    "known-unknowns check": "tests/workflow/test_wheel.py",
    "known-unknowns compare-models": "tests/workflow/test_tutorials.py",
    "known-unknowns construct release": "tests/workflow/test_construct.py",
    "known-unknowns construct": "tests/workflow/test_construct.py",
    "known-unknowns export": "tests/unit/cli/test_export.py",
    "known-unknowns data fetch": "tests/workflow/test_fetch.py",
    "known-unknowns init": "tests/workflow/test_tutorials.py",
    "known-unknowns journal": "tests/faults/test_journal_repair.py",
    "known-unknowns data lock": "tests/workflow/test_fetch.py",
    "known-unknowns tables metrics": "tests/workflow/test_run.py",
    "known-unknowns models list": "tests/unit/config/test_catalogue.py",
    "known-unknowns models probe": "tests/unit/model_runs/test_probe.py",
    "known-unknowns open": "tests/workflow/test_open.py",
    "known-unknowns plan run": "tests/unit/workflow/test_run_plan.py",
    "known-unknowns rescore": "tests/unit/exchange/test_commands.py",
    "known-unknowns journal retry": "tests/faults/test_retry.py",
    "known-unknowns review": "tests/unit/construction/review/test_results.py",
    "known-unknowns tables": "tests/workflow/test_run.py",
    "known-unknowns try": "tests/workflow/test_try.py",
    "snakemake": "tests/workflow/test_run.py",
    "snakemake --workflow-profile profiles/slurm": "tests/workflow/test_slurm.py",
    "dvc": "tests/workflow/test_dvc.py",
    "python -c": "tests/unit/tracking/test_reruns.py",
    "pytest tests/unit/test_architecture.py": "tests/unit/test_architecture.py",
}
"""The beginning of a command, and the test that runs commands of this kind with data and models of its own."""
NOT_RUN = {
    "make test": "the command that runs this test",
    "make setup": "installs packages from a registry; .ci/run runs it",
    "make clean": "deletes results; make -n shows the command",
    "make format": "changes files; .ci/run runs make lint",
    "make lint": ".ci/run runs it",
    "make docs": ".ci/run runs it",
    "make dist": ".ci/run runs it",
    "make lock": "asks a registry",
    "make upgrade": "asks a registry",
    "pip": "installs packages from a registry",
    "uv": "installs packages from a registry",
    "dvc push": "needs a store; test_share.py pushes to a folder",
    "dvc remote modify": "the address and the key of a store",
    "mlflow": "MLflow's own commands",
    "git": "Git's own commands",
    "bash .ci/run": "runs all tests",
    "cd": "the shell's own",
    "source": "the shell's own",
    "export": "the shell's own",
    "docker": "needs an engine of containers",
    "apptainer": "needs an engine of containers; tests/workflow/test_wheel.py installs from the files of the recipe",
    "vllm": "needs a server; tests/peers/test_servers.py runs one if it is installed",
    "python -m sglang.launch_server": "needs a GPU",
    "python -m http.server": "Python's own",
    "python -m venv": "Python's own",
    "python -m bench.parser.measure": "a measurement on replies that are not part of the repository",
    "pre-commit install": "changes the checkout's hooks",
}
"""The beginning of a command, and why no test runs it."""
NAMES = {*cli.GROUPS, *(name for listed in cli.COMMANDS.values() for name in listed)}
ALL = [(page, command) for page in pages.pages() for command in dict.fromkeys(pages.commands(page))]


def kind_of(command: str, kinds: dict[str, str]) -> str | None:
    """Return the longest beginning of the command in the table."""
    program, *arguments = pages.words(command)
    program = {"python3": "python"}.get(name := program.rpartition("/")[2], name)
    beginnings = [" ".join([program, *arguments][:count]) for count in range(len(arguments) + 1, 0, -1)]
    return next((beginning for beginning in beginnings if beginning in kinds), None)


def editions_of(page: str) -> set[str]:
    """Return the editions of params.yaml and the catalogue, those of the page, and those that a command makes."""
    files = [ROOT / "params.yaml", *(ROOT / "src").glob("*/**/catalogue.yaml")]
    known = [name for path in files for name in yaml.safe_load(path.read_text(encoding="utf-8")).get("editions", {})]
    added = [yaml.safe_load(block) for block in pages.blocks(page, "yaml") if block.startswith("editions:\n")]
    return {*known, *(name for block in added for name in block["editions"]), "constructed-pocket", "<edition>"}


@pytest.fixture
def parse(monkeypatch):
    """Parse a command of the package without running it, and return what it says about mistakes."""
    monkeypatch.setattr(typer.core.TyperCommand, "invoke", lambda *_: None)

    def parsed(arguments: list[str]) -> str:
        done = CliRunner().invoke(cli.app, arguments, env={"COLUMNS": "200", "TERM": "dumb"})
        return "" if done.exit_code == 0 else done.output or str(done.exception)

    return parsed


@pytest.mark.parametrize(("page", "command"), ALL, ids=[f"{page}: {command}" for page, command in ALL])
def test_every_command_exists_and_is_run_or_listed(page, command, parse):
    program, *arguments = pages.words(command)
    if program == "make":
        check_target(arguments)
    elif program == "known-unknowns":
        named = " ".join(arguments) in NAMES  # the text speaks of the command, and gives no arguments
        mistake = parse([*arguments, "--help"] if named else arguments)
        assert not mistake, f"{command}: {mistake}"
    elif program == "snakemake":
        get_argument_parser().parse_args([word for word in arguments if word != "..."])
    for edition in re.findall(r"(?:EDITION=|--edition[ =]|\bedition=)([^\s`\"]+)", command):
        assert edition in editions_of(page), command
    for path in re.findall(r"(?<![\w/])((?:docs|profiles|scripts|tests|bench|models)/[\w./-]+)", command):
        assert (ROOT / path).exists() or "--out" in command, path

    listed = kind_of(command, NOT_RUN)
    test = PAGES_RUN.get(page) or ELSEWHERE.get(kind_of(command, ELSEWHERE))
    assert command in RUN_HERE or listed or test, f"no test runs it, and no reason is listed: {command}"
    assert test is None or (ROOT / test).is_file(), f"{test} is named for {command}"


def check_target(arguments: list[str]) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    variables = {"EDITION", "LIMIT", "CORES", "ARGS", "PYTHON", "NAME"}
    for word in arguments:
        name, given, _ = word.partition("=")
        assert name in (variables if given else targets), f"make {' '.join(arguments)}"


@pytest.mark.parametrize("line", RUN_HERE)
def test_a_command_that_needs_no_run(line, monkeypatch):
    assert any(line == command for _, command in ALL), "on no page"
    monkeypatch.chdir(ROOT)
    _, *arguments = shlex.split(line.replace("NAME", "pocket"))
    done = CliRunner().invoke(cli.app, arguments)
    assert done.exit_code == 0 and done.output.strip()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("known-unknowns power", "No such command"),
        ("known-unknowns audit --benchmarks mmsap", "No such option"),
        ("known-unknowns audit mmsap", "unexpected extra argument"),
        ("known-unknowns journal retry --sample 1", "No such option"),
        ("known-unknowns journal retry --finish error", "Missing argument"),
        ("known-unknowns fetch humblebench", "is now `known-unknowns data fetch`"),
        ("make runn", "make runn"),
        ("make run EDITION=fulll", "fulll"),
        ("uvx ruff check", "no reason is listed"),
    ],
)
def test_a_wrong_command_is_found(command, told, parse):
    """The check itself."""
    with pytest.raises(AssertionError, match=told):
        test_every_command_exists_and_is_run_or_listed("README.md", command, parse)


def test_the_example_of_rescore_is_what_the_sample_gives(monkeypatch):
    (block,) = pages.blocks("docs/rescore.md", "json")
    shown = json.loads(block)
    monkeypatch.chdir(ROOT)
    (line,) = [line for line in RUN_HERE if "rescore" in line]
    _, *arguments = shlex.split(line)
    found = json.loads(CliRunner().invoke(cli.app, [*arguments, "--json"]).stdout)
    keys = ("benchmark", "variant", "n")
    assert {key: found[key] for key in keys} == {key: shown[key] for key in keys}
    assert found["parsers"]["official"]["accuracy"] == pytest.approx(shown["parsers"]["official"]["accuracy"], abs=1e-4)
