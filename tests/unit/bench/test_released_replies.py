from __future__ import annotations

import json
from pathlib import Path

from bench.parser.agreement import parse, read
from bench.parser.released import LABELS, labelled

QUESTION = "Be cautious.\n\n\nWhat color is the car?\nA. Red\nB.Blue\nD. Gold\nE. None of the above"


def test_a_labelled_reply_is_found_in_the_released_file(tmp_path: Path) -> None:
    file = tmp_path / "results" / "common" / "M" / "M.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"question_id": 7, "question": QUESTION, "prediction": "The car is gold."}) + "\n")
    labels = tmp_path / "labels.jsonl"
    place = {"path": "results/common/M/M.jsonl", "question_id": 7, "gold": "D", "doubtful": False, "split": "s"}
    labels.write_text(json.dumps(place) + "\n" + json.dumps(place | {"path": "absent.jsonl"}) + "\n")
    (row,) = labelled(tmp_path, labels)
    assert row["question"] == "What color is the car?"
    assert (row["options"]["B"], row["refusal"], row["model"]) == ("Blue", "E", "M")
    assert parse(row) == "D"


def test_every_label_names_one_reply() -> None:
    rows = read(LABELS)
    assert len({(row["path"], row["question_id"]) for row in rows}) == len(rows)
    assert {row["gold"] for row in rows} <= {*"ABCDE", "refusal", "unparsed"}
