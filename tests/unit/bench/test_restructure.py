"""The comparison of the tables of two runs."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.restructure import compare


def write(root: Path, rows: list[dict]) -> None:
    path = root / "results/pocket/scores/m/b/original/seed0.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def score(question: str, scorer: str, choice: int | None) -> dict:
    return {"question_id": question, "turn": 0, "scorer": scorer, "choice": choice}


def test_equal_changed_lost_and_new_rows_are_counted(tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    write(before, [score("1", "official", 0), score("2", "robust", None), score("3", "robust", 1)])
    write(after, [score("2", "robust", 4), score("1", "official", 0), score("4", "official", 1)])
    lines = list(compare.report(before, after, "pocket"))
    assert "| scores | 1 | 0 | 0 | 1 | 1 | 1 | 1 |" in lines
    assert lines[-3:] == [
        "- scores, column choice: 1 (robust 1)",
        "- scores, rows only before: 1 (robust 1)",
        "- scores, rows only after: 1 (official 1)",
    ]


def test_keys_must_identify_a_row(tmp_path):
    write(tmp_path, [score("1", "official", 0), score("1", "official", 1)])
    with pytest.raises(ValueError, match="do not identify a row"):
        list(compare.report(tmp_path, tmp_path, "pocket"))
