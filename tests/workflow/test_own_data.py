"""docs/own_data.md as it is written: its files, its commands and its messages, in a copy of the project."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.factories import png
from tests.paths import ROOT
from tests.workflow.pages import accuracy, blocks, lines, paste, run
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PAGE = "docs/own_data.md"
TARGETS = (
    ("results/mine/metrics/oracle/multiple_choice/metrics.parquet",),
    ("results/mine/report/index.html", "results/mine/leaderboard.csv"),
)
"""What the two runs of the page compute here: first the numbers of one model, then the report."""


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
    (images.parent / "questions.csv").write_text(blocks(PAGE, "csv")[0], encoding="utf-8")
    targets = iter(TARGETS)
    printed = {}
    for number, command in enumerate(lines(PAGE)):
        text = run(project, command, *(next(targets) if command.startswith("make") else ()))
        if command.endswith("--dry-run"):
            paste(project, text, "mine")
        printed[f"{number} {command}"] = text
    return project, printed


def test_the_commands_of_the_page_work(finished):
    project, printed = finished
    first = next(text for command, text in printed.items() if "check params" in command)
    assert blocks(PAGE, "text")[0].strip() in first
    of = {model: accuracy(project.root, "mine", model, "multiple_choice") for model in ("oracle", "my-model")}
    assert {variant: of["oracle"][variant, "official"] for variant, _ in of["my-model"]} == {
        "original": (1.0, 3),
        "nota_only": (1.0, 3),
    }
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
    named = yaml.safe_load(blocks(PAGE, "yaml")[0])
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
