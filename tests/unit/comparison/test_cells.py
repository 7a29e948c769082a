from __future__ import annotations

from pathlib import Path

import pytest

from known_unknowns.benchmark import registry
from known_unknowns.comparison import load
from known_unknowns.comparison.published import read
from known_unknowns.errors import DataError
from tests.paths import SHARED

PAPER = SHARED / "papers" / "004_231fee036f060948.txt"

GOOD = """
benchmark: toy
sources: {paper: {reference: A paper, version: first}}
blocks:
  - table: Table 1
    source: paper
    variant: original
    metric: accuracy
    columns: [{name: All, category: Overall}, {name: Red, category: Red}]
    rows:
      One: 69.30 7
    notes: {One: odd}
"""


def toy(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "toy.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_decimals_are_kept_as_printed(tmp_path: Path) -> None:
    both, red = read(toy(tmp_path, GOOD), benchmark="toy").cells
    assert (both.value, both.decimals, both.printed, both.half_unit) == (69.3, 2, "69.30", 0.005)
    assert (red.value, red.decimals, red.printed, red.half_unit) == (7.0, 0, "7", 0.5)
    assert (red.source, red.note, red.category) == ("A paper (first)", "odd", "Red")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("One: 69.30 7", 'One: "69.30"', r"toy\.yaml: Table 1, One: 1 cells for 2 columns"),
        ("One: 69.30 7", "One: 69.3", "in quotes"),
        ("One: 69.30 7", "One: 69.30 169", "169.0 is not a percentage"),
        ("One: 69.30 7", "One: 69.30 seven", "'seven' is not a printed percentage"),
        ("source: paper", "source: rumour", "'rumour'"),
        ("notes: {One:", "notes: {Won:", "Won"),
        ("benchmark: toy", "benchmark: boy", "'boy'"),
        ("name: Red", "name: All", "occurs twice"),
        ("    metric: accuracy\n", "", "'metric'"),
    ],
)
def test_an_error_in_the_file_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(DataError, match=message):
        read(toy(tmp_path, GOOD.replace(old, new)), benchmark="toy")


def test_a_table_may_continue_in_a_further_file(tmp_path: Path) -> None:
    further = tmp_path / "further.yaml"
    blocks = GOOD.partition("blocks:")[2]
    further.write_text("blocks:" + blocks.replace("One", "Two").replace("69.30", "5"), encoding="utf-8")
    numbers = read(toy(tmp_path, GOOD), further, benchmark="toy")
    assert [(c.row, c.printed, c.source) for c in numbers.cells if c.column == "All"] == [
        ("One", "69.30", "A paper (first)"),
        ("Two", "5", "A paper (first)"),
    ]
    further.write_text("blocks:" + blocks, encoding="utf-8")
    with pytest.raises(DataError, match=r"further\.yaml: .*One.* occurs twice"):
        read(toy(tmp_path, GOOD), further, benchmark="toy")


def test_a_benchmark_without_a_file_has_no_published_numbers() -> None:
    name = next(name for name in registry.names() if not registry.get(name).published)
    assert load(name) == []


def test_table_3_is_that_of_the_paper() -> None:
    """Cell by cell, from the paper's own text: model, size, Object, Relation, Attribute, Overall."""
    if not PAPER.is_file():
        pytest.skip("the paper's text is not here")
    lines = [line.split("\t") for line in PAPER.read_text(encoding="utf-8").splitlines()]
    printed = {parts[0]: parts[2:] for parts in lines if len(parts) == 6 and parts[1].rstrip("B").isdigit()}
    ours: dict[str, list[str]] = {}
    for cell in load("humblebench"):
        if cell.table == "Table 3":
            ours.setdefault(cell.row, []).append(cell.printed)
    assert ours == printed
