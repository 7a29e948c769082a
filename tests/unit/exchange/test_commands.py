"""The commands as a user runs them: stdout, stderr and the exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from known_unknowns import config
from tests.factories import published_row, write_published
from tests.paths import ROOT

REPOSITORY = ROOT
LINE = {
    "label": "A",
    "question": "What color is it?\nA. Red\nB. Blue\nC. Black\nD. Gold\nE. None of the above",
    "type": "Object",
    "question_id": 1,
    "prediction": "A",
}


def known_unknowns(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY / "src")}
    command = [sys.executable, "-m", "known_unknowns", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def lines(folder: Path, *found: dict) -> str:
    (folder / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in found))
    return "p.jsonl"


def test_json_output_is_one_object_without_workflow_files(tmp_path):
    told = known_unknowns(
        "rescore",
        "--benchmark",
        "humblebench",
        "--json",
        lines(tmp_path, LINE, LINE | {"question_id": 2}),
        folder=tmp_path,
    )
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["parsers"]["robust"]["accuracy"]["value"] == 1
    assert told.stderr.startswith("known-unknowns: note: 2 of 2 questions do not say which image")
    assert list(tmp_path.iterdir()) == [tmp_path / "p.jsonl"]


@pytest.mark.parametrize(
    ("line", "arguments", "code", "says"),
    [
        (LINE | {"label": "Q"}, [], 3, "p.jsonl, line 2: labelled Q"),
        (LINE | {"question_id": 2}, ["--variant", "nosie"], 2, "did you mean 'noise'"),
    ],
)
def test_errors_are_one_line_with_their_exit_codes(tmp_path, line, arguments, code, says):
    told = known_unknowns(
        "rescore", "--benchmark", "humblebench", *arguments, lines(tmp_path, LINE, line), folder=tmp_path
    )
    assert told.returncode == code
    assert told.stdout == ""
    assert says in told.stderr
    assert len(told.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        ([], "note: the edition pocket has no multiple_choice; the edition is mine (--edition)"),
        (["--edition", "mine"], ""),
    ],
)
def test_an_edition_with_the_benchmark_is_found_and_named(tmp_path, arguments, note):
    (tmp_path / "params.yaml").write_text((REPOSITORY / "params.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    said = {"question": "Which?", "A": "Red", "B": "Blue", "answer": "A"}
    file = lines(tmp_path, *({"question_id": n, "prediction": "A"} | said for n in (1, 2)))
    told = known_unknowns("rescore", file, "--benchmark", "multiple_choice", "--json", *arguments, folder=tmp_path)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["parsers"]["robust"]["accuracy"]["value"] == 1
    assert note in told.stderr and ("edition" in told.stderr) == bool(note)


def test_exit_code_of_check_follows_severity(tmp_path):
    params = REPOSITORY / "params.yaml"
    promised = config.load(params, edition="pocket").data("humblebench")
    assert promised.questions_per_image == 5, "as the factory has it"
    options = LINE["question"].partition("\n")[2]
    rows = [published_row(n, question=f"Which of {n}?\n{options}") for n in range(5 * promised.images)]
    for changes, code, worst in (({}, 0, None), ({"type": "Weather"}, 1, "warning"), ({"label": "Q"}, 3, "error")):
        write_published(tmp_path, [*rows[:-1], rows[-1] | changes])
        told = known_unknowns("check", "humblebench", "--raw", ".", "--json", "--params", str(params), folder=tmp_path)
        assert (told.returncode, json.loads(told.stdout)["worst"]) == (code, worst)
