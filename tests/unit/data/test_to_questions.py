"""Both published forms of HumbleBench, from a hub to the table of questions, with the command line."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from known_unknowns.cli import app
from known_unknowns.data.questions import normalise
from known_unknowns.tables import read_questions
from tests.factories import PUBLISHED, published_row

from .conftest import REPOSITORY, ROOT

ROWS = [published_row(number) for number in range(20)]


def parquet_form():
    """Two Parquet files that contain the images."""
    files = {"README.md": b"---\nlicense: mit\n---\n"}
    for number in range(2):
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(ROWS[number * 10 : number * 10 + 10], schema=PUBLISHED), sink)
        files[f"data/train-{number:05}-of-00002.parquet"] = sink.getvalue().to_pybytes()
    return files


def folder_form():
    """A folder of images with a file of metadata."""
    files = {row["image"]["path"]: row["image"]["bytes"] for row in ROWS}
    lines = [{key: row[key] for key in row if key != "image"} | {"file_name": row["image"]["path"]} for row in ROWS]
    return files | {"metadata.jsonl": "".join(json.dumps(line) + "\n" for line in lines).encode()}


@pytest.fixture
def known_unknowns(tmp_path, monkeypatch):
    """The command line, in a folder with params.yaml."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_bytes((ROOT / "params.yaml").read_bytes())

    def run(*arguments, code=0):
        done = CliRunner().invoke(app, [*map(str, arguments)])
        assert done.exit_code == code, (done.output, done.exception)
        return done.output

    return run


@pytest.mark.parametrize("form", [parquet_form, folder_form])
def test_from_the_hub_to_questions(serve, known_unknowns, tmp_path, form):
    files = form()
    hub = serve({path: ["cut"] for path in files if path.endswith(".parquet")}, large=100)
    hub.commit(REPOSITORY, files)
    assert "humblebench: not locked" in known_unknowns("data", "lock", "humblebench", "--check", code=1)
    known_unknowns("data", "lock", "humblebench")
    known_unknowns("data", "lock", "humblebench", "--check")
    known_unknowns("data", "fetch", "humblebench", "--edition", "full")
    raw, out = tmp_path / "data/full/raw/humblebench", tmp_path / "questions"
    normalise("humblebench", raw, out)
    questions = read_questions(out / "questions.parquet")
    assert [question.id for question in questions] == [str(number + 1) for number in range(20)]
    assert [question.extra["label"] for question in questions] == [row["label"] for row in ROWS]
    assert len({question.group for question in questions}) == 4
    assert hub.sent() == sum(map(len, set(files.values())))
