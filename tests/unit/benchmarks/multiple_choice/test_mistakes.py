"""Every mistake names its file, row and column and what to do; nothing is dropped."""

from __future__ import annotations

import json
import os
import pickle

import numpy as np
import pytest
from PIL import Image as Pillow

from known_unknowns import images
from known_unknowns.data.check import check
from known_unknowns.errors import DataError
from tests.encoded_images import encoded
from tests.factories import data_entry
from tests.unit.benchmarks.multiple_choice.own_files import (
    BASE64,
    BENCHMARK,
    load,
    own_folder,
    problems,
    row,
)

CHANGES = {
    "no answer": ({"answer": ""}, "column answer: no answer; fill it in, or remove the row"),
    "another answer": ({"answer": "E"}, "column answer: 'E' is none of the options A. Red / B. Green / C. Blue"),
    "an empty option": ({"B": " "}, "column B: the option is empty, and C is not"),
    "one option": ({"B": "", "C": "", "D": ""}, "column A to D: 1 option(s); a question needs 2 to 26"),
    "no question": ({"question": ""}, "column question: no question; fill it in, or remove the row"),
    "no image": ({"image": ""}, "column image: no image; add it, or set without_image: true"),
    "a missing image": ({"image": "images/9.png"}, "column image: there is no image 'images/9.png' in the folder"),
    "a path outside": ({"image": "../secret.png"}, "column image: the path '../secret.png' leads out of the folder"),
    "an address": ({"image": "https://example.org/0.png"}, "column image: 'https://example.org/0.png' is an address"),
    "bad base64": ({"image": BASE64[0][:-3] + "!"}, "is neither an image in the folder nor base64; correct it"),
    "an id twice": ({"id": "q0"}, "the id 'q0' is already that of row 2 of questions.csv"),
    "two refusals": ({"C": "I don't know"}, "are refusals, and only one option can be"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_mistake_in_a_row_names_its_place(name, tmp_path):
    (tmp_path / "secret.png").write_bytes(b"")
    change, expected = CHANGES[name]
    folder = own_folder(tmp_path / "own", [row(0), row(1, **change), row(2)])
    message = problems(folder)
    assert "1 mistake in the questions; nothing is used:" in message
    assert "questions.csv, row 3: " in message and expected in message


SWAPPED = ["B. Red", "A. Green", "C. Blue"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a list", SWAPPED),
        ("a mapping", dict(zip("ABC", SWAPPED, strict=True))),
    ],
)
@pytest.mark.parametrize("answer", ["A", "text"])
def test_labels_in_the_options_that_contradict_them(name, options, answer, tmp_path):
    """Such a key could mean two options, even if the answer is a text: the prompt would have two letters per option."""
    values = {"question": "Which?", "options": options, "answer": "Red" if answer == "text" else answer}
    (tmp_path / "q.jsonl").write_text(json.dumps(values) + "\n", encoding="utf-8")
    message = problems(tmp_path, without_image=True)
    assert "q.jsonl, row 1: column options: option " in message and "which begins with the label" in message
    assert "put the options in the order of their labels, or remove the labels from the texts" in message


def test_each_kind_of_mistake_is_one_line_with_its_rows(tmp_path):
    """A mistake in every row is one line. Kinds differ in more than in values, numbers, letters and options."""
    rows = [row(n, answer="Z", D=f"Item {n}") for n in range(25)] + [row(n + 25) for n in range(60)]
    rows += [row(85, image="images/8.png"), row(86), row(87, image="images/9.png"), row(88, question="")]
    folder = own_folder(tmp_path / "own", rows)
    lines = problems(folder).splitlines()
    assert lines[0].endswith("3 mistakes in the questions; nothing is used:") and len(lines) == 4
    assert "questions.csv, row 2: column answer: 'Z' is none of the options A. Red" in lines[1]
    assert lines[1].endswith("; also in 24 other rows (3-26)")
    assert "row 87: column image: there is no image 'images/8.png'" in lines[2]
    assert lines[2].endswith("; also in 1 other row (89)")
    assert lines[3].endswith("row 90: column question: no question; fill it in, or remove the row")
    found = check("multiple_choice", folder, settings=None)
    assert [finding.code for finding in found.findings].count("row") == 3 and found.exit_code == 3


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("q.csv", "image,question,A,B,answer\n1.png,a,b\n", "q.csv, row 2: 3 cells under 5 columns"),
        ("q.csv", "image\tquestion\n1.png\tWhat?\n", "row 1: one column, 'image\\tquestion'; separate the columns by"),
        ("q.csv", b"image,question\n\xff\xfe,1\n", "not UTF-8 text; save the file as UTF-8"),
        (
            "q.csv",
            'a,b\n"x,y\n',
            "q.csv, row 2: not readable as a table (unexpected end of data); check the double quotes",
        ),
        ("q.csv", "image,question,A,B,answer\n", "nothing is used:\n  no rows in q.csv; add one per question"),
        (
            "q.csv",
            "picture,frage\n1.png,Was?\n",
            "row 2: column question: no such column; there are picture, frage. Correct the header, or",
        ),
        ("q.jsonl", "[1]\n", "is not an object with keys; write one object per line"),
        ("q.jsonl", "[" * 100_000, "not JSON"),
        ("q.jsonl", '{"answer": "A", "answer": "B"}', "q.jsonl, row 1: not JSON: the key 'answer' is given twice"),
        ("q.parquet", b"PAR1 no Parquet file", "not a whole Parquet file"),
    ],
)
def test_a_file_that_is_no_table(name, content, expected, tmp_path):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert expected in problems(tmp_path)


