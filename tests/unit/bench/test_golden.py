"""Golden values: the command extracts the values of a run and compares those of another with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.paths import ROOT

QUESTIONS = ("q1", "q2")
TYPES = {"logprobs": pa.map_(pa.string(), pa.float64())}
CELL = {"variant": "original", "seed": 0, "sample": 0}


def write(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({name: pa.array([row[name] for row in rows], TYPES.get(name)) for name in rows[0]})
    pq.write_table(table, path)


def question(name: str) -> dict:
    images = [{"source": "images/1.png", "sha256": "ab", "width": 2, "height": 2}]
    options = [{"label": "A", "text": "x"}, {"label": "B", "text": "y"}]
    return {"id": name, "options": options, "answer": 0, "refusal": None, "images": images}


def reply(name: str, text: str) -> dict:
    row = {"question_id": name, "turn": 0, "reply": text, "finish": "stop", "key": "k"}
    return CELL | row | {"logprobs": [("A", -0.25), ("B", None)]}


def score(name: str, parser: str) -> dict:
    return CELL | {"question_id": name, "turn": 0, "parser": parser, "outcome": "answered", "correct": True}


def finished(root: Path, text: str = "A") -> Path:
    """Write a finished run in which a model replies ``text``."""
    results, data = root / "results/pocket", root / "data/pocket"
    write(data / "questions/b/questions.parquet", [question(name) for name in QUESTIONS])
    write(results / "replies/m/b/replies.parquet", [reply(name, text) for name in QUESTIONS])
    write(results / "scores/m/b/scores.parquet", [score(name, "official") for name in QUESTIONS])
    metric = CELL | {"model": "m", "benchmark": "b", "parser": "official", "category": "Overall", "name": "accuracy"}
    write(results / "metrics/m/b/metrics.parquet", [metric | {"value": 0.5, "n": 2}])
    for path in (data / "raw/b/1.png", root / "models/pocket/model.safetensors"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(path.suffix.encode())
    return root


def test_the_exit_code_of_the_command_says_whether_all_is_explained(tmp_path):
    def command(*arguments: object) -> subprocess.CompletedProcess:
        words = [sys.executable, "-m", "bench.golden", *map(str, arguments)]
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True)

    assert command("extract", finished(tmp_path / "before"), tmp_path / "values").returncode == 0
    assert command("compare", tmp_path / "values", finished(tmp_path / "equal")).returncode == 0
    changed = command("compare", tmp_path / "values", finished(tmp_path / "changed", text="B"))
    assert (changed.returncode, changed.stderr) == (1, "")
    assert "- differing reply: 'A', now 'B' (pocket, m, b, original, 0, 0, q1, 0)" in changed.stdout
