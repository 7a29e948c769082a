"""``tables confidence``, and what ``check params`` says of results of an earlier version."""

from __future__ import annotations

import csv
import math
import shutil
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from known_unknowns import cli, tables
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.records import AnsweredTurn, Cell, Reply
from known_unknowns.scoring.table import parse
from tests.factories import question
from tests.paths import ROOT

RIGHT, WRONG, REFUSED = Reply("A", {"A": math.log(0.8), "B": math.log(0.2)}), Reply("B"), Reply("E")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose edition has two models and one benchmark."""
    monkeypatch.chdir(tmp_path)
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["editions"]["pocket"] |= {"benchmarks": ["humblebench"], "models": ["oracle", "always_a"]}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli.app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def write_answers_of(project: Path, model: str, replies: list[Reply]) -> None:
    """The answers to one question, of which A is right, with these samples of the reply."""
    results, asked = project / "results/pocket", question("q1", 0)
    variants = results / "variants/humblebench"
    tables.write_variant(variants / "original.parquet", {0: [asked]})
    turns = {
        Cell("original", 0, sample): [AnsweredTurn("q1", 0, "answer", "?", (), asked.labels, "k", reply)]
        for sample, reply in enumerate(replies)
    }
    path = results / f"replies/{model}/humblebench/replies.parquet"
    tables.write_replies(path, turns)
    answers = results / f"answers/{model}/humblebench/answers.parquet"
    parse(variants, path, answers, cells=list(turns), parsers=["official", "robust"])


def test_tables_confidence_has_every_source_of_each_answer(project: Path) -> None:
    """Of four samples, A twice, B once, E once: one of the three others agrees with A, none with B or E."""
    write_answers_of(project, "oracle", [RIGHT, WRONG, RIGHT, REFUSED])
    assert run("tables", "confidence", "--out", "out").split() == ["out/confidence/oracle/humblebench.csv"]
    with (project / "out/confidence/oracle/humblebench.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [(row["variant"], row["seed"], row["sample"], row["question_id"]) for row in rows] == [
        ("original", "0", str(sample), "q1") for sample in range(4)
    ]
    assert [row["outcome"] for row in rows] == ["answered", "answered", "answered", "refused"]
    assert [row["attempted"] for row in rows] == ["True", "True", "True", "False"]
    assert [row["correct"] for row in rows] == ["True", "False", "True", "False"]
    assert [row["would_be_right"] for row in rows] == ["True", "False", "True", ""]
    assert [row["refusal"] for row in rows] == ["1.0", "1.0", "1.0", "0.0"]
    assert [float(row["samples"]) for row in rows] == pytest.approx([1 / 3, 0, 1 / 3, 0])
    assert [row["letters"] and float(row["letters"]) for row in rows] == [
        pytest.approx(0.8),
        "",
        pytest.approx(0.8),
        "",
    ]
    assert {row["option_text"] for row in rows} == {row["verbalised"] for row in rows} == {""}


def test_tables_names_what_is_missing_or_unknown(project: Path) -> None:
    with pytest.raises(DataError, match="no answers here yet; run  snakemake --config edition=pocket  first"):
        run("tables", "confidence")
    with pytest.raises(ConfigError, match="confidence"):
        run("tables", "confidences")


def test_check_names_folders_of_an_earlier_version_once_until_they_are_removed(project: Path) -> None:
    assert "earlier version" not in run("check", "params")
    for name in ("scores", "confidence"):
        (project / "results/pocket" / name / "oracle").mkdir(parents=True)
    printed = run("check", "params")
    assert printed.count("earlier version") == 1
    assert "rm -r results/pocket/scores results/pocket/confidence" in printed
    for folder in printed.partition("rm -r ")[2].split("\n")[0].split():
        shutil.rmtree(project / folder)
    assert "earlier version" not in run("check", "params")
