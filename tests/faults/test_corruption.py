"""Changed bytes in tables, journals and images end with an error that names the file, never with other numbers."""

from __future__ import annotations

import random
import shutil
import zlib
from dataclasses import dataclass

import pytest
from PIL import Image as Pillow

from known_unknowns import images, json_files, tables
from known_unknowns.benchmark.images import ImageStore
from known_unknowns.comparison.published import read_released
from known_unknowns.data.check import CheckResult, Quantity, as_json
from known_unknowns.errors import DamagedError, DataError
from known_unknowns.inference.journal import Journal
from known_unknowns.metrics.summary import summarise
from known_unknowns.records import AnsweredTurn, Metric, Reply, Score
from known_unknowns.report import checks
from known_unknowns.workflow import configuration
from known_unknowns.workflow.error_line import error_line
from known_unknowns.workflow.opening import mlflow_page
from tests.cells import ONE, write_answers
from tests.factories import question
from tests.paths import ROOT

FLIPS = 300


@dataclass(frozen=True)
class Row:
    name: str
    value: float


def _metric(i):
    return Metric("m", "b", f"v{i}", 0, 0, "robust", "Overall", "accuracy", i / 7, i / 8, i / 6, 100 + i, "Wilson")


def _turn(i):
    return AnsweredTurn(str(i), 0, "answer", f"Which is {i}?", ("a" * 64,), ("A", "B"), f"k{i}", Reply("AB"[i % 2]))


