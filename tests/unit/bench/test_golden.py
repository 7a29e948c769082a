"""Golden values: tables of both layouts are found by their columns and compared by content."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.golden import compare, tables
from tests.paths import ROOT

QUESTIONS = ("q1", "q2")
TYPES = {"logprobs": pa.map_(pa.string(), pa.float64())}
VARIANTS = ("original", "noise", "zooming_robust")


def write(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({name: pa.array([row[name] for row in rows], TYPES.get(name)) for name in rows[0]})
    pq.write_table(table, path)


def question(name: str, label: str = "label") -> dict:
    images = [{"source": "images/1.png", "sha256": "ab", "width": 2, "height": 2}]
    options = [{label: "A", "text": "x"}, {label: "B", "text": "y"}]
    return {"id": name, "benchmark": "b", "options": options, "answer": 0, "refusal": None, "images": images}


def reply(name: str) -> dict:
    row = {"question_id": name, "turn": 0, "reply": "A", "finish": "stop", "key": "k"}
    return row | {"logprobs": [("A", -0.25), ("B", None)]}


def score(name: str, column: str, parser: str) -> dict:
    return {"question_id": name, "turn": 0, column: parser, "outcome": "option", "correct": True}


def metric(variant: str, column: str, parser: str, value: float | None) -> dict:
    keys = {"model": "m", "benchmark": "b", "variant": variant, "seed": 0, column: parser, "category": "Overall"}
    return keys | {"name": "accuracy", "value": value, "n": 2}


def former(root: Path) -> Path:
    """A run with one file for each variant and seed. The number of a sample is in the seed."""
    results, data = root / "results/pocket", root / "data/pocket"
    write(data / "questions/b/questions.parquet", [question(name, "letter") for name in QUESTIONS])
    for variant in VARIANTS:
        cell = f"m/b/{variant}/seed0.parquet"
        write(data / f"questions/b/{variant}/seed0.parquet", [question(name, "letter") for name in QUESTIONS])
        write(results / "replies" / cell, [reply(name) for name in QUESTIONS])
        rows = [score(name, "scorer", parser) for name in QUESTIONS for parser in ("official", "robust")]
        write(results / "scores" / cell, rows)
    rows = [metric(variant, "scorer", "official", 0.5) for variant in VARIANTS] + [
        metric("noise", "scorer", "robust", 1),
        metric("noise", "scorer", "official", 0) | {"seed": 1_000_003},
    ]
    write(results / "metrics/m/b.parquet", rows)
    write_files(root, data / "raw/b/1.png", root / "models/pocket/model.safetensors")
    return root


def coming(root: Path, *, text: str = "A", logprob: float = -0.25, left_out: int = 0, value: float = 0.5) -> Path:
    """The same run with one file for each model and benchmark, in another order, with other names and keys."""
    results, data = root / "results/pocket", root / "data/pocket"
    write(data / "questions/b.parquet", [question(name) for name in QUESTIONS])
    for variant in VARIANTS:
        moved = [{"source": "elsewhere/1.png", "sha256": "ab", "width": 2, "height": 2}]
        rows = [question(name) | {"seed": 0, "images": moved} for name in QUESTIONS]
        write(data / f"variants/b/{variant}.parquet", rows)
    cells = [(variant, name) for variant in reversed(VARIANTS) for name in QUESTIONS]
    rows = [reply(name) | {"variant": variant, "seed": 0, "key": "other"} for variant, name in cells]
    rows[0] |= {"reply": text, "logprobs": [("A", logprob), ("B", None)]}
    write(results / "replies/m/b/replies.parquet", rows[left_out:])
    rows = [
        score(name, "parser", parser) | {"variant": variant, "seed": 0}
        for variant, name in cells
        for parser in ("robust", "official")
    ]
    write(results / "replies/m/b/scores.parquet", rows)
    rows = [metric("noise", "parser", "robust", 1)] + [metric(v, "parser", "official", value) for v in VARIANTS]
    rows = [row | {"sample": 0} for row in rows]
    rows.append(metric("noise", "parser", "official", 0) | {"seed": 3, "sample": 1})
    write(results / "metrics.parquet", rows)
    write_files(root, data / "images/other.png", root / "weights/model.safetensors")
    return root


def write_files(root: Path, *paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(path.suffix.encode())


@pytest.fixture
def golden(tmp_path):
    return tables.read_run(former(tmp_path / "former"))


def counts(lines: list[str], kind: str) -> list[int]:
    """The numbers of a kind: golden, run, equal, differing, missing, extra, unexplained."""
    line = next(line for line in lines if line.startswith(f"| {kind} |"))
    return [int(cell) for cell in line.strip("| ").split(" | ")[1:]]


def test_both_layouts_have_the_same_values(golden, tmp_path):
    lines, found = compare.report(golden, tables.read_run(coming(tmp_path / "coming")))
    assert found == 0
    assert counts(lines, "questions") == [8, 8, 8, 0, 0, 0, 0]
    assert counts(lines, "replies") == [6, 6, 6, 0, 0, 0, 0]
    assert counts(lines, "scores") == [12, 12, 12, 0, 0, 0, 0]
    assert counts(lines, "metrics") == [5, 5, 5, 0, 0, 0, 0]
    assert counts(lines, "rendered") == counts(lines, "weights") == [1, 1, 1, 0, 0, 0, 0]


def test_changed_values_and_missing_rows_are_counted_and_named(golden, tmp_path):
    changed = tables.read_run(coming(tmp_path / "coming", text="B", value=0.5 + 1e-6))
    lines, found = compare.report(golden, changed)
    assert found == 1 + 3
    assert counts(lines, "replies") == [6, 6, 5, 1, 0, 0, 1]
    assert "- differing reply: 'A', now 'B' (pocket, m, b, zooming_robust, 0, 0, q1, 0)" in lines
    assert counts(lines, "metrics") == [5, 5, 2, 3, 0, 0, 3]
    fewer = tables.read_run(coming(tmp_path / "fewer", left_out=2))
    assert counts(compare.report(golden, fewer)[0], "replies") == [6, 4, 4, 0, 2, 0, 2]
    assert counts(compare.report(fewer, golden)[0], "replies") == [4, 6, 4, 0, 0, 2, 2]


def test_log_probabilities_have_a_tolerance_of_their_own(golden, tmp_path):
    near, far = (coming(tmp_path / str(logprob), logprob=logprob) for logprob in (-0.25005, -0.2502))
    assert compare.report(golden, tables.read_run(near))[1] == 0
    assert compare.report(golden, tables.read_run(far))[1] == 1


def test_entries_explain_differences_and_rows_of_the_robust_parser_are_left_out(golden, tmp_path):
    run = tables.read_run(coming(tmp_path / "coming", left_out=2, value=0.25))
    why = "the views are chosen in another way"
    entries = [{"kind": "replies", "where": {"change": "missing", "variant": "*_robust"}, "why": why}]
    lines, found = compare.report(golden, run, expected=entries)
    assert f"- 2 replies: {why}" in lines
    assert found == 3
    where = {"changed": "value", "golden": 0.5, "name": "acc*"}
    entries.append({"kind": "metrics", "where": where, "why": "another denominator"})
    assert compare.report(golden, run, expected=entries)[1] == 0
    assert compare.report(golden, run, kinds=["sco*", "weights"])[1] == 0
    lines, _ = compare.report(golden, run, without_robust=True)
    assert counts(lines, "replies") == [4, 4, 4, 0, 0, 0, 0]
    assert counts(lines, "scores") == [4, 4, 4, 0, 0, 0, 0]


def test_a_column_of_one_side_only_is_a_difference(golden):
    lines, found = compare.report(golden, golden | {"metrics": golden["metrics"].drop_columns(["n"])})
    assert found == 1
    assert counts(lines, "metrics") == [5, 5, 5, 0, 0, 0, 1]


def test_the_exit_code_of_the_command_says_whether_all_is_explained(tmp_path):
    def command(*arguments: object) -> subprocess.CompletedProcess:
        words = [sys.executable, "-m", "bench.golden", *map(str, arguments)]
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True)

    assert command("extract", former(tmp_path / "former"), tmp_path / "values").returncode == 0
    assert command("compare", tmp_path / "values", tmp_path / "former").returncode == 0
    changed = command("compare", tmp_path / "values", coming(tmp_path / "coming", text="B"))
    assert (changed.returncode, changed.stderr) == (1, "")