def test_values_of_only_that_no_row_has_are_named(tmp_path):
    message = problems(own_folder(tmp_path, [row(1), row(2)]), only={"answer": "Q"})
    assert "correct `only` in params.yaml ({'answer': 'Q'}), which no row fits" in message


@pytest.mark.parametrize("column", ["question", "answer", "image"])
def test_a_missing_column_is_one_mistake(column, tmp_path):
    """It is named once, with the rows."""
    rows = [{name: value for name, value in row(n).items() if name != column} for n in range(3)]
    message = problems(own_folder(tmp_path / "own", rows))
    assert "1 mistake in the questions" in message and message.count("no such column") == 1
    assert f"questions.csv, row 2: column {column}: no such column; there are id, " in message
    assert message.endswith("; also in 2 other rows (3-4)")
    assert ("without_image: true" in message) == (column == "image")


def test_columns_without_a_use_are_named(tmp_path):
    """A misspelt optional column is no mistake, and is not overlooked."""
    folder = own_folder(tmp_path / "own", [row(0, categroy="colour", level="1")])
    notes = BENCHMARK.contents(folder, settings=None).notes
    assert notes[1:-1] == ("columns that are not used: categroy, level",)
    named = {"fields": {"category": "level", "options": ["A", "B", "D"]}}
    notes = BENCHMARK.contents(folder, settings=data_entry("folder", **named)).notes
    assert notes[1:-1] == ("columns that are not used: C, categroy",)
    assert "no column 'X'" in problems(folder, fields={"options": ["A", "X"]})


def test_no_pickle_is_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    (tmp_path / "questions.pkl").write_bytes(pickle.dumps(Trap()))
    assert "unknown suffix" in problems(tmp_path, files=["questions.pkl"])
    assert not (tmp_path / "executed").exists()


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "secret.png").write_bytes(b"secret")
    folder = own_folder(tmp_path / "own", [row(0, image="images/link.png")])
    (folder / "images/link.png").symlink_to(tmp_path / "secret.png")
    assert "leads out of the folder" in problems(folder)
    (folder / "more.csv").symlink_to(tmp_path / "secret.png")
    assert "a link that leads out of the folder" in problems(folder)


