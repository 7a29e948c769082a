"""Questions without ids are known by their content: where a row lies changes neither its shuffle nor its request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from known_unknowns.records import Question, Turn
from known_unknowns.variants import shuffled_options
from tests.unit.benchmarks.multiple_choice.own_files import load, own_folder, row

ROWS = [row(number) for number in range(40)]


def without_ids(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in each.items() if name != "id"} for each in rows]


def loaded(folder: Path, rows: list[dict[str, Any]], name: str = "questions.csv") -> list[Question]:
    return load(own_folder(folder, without_ids(rows), name), folder / "out")


def requests(questions: list[Question]) -> dict[str, str]:
    """The key of each question's request after its options were shuffled, by its text."""
    shuffled = [shuffled_options(question, seed=0) for question in questions]
    return {q.text: Turn(q.id, "answer", (*q.images, q.rendered), q.labels).key({}) for q in shuffled}


@pytest.fixture
def before(tmp_path: Path) -> dict[str, str]:
    found = requests(loaded(tmp_path / "before", ROWS))
    assert len(found) == len(ROWS)
    return found


@pytest.mark.parametrize("place", [0, 20, 40], ids=["on top", "in the middle", "at the end"])
def test_an_inserted_row_changes_no_other_question(before, tmp_path, place):
    after = requests(loaded(tmp_path / "after", [*ROWS[:place], row(99), *ROWS[place:]]))
    assert {text: after[text] for text in before} == before and len(after) == 41


@pytest.mark.parametrize(
    "change", [{"question": "And this?"}, {"A": "Pink"}, {"image": "images/1.png"}, {"hint": "Look."}]
)
def test_another_content_is_another_question(tmp_path, change):
    first, second = loaded(tmp_path / "one", [row(0, hint="")]), loaded(tmp_path / "two", [row(0, hint="") | change])
    assert first[0].id != second[0].id


def test_equal_rows_are_numbered(tmp_path):
    found = [question.id for question in loaded(tmp_path, [row(0), row(0), row(1), row(0)])]
    assert found[1:] == [f"{found[0]}-2", found[2], f"{found[0]}-3"]


def test_ids_of_the_files_are_kept(tmp_path):
    mixed = [row(0), row(1) | {"id": ""}, row(2)]
    found = [question.id for question in load(own_folder(tmp_path, mixed), tmp_path / "out")]
    assert found[::2] == ["q0", "q2"] and found[1].startswith("q") and len(found[1]) == 13
