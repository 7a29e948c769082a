"""HumbleBench (Tong et al., "Measuring Epistemic Humility in Multimodal Large Language Models").

The data are published as Parquet (columns label, question, type, image {bytes, path}, question_id) and as a folder of
images with a metadata file (file_name, label, question, type, question_id). The loader reads any mix of both. A
question is one text: the first line is the question, each further line is an option: "A. Red", "A.Yes", the last one
"E. None of the above". The lettering may have gaps, as in the released replies of HumbleBench-E.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.images import ImageStore
from known_unknowns.benchmark.loading import Row, parquet_rows, questions
from known_unknowns.benchmark.question_text import parse_question
from known_unknowns.config import DataEntry
from known_unknowns.errors import DataError
from known_unknowns.json_files import parse_json
from known_unknowns.progress import Advance
from known_unknowns.records import Question

NAME = "humblebench"
LETTERS = "ABCDE"
REFUSAL = "E"
COLUMNS = ("question_id", "question", "label", "type", "image")
_INSTRUCTION = (
    "\nPlease respond with only the letter of the correct choice ({letters}). "
    "Do not include the option text or any other explanation."
)  # the released package's NOT_REASONING_POST_PROMPT, word for word


def prompt(question: Question) -> str:
    """Return the question as published and the instruction of the released code, which names A to E.

    Two kinds of questions name only their own letters: a ``relettered`` variant, which closes the gap, and a question
    without its refusal, which must not offer E.
    """
    labels = question.labels if question.extra.get("relettered") or question.refusal is None else LETTERS
    named = ", ".join(labels[:-1]) + f", or {labels[-1]}"
    return question.rendered + _INSTRUCTION.format(letters=named)


def load(
    raw: Path,
    folder: Path,
    *,
    settings: DataEntry | None = None,
    advance: Advance | None = None,
    workers: int = 1,
) -> Iterator[Question]:
    """Load the published files under ``raw`` (`known_unknowns.benchmark.interface.Load`)."""
    with ImageStore(folder, workers=workers, plain=True) as images:
        yield from questions(_rows(raw), lambda row: _question(row, images), source=raw, advance=advance)


def _question(row: Row, images: ImageStore) -> Question:
    values = row.values
    missing = [name for name in COLUMNS if values.get(name) is None]
    if missing:
        raise ValueError(f"no value for {', '.join(missing)}")
    right = values["label"]
    if not isinstance(right, str) or right not in tuple(LETTERS):
        raise ValueError(f"the label is {right!r}, not one of {', '.join(LETTERS)}")
    stem, options = parse_question(values["question"])
    labels = [option.label for option in options]
    for label, role in ((right, "the label"), (REFUSAL, "the refusal")):
        if label not in labels:
            raise ValueError(f"no option {label}, which is {role}; the options are {', '.join(labels)}")
    image = images.add_cell(values["image"], row.file.parent, file=row.file, row=row.number)
    return Question(
        id=str(int(values["question_id"])),
        benchmark=NAME,
        text=stem,
        options=options,
        answer=labels.index(right),
        refusal=labels.index(REFUSAL),
        images=(image,),
        category=str(values["type"]),
        group=image.sha256,
        extra={
            "question_id": int(values["question_id"]),
            "label": right,
            "image_path": values["image"].get("path") or "",
        },
    )


def _rows(raw: Path) -> Iterator[Row]:
    """Read the rows of all published files, in the order of their names."""
    parquet = sorted(raw.rglob("*.parquet"))
    metadata = sorted([*raw.rglob("metadata.jsonl"), *raw.rglob("metadata.csv")])
    if not parquet and not metadata:
        raise DataError("holds no *.parquet, metadata.jsonl or metadata.csv; fetch the data again", file=raw)
    for file in parquet:
        yield from parquet_rows(file, columns=COLUMNS)
    for file in metadata:
        yield from _metadata_rows(file)


def _metadata_rows(file: Path) -> Iterator[Row]:
    with file.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines) if file.suffix == ".csv" else map(_json_object, lines)
        try:
            for number, values in enumerate(rows):
                yield Row(file, number, values | {"image": {"bytes": None, "path": values.get("file_name")}})
        except (ValueError, csv.Error) as error:
            raise DataError(f"not a readable metadata file ({error})", file=file) from error


def _json_object(line: str) -> dict[str, Any]:
    value = parse_json(line)
    if not isinstance(value, dict):
        raise ValueError(f"a line is not an object: {line[:80]!r}")
    return value