@pytest.mark.parametrize("name", ["loop.png", "loop/0.png", "around/0.png"])
def test_a_link_that_leads_to_itself_is_no_image(name, tmp_path):
    folder = own_folder(tmp_path / "own", [row(0, image=name)])
    for link, target in {"loop.png": "loop.png", "loop": "loop", "around": "about", "about": "around"}.items():
        (folder / link).symlink_to(target)
    assert f"questions.csv, row 2: column image: there is no image {name!r} in the folder" in problems(folder)


def test_an_image_that_is_too_large_is_refused(tmp_path, monkeypatch):
    folder = own_folder(tmp_path / "own", [row(0)])
    with monkeypatch.context() as patched:
        patched.setattr("PIL.Image.MAX_IMAGE_PIXELS", 20)  # Pillow opens no image with more than twice as many
        assert "column image: the image is a decompression bomb" in problems(folder)
    monkeypatch.setattr(images, "MAX_PIXELS", 10)
    assert "column image: the image claims 40 x 30 pixels; the limit is 10" in problems(folder)
    monkeypatch.setattr(images, "MAX_BYTES", 20)
    assert "column image: the image has more than 20 bytes, which is the limit; make it smaller" in problems(folder)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n", "the formats are PNG, JPEG"),
        (encoded(Pillow.fromarray(np.ones((2, 2), np.float32)), "TIFF"), "save it with 8 bits per channel"),
        (encoded(Pillow.new("RGB", (99, 99)), "WEBP")[:-20], "the image does not decode"),
    ],
    ids=["eps", "float", "truncated webp"],
)
def test_an_image_that_questions_refuses_is_a_mistake_before(data, text, tmp_path):
    folder = own_folder(tmp_path / "own", [row(0), row(1)])
    (folder / "images/1.png").write_bytes(data)
    found = problems(folder)
    assert "questions.csv, row 3: column image: " in found and text in found
    with pytest.raises(DataError):
        load(folder, tmp_path / "out")


def test_questions_without_an_image_are_allowed_on_request(tmp_path):
    rows = [row(0), row(1, image="")]
    folder = own_folder(tmp_path / "own", rows)
    found = load(folder, tmp_path / "out", without_image=True)
    assert [len(question.images) for question in found] == [1, 0]
    contents = BENCHMARK.contents(folder, settings=data_entry("folder", without_image=True))
    assert (contents.questions, contents.with_images, contents.with_refusal) == (2, 1, 2)


def test_a_named_refusal_that_no_question_has(tmp_path):
    folder = own_folder(tmp_path / "own", [row(0)])
    message = problems(folder, refusal="None of these")
    assert "no question has the refusal option 'None of these'" in message and "'Red'" in message


@pytest.mark.parametrize(
    ("answers", "share"),
    [
        ("A" * 12, "number 1 in 12 of 12 answerable questions (100%)"),
        ("C" * 12, "number 3 in 12 of 12 answerable questions (100%)"),
        ("A" * 10 + "B", "number 1 in 10 of 11 answerable questions (91%)"),
        ("A" * 12 + "D" * 8, "number 1 in 12 of 12 answerable questions (100%)"),  # D is the refusal
        ("A" * 9 + "BC", None),
        ("A" * 9, None),  # too few to say
        ("D" * 12, None),
    ],
)
def test_a_right_option_that_always_stands_at_one_place_is_a_warning_with_the_share(answers, share, tmp_path):
    folder = own_folder(tmp_path / "own", [row(number, answer=answer) for number, answer in enumerate(answers)])
    checked = check("multiple_choice", folder, settings=data_entry("folder"))
    found = [(finding.severity, finding.text) for finding in checked.findings if finding.code == "answer-place"]
    notes = [note for note in BENCHMARK.contents(folder).notes if "this place" in note]
    assert [text for _, text in found] == notes
    assert [severity for severity, _ in found] == ([] if share is None else ["warning"])
    assert share is None or share in notes[0]
