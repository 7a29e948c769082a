import json

import pytest

from known_unknowns import tables
from known_unknowns.data.questions import normalise
from known_unknowns.errors import DataError
from known_unknowns.variants import nota_only
from known_unknowns_benchmarks.humblebench import loader as humblebench
from tests.factories import png, published_row, question, write_published
from tests.paths import SHARED

RELEASED = SHARED / "data/humblebench/nota_only_Qwen2.5-VL_80.jsonl"


def test_options_are_parsed_as_written():
    text = "Is there a hydrant?\nA.Yes\nC. Can't be determined\nE.None of above"
    stem, options = humblebench.parse_question(text)
    assert stem == "Is there a hydrant?"
    assert [(o.label, o.text, o.mark) for o in options] == [
        ("A", "Yes", "A."),
        ("C", "Can't be determined", "C. "),
        ("E", "None of above", "E."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "What?\nA. x\n\nB. y\nE. None",
        "Look.\nWhat?\nA. x\nE. None ",
        "What?\n A) x\nE: None",
        "A. Lincoln is where?\nA. x\nE. None",
    ],
)
def test_splitting_and_joining_give_the_published_text(text):
    stem, options = humblebench.parse_question(text)
    assert "\n".join([stem, *(option.line for option in options)]) == text


@pytest.mark.parametrize("text", ["What?", "What?\nA. x", "What?\nA. x\nC. y\nB. z", "What?\nA. x\nB. y\nmore"])
def test_text_without_a_list_of_options_is_refused(text):
    with pytest.raises(ValueError):
        humblebench.parse_question(text)


def test_the_prompt_is_the_released_one():
    assert humblebench.prompt(question()) == (
        "What color is the chandelier?\nA. Red\nB. Blue\nC. Black\nD. Gold\nE. None of the above\n"
        "Please respond with only the letter of the correct choice (A, B, C, D, or E). "
        "Do not include the option text or any other explanation."
    )


def test_the_prompt_names_a_to_e_over_the_gap_but_not_when_relettered():
    assert "(A, B, C, D, or E)" in humblebench.prompt(nota_only(question()))
    assert "(A, B, C, or D)" in humblebench.prompt(nota_only(question(), relettered=True))


def test_published_files_become_questions(tmp_path):
    write_published(tmp_path / "raw", [published_row(i) for i in range(12)])
    normalise("humblebench", tmp_path / "raw", tmp_path / "out")
    questions = tables.read_questions(tmp_path / "out/questions.parquet")
    assert [q.id for q in questions] == [str(i + 1) for i in range(12)]
    assert [q.answer for q in questions] == [i % 5 for i in range(12)]
    assert {q.refusal for q in questions} == {4}
    assert questions[7].category == "Relation"
    assert dict(questions[7].extra) == {"question_id": 8, "label": "C", "image_path": "images/1.png"}
    # Twelve questions on three distinct images, which are the groups.
    assert len({q.group for q in questions}) == 3
    assert sorted(p.name for p in (tmp_path / "out/images").iterdir()) == sorted({f"{q.group}.png" for q in questions})
    assert (questions[0].images[0].width, questions[0].images[0].height) == (40, 30)


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_folder_of_images_loads_like_the_parquet(tmp_path, kind):
    rows = [published_row(i) for i in range(6)]
    write_published(tmp_path / "parquet", rows)
    folder = tmp_path / "folder"
    (folder / "images").mkdir(parents=True)
    names = ["file_name", "label", "question", "type", "question_id"]
    flat = [r | {"file_name": r["image"]["path"]} for r in rows]
    for row in rows:
        (folder / row["image"]["path"]).write_bytes(row["image"]["bytes"])
    if kind == "jsonl":
        (folder / "metadata.jsonl").write_text("".join(json.dumps({k: r[k] for k in names}) + "\n" for r in flat))
    else:
        import csv

        with (folder / "metadata.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, names, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(flat)
    assert list(humblebench.load(folder, tmp_path / "a")) == list(
        humblebench.load(tmp_path / "parquet", tmp_path / "b")
    )


CORRUPT = {
    "label": ({"label": "F"}, "the label is 'F', not one of A, B, C, D, E"),
    "truncated image": ({"image": {"bytes": png()[:70], "path": "x"}}, "the image does not decode"),
    "duplicate id": ({"question_id": 1}, "the question id 1 is already that of"),
    "label without option": ({"question": "What?\nA. x\nE. None", "label": "C"}, "no option C, which is the label"),
}


@pytest.mark.parametrize(("change", "message"), CORRUPT.values(), ids=CORRUPT)
def test_a_corrupt_row_gives_one_error_naming_file_and_row_and_no_table(tmp_path, change, message):
    write_published(tmp_path / "raw", [published_row(i, **(change if i == 3 else {})) for i in range(6)])
    with pytest.raises(DataError, match=r"train-00000-of-00001\.parquet, row 3: ") as raised:
        normalise("humblebench", tmp_path / "raw", tmp_path / "out")
    assert message in str(raised.value)
    assert not (tmp_path / "out/questions.parquet").exists()


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.99])
def test_a_truncated_parquet_names_the_file(tmp_path, keep):
    path = write_published(tmp_path / "raw", [published_row(i) for i in range(6)])
    data = path.read_bytes()
    path.write_bytes(data[: keep if isinstance(keep, int) else int(keep * len(data))])
    with pytest.raises(DataError, match=r"train-00000-of-00001\.parquet.*: not a whole Parquet file"):
        normalise("humblebench", tmp_path / "raw", tmp_path / "out")
    assert not (tmp_path / "out/questions.parquet").exists()