TABLES = {
    "metrics": (lambda path: tables.write_metrics(path, map(_metric, range(20))), tables.read_metrics),
    "replies": (lambda path: tables.write_replies(path, {ONE: map(_turn, range(20))}), tables.read_replies),
    "questions": (
        lambda path: tables.write_questions(path, [question(str(i), answer=i % 5) for i in range(20)]),
        tables.read_questions,
    ),
    "answers": (
        lambda path: write_answers(
            path,
            "original",
            0,
            [Score(str(i), 0, "answer", "robust", "answered", "AB"[i % 2], i % 2, not i % 2) for i in range(20)],
        ),
        tables.read_scores,
    ),
    "comparison": (
        lambda path: tables.write_dataclasses(path, [Row(f"r{i}", i / 7) for i in range(20)], Row),
        lambda path: tables.read_dataclasses(path, Row, "a table of comparisons"),
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_flipped_bit_in_a_table_is_found_or_changes_nothing(tmp_path, name):
    write, read = TABLES[name]
    path = tmp_path / "table.parquet"
    write(path)
    whole, rows = path.read_bytes(), read(path)
    draw, found = random.Random(0), 0
    for position in draw.sample(range(len(whole)), FLIPS):
        changed = bytearray(whole)
        changed[position] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        try:
            assert read(path) == rows, f"byte {position}"
        except DataError as error:
            found += 1
            assert str(path) in str(error)
    assert found > FLIPS / 5


def _summarise(metrics, out):
    files = {name: out / name for name in ("plot", "leaderboard_table", "models")}
    summarise(configuration.load(ROOT / "params.yaml"), [metrics], out=out / "metrics.json", **files)


def test_a_step_that_reads_a_damaged_table_fails_and_names_it(tmp_path, capsys):
    path = tmp_path / "metrics.parquet"
    tables.write_metrics(path, map(_metric, range(20)))
    changed = bytearray(path.read_bytes())
    changed[len(changed) // 4] ^= 1
    path.write_bytes(changed)
    with pytest.raises(SystemExit) as stopped, error_line():
        _summarise(path, tmp_path)
    said = capsys.readouterr().err
    assert stopped.value.code == DataError.exit_code
    assert str(path) in said and "delete it and run again" in said
    assert not (tmp_path / "metrics.json").exists()


def test_every_changed_byte_of_a_journal_is_found(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.append([("k1", Reply("B", {"A": -0.5}, 10, 1)), ("k2", Reply("C"))])
    whole = path.read_bytes()
    for position, byte in enumerate(whole[:-1]):  # without the last line feed the last line is torn, as after a kill
        path.write_bytes(whole[:position] + bytes([byte ^ 1]) + whole[position + 1 :])
        with pytest.raises(DataError, match=r"journal.jsonl, line [12]: this line is damaged"):
            Journal(path)


def test_journals_of_earlier_versions_are_read_and_continued(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"key": "k1", "i": 0, "n": 1, "reply": {"text": "B", "finish": "stop"}}\n')
    with Journal(path) as journal:
        assert journal["k1"] == Reply("B")
        journal.append([("k2", Reply("C"))])
    text, checksum = path.read_bytes().splitlines()[1].rsplit(b', "crc32": ', 1)
    assert checksum == f'"{zlib.crc32(text):08x}"}}'.encode()
    with Journal(path) as journal:
        assert journal["k1"] == Reply("B") and journal["k2"] == Reply("C")


@pytest.fixture
def stored(tmp_path):
    """A stored image, and another valid one of the same size."""
    references = []
    with ImageStore(tmp_path / "questions") as store:
        for colour in ("red", "blue"):
            path = tmp_path / f"{colour}.png"
            Pillow.new("RGB", (40, 30), colour).save(path)
            references.append(store.add(path.read_bytes(), file=path, row=0))
    return tmp_path / "questions", *references


def test_an_image_replaced_by_another_is_not_asked(stored):
    folder, red, blue = stored
    assert images.open_image(red, folder).getpixel((0, 0)) == (255, 0, 0)
    view = images.composite_image("view", 20, 20, of=red, box=[0, 0, 20, 20], grid=None)
    shutil.copy(folder / blue.source, folder / red.source)
    for image in (red, view):
        with pytest.raises(DataError, match=r"the image was changed: its sha256") as error:
            images.open_image(image, folder)
        assert red.source in str(error.value) and "run again" in str(error.value)


def test_a_changed_image_is_written_again_by_the_next_run(stored, tmp_path):
    folder, red, _ = stored
    changed = bytearray((folder / red.source).read_bytes())
    changed[-1] ^= 1
    (folder / red.source).write_bytes(changed)
    with ImageStore(folder) as store:
        store.add((tmp_path / "red.png").read_bytes(), file=tmp_path / "red.png", row=0)
    assert images.open_image(red, folder).getpixel((0, 0)) == (255, 0, 0)


def test_every_changed_byte_of_a_json_file_is_found(tmp_path):
    path = tmp_path / "engine.json"
    values = {"model": "m", "about": {"certificate": {"flips": 0, "compared": 64, "rate": 0.0, "gaps": [0.25]}}}
    json_files.write(path, values)
    assert json_files.read(path) == values
    whole = path.read_bytes()
    for position, byte in enumerate(whole):
        path.write_bytes(whole[:position] + bytes([byte ^ 1]) + whole[position + 1 :])
        with pytest.raises(DataError, match=r"engine.json: .*delete it and run again"):
            json_files.read(path)
    path.write_bytes(whole[:-1])
    with pytest.raises(DataError, match="the file was changed"):
        json_files.read(path)
    path.write_text('{"model": "of an earlier version"}')
    assert json_files.read(path) == {"model": "of an earlier version"}


@pytest.mark.parametrize(
    ("folder", "job", "renamed"),
    [
        ("results/pocket/metrics/m", True, True),
        ("results/pocket/metrics/m", False, False),  # by hand
        ("elsewhere", True, False),
        ("results/pocket/replies/imported/b", True, False),  # no run makes it again
    ],
)
def test_a_job_sets_a_damaged_table_aside(tmp_path, monkeypatch, capsys, folder, job, renamed):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / folder / "b.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PAR1 no table")
    if "imported" in folder:
        json_files.write(path.with_name("engine.json"), {"entry": {"engine": "imported"}})
    with pytest.raises(SystemExit) as stopped, error_line(is_job=job):
        _summarise(path, tmp_path)
    assert stopped.value.code == DataError.exit_code
    assert path.is_file() is not renamed and path.with_name("b.parquet.damaged").is_file() is renamed
    assert ("b.parquet.damaged; the next run makes it again" in capsys.readouterr().err) is renamed


def _read_check(path):
    return checks.read(path.parent, path.stem, path.stem)


JSON = {
    "check": (
        lambda path: path.write_text(as_json(CheckResult(path.stem, path, (Quantity("rows", 17, 17, ""),), ())) + "\n"),
        _read_check,
    ),
    "released numbers": (lambda path: json_files.write(path, {"cells": [], "rows": [{"n": 17}]}), read_released),
    "tracking": (lambda path: json_files.write(path, {"page": "#/experiments/17"}), mlflow_page),
}


@pytest.mark.parametrize("name", JSON)
def test_a_changed_number_in_a_json_file_is_found_by_its_reader(name, tmp_path):
    write, read = JSON[name]
    path = tmp_path / "humblebench.json"
    write(path)
    assert read(path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("17", "71", 1), encoding="utf-8")
    with pytest.raises(DamagedError, match="changed after it was written"):
        read(path)
