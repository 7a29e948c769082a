"""docs/own_data.md as it is written: its files, its commands and its messages, in a copy of the project."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from known_unknowns import tables
from known_unknowns.records import OVERALL
from tests.factories import png
from tests.paths import ROOT
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PAGE = (ROOT / "docs/own_data.md").read_text(encoding="utf-8")


TARGETS = (
    ("results/mine/metrics/oracle/multiple_choice/metrics.parquet",),
    ("results/mine/report/index.html", "results/mine/headline.csv"),
)
"""What the two runs of the page compute here: first the numbers of one model, then the report."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def run(project: Project, command: str, *, targets: tuple[str, ...] = ()) -> str:
    """Run a command of the page. For ``make run``, the command is run that the Makefile has for it.

    It gets one core: on a machine with other work, two threads of a tiny model wait for each other most of the time.
    """
    program, *arguments = shlex.split(command)
    if program == "make":
        assert arguments == ["run", "EDITION=mine"]
        return project.snakemake(*targets, "--cores", "1", "--config", "edition=mine")
    assert program == "known-unknowns"
    return project.run("known-unknowns", *arguments).stdout


def jobs(printed: str) -> dict[str, int]:
    """The table of jobs that a run prints first: rules and their numbers of jobs."""
    return {name: int(count) for name, count in re.findall(r"^ (\w[\w ]*?) +(\d+) *$", printed, re.MULTILINE)}


@pytest.fixture(scope="module")
def finished(untouched: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, dict[str, str]]:
    """The project after all commands of the page, and what each of them printed."""
    project = untouched.twin(tmp_path_factory.mktemp("own") / "project")

    def reduce(params: dict) -> None:
        params["editions"]["mine"]["models"] = ["oracle"]
        params["benchmarks"]["multiple_choice"] |= {"variants": ["original", "nota_only"], "seeds": {}}
        params["tracking"]["enabled"] = False

    project.change_params(reduce)
    images = project.root / "my_data/images"
    images.mkdir(parents=True)
    (images / "kitchen.png").write_bytes(png((200, 30, 30)))
    (images / "garden.png").write_bytes(png((30, 200, 30)))
    (images.parent / "questions.csv").write_text(blocks("csv")[0], encoding="utf-8")
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    targets = iter(TARGETS)
    return project, {
        f"{number} {command}": run(project, command, targets=next(targets) if command.startswith("make") else ())
        for number, command in enumerate(commands)
    }


def accuracy(root: Path, model: str) -> dict[str, tuple[float | None, int]]:
    metrics = tables.read_metrics(root / f"results/mine/metrics/{model}/multiple_choice/metrics.parquet")
    return {
        m.variant: (m.value, m.n)
        for m in metrics
        if (m.name, m.parser, m.category, m.seed) == ("accuracy", "official", OVERALL, 0)
    }


def test_the_commands_of_the_page_work(finished):
    project, printed = finished
    first = next(text for command, text in printed.items() if "check params" in command)
    assert blocks("text")[0].strip() in first
    assert accuracy(project.root, "oracle") == {"original": (1.0, 3), "nota_only": (1.0, 3)}
    assert set(accuracy(project.root, "my-model")) == {"original", "nota_only"}
    assert (project.root / "my-model-multiple_choice-original-seed0.csv").is_file()
    assert (project.root / "my-model-multiple_choice-nota_only-seed0.tsv").is_file()
    report = (project.root / "results/mine/report/index.html").read_text(encoding="utf-8")
    assert "Multiple choice" in report and "my-model" in report
    for page in (project.root / "results/mine/report").glob("*.html"):  # nobody released these questions
        text = page.read_text(encoding="utf-8")
        assert "as released" not in text.lower() and "as published" not in text, page.name
    provenance = (project.root / "results/mine/report/provenance.html").read_text(encoding="utf-8")
    assert '<span class="name">Multiple choice</span>' in provenance
    assert '<span class="name">multiple_choice</span>' not in provenance
    second = [text for command, text in printed.items() if "make run" in command][1]
    assert jobs(second)["infer"] == 1 and "fetch" not in jobs(second)  # only the new model is asked


def test_the_lines_of_the_page_are_in_params_yaml():
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    named = yaml.safe_load(blocks("yaml")[0])
    assert params["benchmarks"]["multiple_choice"]["data"] == named


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(finished):
    project, _ = finished
    targets = (*TARGETS[0], *TARGETS[1], "--config", "edition=mine", "--dry-run")
    assert "Nothing to be done" in project.snakemake(*targets)
    table = project.root / "my_data/questions.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("Two,Three", "Two,Five"), encoding="utf-8")
    rerun = project.snakemake(*targets)
    assert {"fetch", "questions", "infer", "report"} <= jobs(rerun).keys()


def test_mistakes_stop_the_run_before_its_first_job(finished):
    project, _ = finished
    (project.root / "my_data/images/garden.png").rename(project.root / "garden.png")
    out = project.snakemake("--config", "edition=mine", code=None)
    assert "benchmarks.multiple_choice.data.mine: " in out
    assert "questions.csv, row 4: column image: there is no image 'images/garden.png'" in out
    (project.root / "garden.png").rename(project.root / "my_data/images/garden.png")
