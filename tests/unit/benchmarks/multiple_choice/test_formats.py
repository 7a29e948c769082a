"""Every file format, as its usual writer writes it, gives the same questions."""

from __future__ import annotations

import csv
import json
from hashlib import sha256

import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from known_unknowns.errors import DataError
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


def write_as(kind, folder):
    rows = [row(number, answer="ABC"[number]) for number in range(3)]
    lists = [
        {"id": r["id"], "image": r["image"], "question": r["question"], "options": TEXTS, "answer": number}
        for number, r in enumerate(rows)
    ]
    if kind == "csv":
        own_folder(folder, rows)
    elif kind == "csv of Excel":
        write_images(folder / "images")
        write_csv(folder / "q.csv", rows, delimiter=";")
        (folder / "q.csv").write_bytes(b"\xef\xbb\xbf" + (folder / "q.csv").read_bytes())
    elif kind == "lines":
        write_images(folder / "images")
        stacked = "\n".join(f"{letter}. {text}" for letter, text in zip("ABCD", TEXTS, strict=True))
        write_csv(
            folder / "q.csv",
            [
                {"image": r["image"], "question": f"{r['question']}\n{stacked}", "label": "ABC"[number]}
                for number, r in enumerate(rows)
            ],
        )
    elif kind == "jsonl":
        write_images(folder / "images")
        (folder / "q.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in lists))
    elif kind == "json":
        write_images(folder / "images")
        (folder / "q.json").write_text(json.dumps(lists))
    elif kind == "VLMEvalKit TSV":  # pandas, as VLMEvalKit's dump function
        folder.mkdir()
        columns = ["index", "image", "question", "A", "B", "C", "D", "E", "answer", "category", "hint"]
        frame = pandas.DataFrame(
            [
                [number, BASE64[number], r["question"], *TEXTS, None, "ABC"[number], "colour", None]
                for number, r in enumerate(rows)
            ],
            columns=columns,
        )
        frame.to_csv(folder / "MyBench.tsv", sep="\t", index=False, encoding="utf-8", quoting=csv.QUOTE_ALL)
    elif kind == "lmms-eval Parquet":  # the hub's image feature
        folder.mkdir()
        image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        schema = pa.schema(
            [
                ("image", image),
                ("question", pa.string()),
                ("options", pa.list_(pa.string())),
                ("answer", pa.int64()),
            ]
        )
        table = pa.Table.from_pylist(
            [
                {
                    "image": {"bytes": IMAGES[number], "path": f"{number}.png"},
                    "question": r["question"],
                    "options": TEXTS,
                    "answer": number,
                }
                for number, r in enumerate(rows)
            ],
            schema=schema,
        )
        pq.write_table(table, folder / "test-00000-of-00001.parquet")
    else:  # MMMU's layout: the options as a Python list in a text, the answer as a letter
        folder.mkdir()
        frame = pandas.DataFrame(
            {
                "id": [f"validation_{number}" for number in range(3)],
                "image": [{"bytes": IMAGES[number], "path": None} for number in range(3)],
                "question": [r["question"] for r in rows],
                "options": [str(TEXTS)] * 3,
                "answer": ["A", "B", "C"],
            }
        )
        frame.to_parquet(folder / "validation.parquet")


FORMATS = [
    *("csv", "csv of Excel", "lines", "jsonl", "json", "VLMEvalKit TSV", "lmms-eval Parquet", "MMMU Parquet"),
]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_format_gives_the_questions(kind, tmp_path):
    write_as(kind, tmp_path / "own")
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
