"""The wheel outside a checkout: its project runs MM-UPD from rendered files to the report; commands need no project."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from known_unknowns import evaluate, tables
from known_unknowns.errors import ConfigError
from tests.paths import ROOT
from tests.workflow.printed_commands import commands, planned
from tests.workflow.project import Project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
IMAGES = 2
SETTINGS = ["mm_upd_base", "original", "mm_upd_instruction"]
SUBSETS = ["AAD", "IASD", "IVQD"]
PARSERS = ["official", "robust", "likelihood"]
ACCURACIES = {
    # The oracle withholds an answer where it should. always_a never does, and "A" is right in one of the rotations of a
    # standard question, of which circular evaluation needs all.
    "oracle": {"circular_standard": 1.0, "circular_upd": 1.0, "circular_dual": 1.0},
    "always_a": {"circular_standard": 0.0, "circular_upd": 0.0, "circular_dual": 0.0},
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an unpacked wheel, built as in the containers: from the files that the Apptainer image gets."""
    folder = tmp_path_factory.mktemp("wheel")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    definition = (ROOT / "scripts/containers/known-unknowns.def").read_text(encoding="utf-8")
    lines = re.search(r"%files\n(.*?)\n\n", definition, re.DOTALL)[1].splitlines()
    copied = [Path(line.split()[0]) for line in lines]
    for name in filter(None, listed.split("\0")):
        if any(top in (Path(name), *Path(name).parents) for top in copied) and (ROOT / name).is_file():
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / "source" / name)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        ".",
        "./source",
    ]
    subprocess.run(build, cwd=folder, check=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def configure(params: dict[str, Any]) -> None:
    params["edition"] = "pocket_mm_upd"
    params["editions"]["pocket_mm_upd"] = {"models": list(ACCURACIES)}  # over the edition of the catalogue
    params["benchmarks"]["mm_upd"]["data"] = {"pocket": {"images": IMAGES, "revision": "unpinned"}}
    params["tracking"]["enabled"] = False


@pytest.fixture(scope="module")
def finished(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project that ``known-unknowns init`` of the wheel created, with a finished run of MM-UPD.

    The files init.txt and run.txt beside it have what was printed.
    """
    folder = tmp_path_factory.mktemp("outside")
    environment = {"PYTHONPATH": str(installed)}
    created = Project(folder, environment).run("known-unknowns", "init", "mine").stdout
    assert "Created a project" in created
    (folder / "init.txt").write_text(created, encoding="utf-8")
    project = Project(folder / "mine", environment)
    project.change_params(configure)
    (folder / "run.txt").write_text(project.snakemake(), encoding="utf-8")
    return project


def test_a_project_outside_a_checkout_plans_the_pocket_edition(finished):
    metrics = "results/pocket/metrics/oracle/mmsap/metrics.parquet"
    assert "infer" in finished.snakemake("--dry-run", "--config", "edition=pocket", "--", metrics)
    assert not (finished.root / "src").exists()


@pytest.mark.parametrize("model", ACCURACIES)
def test_circular_and_dual_accuracies_of_mm_upd(finished, model):
    path = finished.root / f"results/pocket_mm_upd/metrics/{model}/mm_upd/metrics.parquet"
    found = {
        (metric.variant, metric.parser, metric.category, metric.name): (metric.value, metric.n)
        for metric in tables.read_metrics(path)
        if metric.name in ACCURACIES[model] and metric.category in SUBSETS
    }
    assert found == {
        (setting, parser, subset, name): (value, IMAGES)
        for setting in SETTINGS
        for parser in PARSERS
        for subset in SUBSETS
        for name, value in ACCURACIES[model].items()
    }


def test_the_report_has_the_section_of_mm_upd_and_its_models(finished):
    report = finished.root / "results/pocket_mm_upd/report"
    text = "".join(path.read_text(encoding="utf-8") for path in report.glob("*.html"))
    assert "<h2>MM-UPD</h2>" in text and all(model in text for model in ACCURACIES)
    assert (report / "questions.html").is_file()


def test_commands_need_no_project(finished, installed, tmp_path):
    """They run in an empty folder: export and rescore with the files of a run, check with those of a benchmark."""
    elsewhere = Project(tmp_path, {"PYTHONPATH": str(installed)})

    def command(*arguments: str | Path) -> str:
        return elsewhere.run("known-unknowns", *arguments).stdout

    questions = finished.root / "results/pocket_mm_upd/variants/mm_upd/original.parquet"
    replies = finished.root / "results/pocket_mm_upd/replies/oracle/mm_upd/replies.parquet"
    assert isinstance(json.loads(command("audit", "--benchmark", "mmsap", "--json")), list)
    command("export", "--questions", questions, "--replies", replies, "--format", "jsonl", "--out", "replies.jsonl")
    rescored = command("rescore", "replies.jsonl", "--benchmark", "mm_upd", "--annotations", questions, "--json")
    assert "circular_dual" in rescored
    raw = finished.root / "data/pocket/raw/mm_upd"
    checked = elsewhere.run("known-unknowns", "check", "mm_upd", "--raw", raw, code=1).stdout
    assert "820" in checked  # the published number of questions, which two images do not give
    assert [path.name for path in tmp_path.iterdir()] == ["replies.jsonl"]


def test_each_printed_command_works_in_a_project(finished, installed, monkeypatch):
    """What runs long is planned (`--dry-run`). The run of the fixture is the line `snakemake` of `init`."""
    run = (finished.root.parent / "run.txt").read_text(encoding="utf-8")
    change_folder, *lines = (finished.root.parent / "init.txt").read_text(encoding="utf-8").splitlines()[2:]
    assert change_folder.strip() == f"cd {finished.root.name}"
    of_init = [" ".join(words) for words in commands("\n".join(lines))]
    assert of_init == [
        "known-unknowns check params",
        "snakemake --dry-run",
        "snakemake",
        "known-unknowns open",
        "known-unknowns try MODEL --dry-run",
        "known-unknowns models list",
    ]
    finished.run(*of_init[0].split())
    finished.run(*of_init[1].split())
    finished.run(*of_init[3].split(), "--no-browser")
    finished.run(*of_init[4].replace("MODEL", "always_a").split())

    advice, (opens, *options) = commands(run.partition("\nNext ")[2].partition("\n\n")[0]), commands(run)[-1]
    assert Path(opens).name == "known-unknowns" and options == ["open", "--edition", "pocket_mm_upd"]
    finished.run(opens, *options, "--no-browser")
    assert ["snakemake", "--config", "edition=full_mm_upd"] in advice
    for command in advice:
        finished.run(*planned(command))

    printed = finished.run("known-unknowns", "try", "always_a", "--benchmark", "mm_upd", "--limit", "2").stdout
    everything, report = commands(printed)
    assert everything[1:3] == ["try", "always_a"] and everything[-2:] == ["--limit", "0"]
    finished.run(*planned(everything))
    assert report[:2] == ["snakemake", "--configfile"]
    finished.run(*planned(report))

    finished.run("known-unknowns", "export", "always_a", "mm_upd", "--format", "jsonl", "--out", "theirs.jsonl")
    printed = finished.run("known-unknowns", "rescore", "theirs.jsonl", "--benchmark", "mm_upd", "--import", "m").stdout
    assert commands(printed) == [["snakemake"]]
    finished.run(*planned(["snakemake"]))

    monkeypatch.chdir(finished.root)
    with pytest.raises(ConfigError) as error:
        evaluate(lambda prompt, images: "A", "mmsap", data="pocket")
    (command,) = commands(str(error.value))
    assert command[0] == "snakemake" and "mmsap" in command[1]
    finished.run(*planned(command))


EVALUATION = """
import sys
sys.modules.update(dict.fromkeys(("snakemake", "mlflow", "dvc", "altair")))  # as if they were not installed
import known_unknowns
result = known_unknowns.evaluate(lambda prompt, images: "E", limit=5)
print(known_unknowns.__file__, result.report("report.html"))
print(result.summary())
"""


def test_a_function_is_evaluated_without_a_project_and_the_workflow(installed, tmp_path):
    printed = Project(tmp_path, {"PYTHONPATH": str(installed)}).run("python", "-c", EVALUATION).stdout
    assert f"{installed}/known_unknowns/__init__.py report.html" in printed
    assert "on HumbleBench (rendered), 5 of 300 questions" in printed and "dual accuracy" in printed
    assert (tmp_path / "report.html").stat().st_size > 2000
