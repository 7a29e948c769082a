"""Every file format, as its usual writer writes it, gives the same questions."""

from __future__ import annotations

import csv
import json
from hashlib import sha256
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from known_unknowns.errors import DataError
from known_unknowns.records import Question, Turn
from known_unknowns.variants import shuffled_options
from known_unknowns_benchmarks.multiple_choice.row_images import ImageFolder, cells
from tests.unit.benchmarks.multiple_choice.own_files import (
    BASE64,
    BENCHMARK,
    IMAGES,
    load,
    own_folder,
    row,
    write_csv,
    write_images,
)

TEXTS = ["Red", "Green", "Blue", "None of the above"]


def summary(questions):
    """What all formats must agree on."""
    return [(q.text, [o.line for o in q.options], q.answer, q.refusal, q.images[0].sha256) for q in questions]


EXPECTED = [
    (
        f"Which colour has item {number}?",
        ["A. Red", "B. Green", "C. Blue", "D. None of the above"],
        number,
        3,
        sha256(IMAGES[number]).hexdigest(),
    )
    for number in range(3)
]


ROWS = [row(number, answer="ABC"[number]) for number in range(3)]


def excel(folder):
    own_folder(folder, ROWS)
    write_csv(folder / "questions.csv", ROWS, delimiter=";")
    (folder / "questions.csv").write_bytes(b"\xef\xbb\xbf" + (folder / "questions.csv").read_bytes())


def lines(folder):
    stacked = "\n".join(f"{letter}. {text}" for letter, text in zip("ABCD", TEXTS, strict=True))
    rows = [{"image": r["image"], "question": f"{r['question']}\n{stacked}", "label": r["answer"]} for r in ROWS]
    own_folder(folder, rows)


def json_list(folder):
    write_images(folder / "images")
    names = ("id", "image", "question")
    rows = [{name: r[name] for name in names} | {"options": TEXTS, "answer": n} for n, r in enumerate(ROWS)]
    (folder / "q.json").write_text(json.dumps(rows))


def vlmevalkit(folder):
    """TSV as its dump function writes it with pandas."""
    folder.mkdir()
    columns = ["index", "image", "question", "A", "B", "C", "D", "E", "answer", "category", "hint"]
    rows = [[n, BASE64[n], r["question"], *TEXTS, None, r["answer"], "colour", None] for n, r in enumerate(ROWS)]
    frame = pandas.DataFrame(rows, columns=columns)
    frame.to_csv(folder / "MyBench.tsv", sep="\t", index=False, encoding="utf-8", quoting=csv.QUOTE_ALL)


def lmms_eval(folder):
    """Parquet with the hub's image feature."""
    folder.mkdir()
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    texts = {"question": pa.string(), "options": pa.list_(pa.string()), "answer": pa.int64()}
    rows = [
        {"image": {"bytes": IMAGES[n], "path": f"{n}.png"}, "question": r["question"], "options": TEXTS, "answer": n}
        for n, r in enumerate(ROWS)
    ]
    table = pa.Table.from_pylist(rows, schema=pa.schema({"image": image, **texts}))
    pq.write_table(table, folder / "test-00000-of-00001.parquet")


@pytest.mark.parametrize("write", [excel, lines, json_list, vlmevalkit, lmms_eval])
def test_a_format_gives_the_questions(write, tmp_path):
    write(tmp_path / "own")
    assert summary(load(tmp_path / "own", tmp_path / "out")) == EXPECTED
    for _, _, _, _, digest in EXPECTED:
        assert (tmp_path / f"out/images/{digest}.png").is_file()


def test_ids_categories_and_hints_come_from_their_columns(tmp_path):
    rows = [row(0, category="colour", hint="Look at the roof."), row(1, category="", hint="")]
    first, second = load(own_folder(tmp_path / "own", rows), tmp_path / "out")
    assert (first.id, first.category, second.category) == ("q0", "colour", "questions")  # the name of the file
    assert BENCHMARK.prompt(first).splitlines()[:2] == ["Hint: Look at the roof.", "Which colour has item 0?"]
    assert BENCHMARK.prompt(second).splitlines()[0] == "Which colour has item 1?"


def test_a_repeated_image_of_vlmevalkit_is_the_index_of_its_row(tmp_path):
    """VLMEvalKit stores an image once; other rows hold the index of that row."""
    folder = tmp_path / "own"
    rows = [
        {"index": 1000001, "image": "7", "question": "First?", "A": "Yes", "B": "No", "answer": "A"},
        {"index": 7, "image": BASE64[2], "question": "Second?", "A": "Yes", "B": "No", "answer": "B"},
    ]
    write_csv(folder / "bench.tsv", rows, delimiter="\t")
    first, second = load(folder, tmp_path / "out")
    assert first.images == second.images and first.images[0].sha256 == sha256(IMAGES[2]).hexdigest()
    assert first.group == second.group  # one cluster of the intervals


