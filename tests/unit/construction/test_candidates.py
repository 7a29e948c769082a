"""The file of candidates: a round trip, one line at a time, and errors that name file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from known_unknowns.errors import DataError
from known_unknowns_construction.candidates import (
    Candidate,
    CandidateImage,
    Flag,
    Outline,
    SceneObject,
    read_candidates,
)
from known_unknowns_construction.jsonl import line_of, write_records

IMAGE = CandidateImage("images/1.png", "0" * 64, 40, 30, "CC-BY-4.0")
CORNERS = ((1.0, 2.0), (11.0, 2.0), (11.0, 12.0), (1.0, 12.0))
SQUARE = Outline(CORNERS)


def candidate(number: int = 1) -> Candidate:
    return Candidate(
        id=f"c{number}",
        image=IMAGE,
        question="Which <b>colour</b> is the cat?",
        options=("Red", "Grün", "None of the above"),
        answer="B",
        kind="attribute",
        group="1",
        objects=(SceneObject("3", "cat", (1.0, 2.0, 10.0, 10.0), (SQUARE,)),),
        flags=(Flag("leaked_index", "an option contains 'cat_0'"),),
        source={"generator": "template", "model": None, "revision": None, "prompt": None},
    )


def test_candidates_survive_the_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "candidates.jsonl"
    written = [candidate(number) for number in range(3)]
    assert write_records(path, iter(written)) == 3
    assert list(read_candidates(path)) == written
    assert written[0].labels == ("A", "B", "C") and written[0].answer_index == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "D"}, "answer 'D' is not one of the labels A, B, C"),
        ({"options": []}, "0 options"),
        ({"options": "Red"}, "options: Input should be a valid array"),
        ({"question": None}, "question: Input should be a valid string"),
        ({"id": 3}, "id: Input should be a valid string"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, change: dict, message: str) -> None:
    path = tmp_path / "candidates.jsonl"
    wrong = {**json.loads(line_of(candidate(2))), **change}
    path.write_bytes(line_of(candidate(1)) + json.dumps(wrong).encode() + b"\n")
    with pytest.raises(DataError, match=message) as caught:
        list(read_candidates(path))
    assert f"{path}, line 2" in str(caught.value)


@pytest.mark.parametrize("image_path", ["/etc/passwd", "images/../../1.png", "a\\b.png"])
def test_an_image_outside_the_folder_is_refused(image_path: str) -> None:
    with pytest.raises(ValueError, match="is not a relative path inside the folder"):
        CandidateImage(image_path, "0" * 64, 1, 1)
