"""Folders of questions, written by the writers that users have: csv, pandas and pyarrow."""

from __future__ import annotations

import base64
import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from known_unknowns.benchmark import registry
from known_unknowns.errors import DataError
from known_unknowns.records import Question
from tests.factories import data_entry, png

COLOURS = [(200, 0, 0), (0, 200, 0), (0, 0, 200)]
IMAGES = [png(colour) for colour in COLOURS]
BASE64 = [base64.b64encode(data).decode() for data in IMAGES]
BENCHMARK = registry.get("multiple_choice")


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]], delimiter: str = ",") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def write_images(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(IMAGES):
        (folder / f"{number}.png").write_bytes(data)


def row(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A row with the right option B and the refusal D."""
    values = {
        "id": f"q{number}",
        "image": f"images/{number % 3}.png",
        "question": f"Which colour has item {number}?",
        "A": "Red",
        "B": "Green",
        "C": "Blue",
        "D": "None of the above",
        "answer": "B",
    }
    return values | changes


def own_folder(folder: Path, rows: Sequence[Mapping[str, Any]], name: str = "questions.csv") -> Path:
    """A folder with a CSV file and the images that `row` names."""
    write_images(folder / "images")
    write_csv(folder / name, rows)
    return folder


def load(folder: Path, out: Path, **settings: Any) -> list[Question]:
    found: Iterator[Question] = BENCHMARK.load(folder, out, settings=data_entry("folder", **settings))
    return list(found)


def problems(folder: Path, **settings: Any) -> str:
    """The error that the files cause."""
    assert BENCHMARK.contents is not None
    with pytest.raises(DataError) as caught:
        BENCHMARK.contents(folder, settings=data_entry("folder", **settings))
    return str(caught.value)
