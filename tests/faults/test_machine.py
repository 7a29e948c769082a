"""Faults of the machine and of files end with one line, not with a traceback, and soon."""

from __future__ import annotations

import shutil
import socket
import time
from pathlib import Path

import pytest
import yaml

from known_unknowns import tables
from known_unknowns.cli import main
from known_unknowns.config import Tracking
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.workflow import configuration
from known_unknowns.workflow.error_line import error_line
from tests.asked_and_measured import infer
from tests.factories import model_entry, question
from tests.paths import ROOT

UNWRITABLE = Path("/sys")  # not even by root


def call(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["known-unknowns", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def ask(folder, questions, **files):
    """Ask a scripted respondent as a job does, and return the exit code."""
    params = configuration.load(folder / "params.yaml")
    with pytest.raises(SystemExit) as ended, error_line(is_job=True):
        infer(params, "oracle", "humblebench", questions=questions, variants=folder / "variants", **files)
    return ended.value.code


@pytest.fixture
def questions(tmp_path):
    folder = tmp_path / "questions"
    raw = yaml.safe_load((ROOT / "params.yaml").read_text())
    raw["editions"]["pocket"]["seeds"] = [0]
    benchmark = raw["benchmarks"]["humblebench"] | {"variants": ["original"]}
    raw["benchmarks"]["humblebench"] = {key: benchmark[key] for key in ("protocol", "variants")}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(raw))
    tables.write_variant(tmp_path / "variants/original.parquet", {0: [question(str(n)) for n in range(3)]})
    return folder


@pytest.mark.skipif(not UNWRITABLE.is_dir(), reason="needs a folder in which nobody can write")
@pytest.mark.parametrize("unwritable", ["journal", "out"])
def test_an_unwritable_folder_is_named(questions, tmp_path, capsys, unwritable):
    folders = {name: tmp_path / name for name in ("journal", "out")} | {unwritable: UNWRITABLE / "project"}
    code = ask(tmp_path, questions, out=folders["out"], journal=folders["journal"] / "j.jsonl")
    said = capsys.readouterr().err
    assert code == MachineError.exit_code
    assert f"error: {UNWRITABLE / 'project'}" in said and said.strip().splitlines()[-1].endswith("and run again")
    assert "Traceback" not in said


def test_a_file_where_a_folder_is_needed_is_named(questions, tmp_path, capsys):
    (tmp_path / "journal").write_text("")
    code = ask(tmp_path, questions, out=tmp_path / "out", journal=tmp_path / "journal" / "j.jsonl")
    assert code == MachineError.exit_code
    assert f"error: {tmp_path / 'journal'}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content"),
    [("tokenizer.json", b'{"a": [1, 2]}'), ("tokenizer.json", None), ("model.safetensors", b"\0" * 100)],
)
def test_a_broken_checkpoint_is_named(tmp_path, name, content):
    pytest.importorskip("transformers")
    from known_unknowns import engines

    ignored = shutil.ignore_patterns("never-refuses", "refuses-often")
    shutil.copytree(ROOT / "models/pocket", tmp_path / "model", ignore=ignored)
    data = (tmp_path / "model" / name).read_bytes()
    (tmp_path / "model" / name).write_bytes(data[: len(data) // 2] if content is None else content)
    settings = {"source": str(tmp_path / "model"), "revision": "unpinned", "dtype": "float32", "device": "cpu"}
    with pytest.raises(ConfigError, match=r"models\.m\.source: cannot load"):
        engines.create("m", model_entry("transformers", **settings))


def test_an_mlflow_server_that_is_gone_is_named_at_once(caplog):
    pytest.importorskip("mlflow")
    from known_unknowns.tracking.store import open_store

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    tracking = Tracking(enabled=True, uri=f"http://user:pw@127.0.0.1:{port}", artifacts="a", experiment="e")
    start = time.monotonic()
    message = r"http://user:\*\*\*@127\.0\.0\.1:\d+: the MLflow server cannot be reached"
    with pytest.raises(MachineError, match=message) as error, open_store(tracking):
        pass
    assert time.monotonic() - start < 15
    assert "pw@" not in str(error.value) + caplog.text


def test_deep_nesting_is_refused_by_every_command(tmp_path, monkeypatch, capsys):
    (tmp_path / "params.yaml").write_text("a: " + "[" * 100_000)
    assert call(monkeypatch, "check", "params", "--params", tmp_path / "params.yaml") == 2
    assert "more than 50 levels" in capsys.readouterr().err