def test_several_images_and_a_data_address(tmp_path):
    folder = tmp_path / "own"
    write_images(folder / "images")
    both = {"question": "Same?", "options": ["Yes", "No"], "answer": "Yes"}
    entries = [
        {"images": ["images/0.png", f"data:image/png;base64,{BASE64[1]}"], **both},
        {"images": f"['{BASE64[1]}', '{BASE64[2]}']", **both},
        {"images": "images\\0.png", **both},
    ]
    (folder / "q.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    found = [[image.sha256 for image in question.images] for question in load(folder, tmp_path / "out")]
    digests = [sha256(data).hexdigest() for data in IMAGES]
    assert found == [digests[:2], digests[1:], digests[:1]]


def test_several_files_keep_equal_ids_apart(tmp_path):
    folder = own_folder(tmp_path / "own", [row(0)], "easy.csv")
    write_csv(folder / "hard.csv", [row(0, question="Harder?")])
    assert [question.id for question in load(folder, tmp_path / "out")] == ["easy-q0", "hard-q0"]
    assert [question.id for question in load(folder, tmp_path / "out", files=["hard.csv"])] == ["q0"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["Green", "blue", "A. Red"], [1, 2, 0]),  # texts
        (["b", "(C)", "A."], [1, 2, 0]),  # letters
        (["0", "3", "1"], [0, 3, 1]),  # an index from 0
        (["1", "4", "2"], [0, 3, 1]),  # a number from 1
    ],
)
def test_answers_are_letters_texts_indices_or_numbers(given, expected, tmp_path):
    folder = own_folder(tmp_path / "own", [row(number, answer=answer) for number, answer in enumerate(given)])
    assert [question.answer for question in load(folder, tmp_path / "out")] == expected


def test_an_answer_with_two_meanings_is_settled_in_params_yaml(tmp_path):
    """1, 2 and 3 of four options can be indices from 0, or numbers from 1."""
    folder = own_folder(tmp_path / "own", [row(number, answer=str(number + 1)) for number in range(3)])
    with pytest.raises(DataError, match=r"set answer_is in params\.yaml to index or number"):
        load(folder, tmp_path / "out")
    assert [q.answer for q in load(folder, tmp_path / "out", answer_is="number")] == [0, 1, 2]
    assert [q.answer for q in load(folder, tmp_path / "out", answer_is="index")] == [1, 2, 3]


def test_columns_with_other_names(tmp_path):
    folder = tmp_path / "own"
    write_images(folder / "photos")
    rows = [{"Bild": "0.png", "Frage": "Farbe?", "one": "Rot", "two": "Weiß nicht", "richtig": "Rot", "note": "x"}]
    write_csv(folder / "q.csv", rows)
    fields = {"image": "Bild", "question": "Frage", "options": ["one", "two"], "answer": "richtig"}
    (question,) = load(folder, tmp_path / "out", fields=fields, images="photos")
    assert (question.text, question.answer, question.refusal) == ("Farbe?", 0, 1)


# Questions without ids are known by their content: where a row lies changes neither its shuffle nor its request.

MANY = [row(number) for number in range(40)]


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
    found = requests(loaded(tmp_path / "before", MANY))
    assert len(found) == len(MANY)
    return found


@pytest.mark.parametrize("place", [0, 20, 40], ids=["on top", "in the middle", "at the end"])
def test_an_inserted_row_changes_no_other_question(before, tmp_path, place):
    after = requests(loaded(tmp_path / "after", [*MANY[:place], row(99), *MANY[place:]]))
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


# Names of images whose Unicode normalisation in a table differs from that on the disk

COMPOSED, DECOMPOSED = normalize("NFC", "é"), normalize("NFD", "é")


@pytest.mark.parametrize(
    ("disk", "table"),
    [
        (f"caf{DECOMPOSED}.png", f"caf{COMPOSED}.png"),
        (f"caf{COMPOSED}.png", f"caf{DECOMPOSED}.png"),
        (f"{DECOMPOSED}/a.png", f"x/../{COMPOSED}/a.png"),
    ],
)
def test_a_name_in_another_normalisation_is_found(tmp_path: Path, disk: str, table: str):
    (tmp_path / disk).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "x").mkdir(exist_ok=True)
    (tmp_path / disk).write_bytes(b"image")
    (cell,) = cells(table, "image", ImageFolder(tmp_path, (tmp_path,)))
    assert cell == b"image"


def test_of_two_files_the_named_one_is_taken(tmp_path: Path):
    for form in (COMPOSED, DECOMPOSED):
        (tmp_path / f"{form}.png").write_bytes(form.encode())
        assert cells(f"{form}.png", "image", ImageFolder(tmp_path, (tmp_path,)))[0] == form.encode()
