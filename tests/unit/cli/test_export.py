"""``export MODEL BENCHMARK``: names in place of paths."""

from __future__ import annotations

import shutil

import pytest
from typer.testing import CliRunner

from known_unknowns import cli, tables
from known_unknowns.errors import ConfigError
from known_unknowns.files import write_text
from known_unknowns.records import AnsweredTurn, Reply
from tests.cells import write_replies
from tests.factories import question
from tests.paths import ROOT


@pytest.fixture
def finished(tmp_path, monkeypatch):
    """A folder with params.yaml, and the replies of one model to two variants."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    asked = question("7")
    for variant, seed, text in (("original", 0, "A"), ("shuffled_options", 3, "B")):
        tables.write_variant(tmp_path / f"results/pocket/variants/humblebench/{variant}.parquet", {seed: [asked]})
        turn = AnsweredTurn("7", 0, "answer", "", (), asked.labels, "key", Reply(text))
        write_replies(tmp_path / "results/pocket/replies/always_a/humblebench/replies.parquet", variant, seed, [turn])
    return tmp_path


def export(*arguments):
    return CliRunner().invoke(cli.app, ["export", *arguments])


def test_a_model_and_a_benchmark_name_the_tables(finished):
    done = export("always_a", "humblebench", "--format", "csv")
    assert done.stdout.strip() == "always_a-humblebench-original-seed0.csv"
    lines = (finished / "always_a-humblebench-original-seed0.csv").read_text().splitlines()
    assert len(lines) == 2 and lines[1] == '"7","A"'
    shuffled = ("--variant", "shuffled_options", "--seed", "3", "--out", "here.jsonl")
    assert export("always_a", "humblebench", *shuffled).stdout.strip() == "here.jsonl"
    assert '"B"' in (finished / "here.jsonl").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["always_b", "humblebench"], "did you mean 'always_a'"),
        (["always_a", "humblebench", "--seed", "9"], "--seed: original has no seed 9; it has 0"),
        (["always_a", "humblebench", "--sample", "1"], "--sample: original has no sample 1; it has 0"),
        (
            ["oracle", "humblebench"],
            "make it with  snakemake results/pocket/replies/oracle/humblebench/replies.parquet --config edition=pocket",
        ),
        (["always_a"], "give MODEL and BENCHMARK, or --questions and --replies"),
        (["--questions", "q", "--replies", "r"], "--out: name the file to write"),
    ],
)
def test_what_is_missing_is_named(arguments, message, finished):
    done = export(*arguments)
    assert isinstance(done.exception, ConfigError) and message in str(done.exception)


def test_each_sample_has_a_file(finished):
    params = finished / "params.yaml"
    text = params.read_text().replace("behaviour: always_a}", "behaviour: always_a, samples: 2}")
    params.write_text(text)
    turn = AnsweredTurn("7", 0, "answer", "", (), question("7").labels, "key", Reply("C"))
    replies = finished / "results/pocket/replies/always_a/humblebench/replies.parquet"
    write_replies(replies, "original", 0, [turn], sample=1)
    for arguments, name, text in (((), "seed0", "A"), (("--sample", "1"), "seed0-sample1", "C")):
        done = export("always_a", "humblebench", "--format", "csv", *arguments)
        assert done.stdout.strip() == f"always_a-humblebench-original-{name}.csv"
        assert (finished / done.stdout.strip()).read_text().splitlines()[1] == f'"7","{text}"'


def test_a_folder_gets_a_file_of_the_usual_name(finished):
    (finished / "exported").mkdir()
    for given in ("exported", "exported/"):
        done = export("always_a", "humblebench", "--format", "csv", "--out", given)
        assert done.stdout.strip() == "exported/always_a-humblebench-original-seed0.csv"
    assert len((finished / "exported/always_a-humblebench-original-seed0.csv").read_text().splitlines()) == 2


def test_a_folder_in_place_of_a_file_is_named(finished):
    """The same holds for every file that is written completely or not at all."""
    (finished / "exported").mkdir()
    questions = "results/pocket/variants/humblebench/original.parquet"
    replies = "results/pocket/replies/always_a/humblebench/replies.parquet"
    done = export("--questions", questions, "--replies", replies, "--out", "exported")
    assert isinstance(done.exception, ConfigError) and "exported: is a folder; name a file in it" in str(done.exception)
    for write in (write_text, lambda path, text: tables.write_variant(path, {0: [question("7")]})):
        with pytest.raises(ConfigError, match="is a folder; name a file in it"):
            write(finished / "exported", "text")
    assert not list((finished / "exported").iterdir())
