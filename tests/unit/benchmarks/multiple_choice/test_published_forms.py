"""Files in the forms of POPE, AMBER, MMMU, MMBench and ARC (CommonsenseQA has ARC's), with content of our own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from known_unknowns import variants
from known_unknowns.errors import ConfigError
from known_unknowns.records import ANSWERED, Image, Question, Score
from tests.factories import asked_by, data_entry
from tests.unit.benchmarks.multiple_choice.own_files import (
    BASE64,
    BENCHMARK,
    IMAGES,
    load,
    own_folder,
    problems,
    row,
    write_csv,
    write_images,
)
from tests.unit.metrics.answered import cell_of

YES_NO = {"options": ["Yes", "No"]}


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return path.parent


def answers(questions: list[Question]) -> list[tuple[list[str], int | None]]:
    return [([option.text for option in question.options], question.answer) for question in questions]


def parts(question: Question) -> list[str]:
    """What a model receives: the numbers of the images in the question, and texts."""
    turn = next(asked_by("single_turn", question))
    return [f"#{question.images.index(part)}" if isinstance(part, Image) else part for part in turn.content]


def test_yes_no_questions_of_pope(tmp_path):
    """One object a line in a file .json, with the answer as a word, and no options."""
    rows = [
        {"question_id": 1, "image": "0.png", "text": "Is there a snowboard in the image?", "label": "yes"},
        {"question_id": 2, "image": "0.png", "text": "Is there a dog in the image?", "label": "no"},
    ]
    write_images(tmp_path / "own/val2014")
    folder = write_lines(tmp_path / "own/coco_pope_random.json", rows)
    found = load(folder, tmp_path / "out", images="val2014", **YES_NO)
    assert answers(found) == [(["Yes", "No"], 0), (["Yes", "No"], 1)]
    assert [question.id for question in found] == ["1", "2"] and found[0].group == found[1].group
    assert BENCHMARK.official("No", found[0]).choice == 1
    with_refusal = load(folder, tmp_path / "out2", images="val2014", options=["Yes", "No", "Cannot be determined"])
    assert [question.refusal for question in with_refusal] == [2, 2]
    message = problems(folder, images="val2014")
    assert "1 mistake" in message and "with options: [Yes, No] in params.yaml" in message
    assert message.endswith("; also in 1 other row (2)")


def test_yes_no_questions_of_amber(tmp_path):
    """A list of objects, whose answers ("truth") are those of its annotations with the same id."""
    rows = [{"id": 1005, "image": "0.png", "query": "Is the sky sunny?", "truth": "yes", "type": "attribute"}]
    write_images(tmp_path / "own")
    (tmp_path / "own/query_discriminative.json").write_text(json.dumps(rows))
    (found,) = load(tmp_path / "own", tmp_path / "out", fields={"category": "type"}, **YES_NO)
    assert (found.id, found.text, found.category, found.answer) == ("1005", "Is the sky sunny?", "attribute", 0)


def mmmu(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """MMMU's Parquet files: seven columns of images, options as a list in Python's notation in a text."""
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    names = [f"image_{number}" for number in range(1, 8)]
    texts = ["id", "question", "options", "answer", "question_type", "subfield"]
    schema = pa.schema([(name, pa.string()) for name in texts] + [(name, image) for name in names])
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / "validation-00000-of-00001.parquet")
    return folder


def mmmu_row(question: str, options: list[str], images: int, **changes: Any) -> dict[str, Any]:
    values = {"id": f"validation_Art_{images}", "question": question, "options": str(options), "answer": "B"}
    values |= {f"image_{n + 1}": {"bytes": IMAGES[n % 3], "path": None} for n in range(images)}
    return values | {"question_type": "multiple-choice", "subfield": "Drawing"} | changes


def test_several_columns_of_images_and_their_places_in_the_text(tmp_path):
    rows = [
        mmmu_row("Compare <image 1> with <image 2>. Which is older?", ["The first", "The second"], 2),
        mmmu_row("Which one continues <image 1>?", ["<image 3>", "<image 2>"], 3),
        mmmu_row("How long is it?", [], 1, id="open", question_type="open", answer="5"),
    ]
    folder = mmmu(tmp_path / "own", rows)
    first, second = load(folder, tmp_path / "out", only={"question_type": "multiple-choice"})
    assert [len(question.images) for question in (first, second)] == [2, 3]
    instruction = "\nAnswer with the option's letter from the given choices directly."
    texts = [" with ", f". Which is older?\nA. The first\nB. The second{instruction}"]
    assert parts(first) == ["Compare ", "#0", texts[0], "#1", texts[1]]
    assert parts(second) == ["Which one continues ", "#0", "?\nA. ", "#2", "\nB. ", "#1", instruction]
    assert "2 refusals" not in problems(folder) and "0 option(s)" in problems(folder)  # without `only`


def test_images_that_the_text_does_not_name_come_first(tmp_path):
    rows = [mmmu_row("What is on <image 2>, and again on <image 2>?", ["A cat", "A dog"], 3)]
    (found,) = load(mmmu(tmp_path / "own", rows), tmp_path / "out")
    assert parts(found)[:4] == ["#0", "#2", "What is on ", "#1"] and parts(found)[4].startswith(", and again on <image")
    plain = replace(found, extra={})  # the text of other benchmarks is data
    assert parts(plain)[:3] == ["#0", "#1", "#2"] and "<image 2>" in parts(plain)[3]


def test_an_unnumbered_place_is_that_of_the_next_image(tmp_path):
    write_images(tmp_path / "own")
    rows = [
        {"images": ["0.png", "1.png"], "question": "<image>\n<image>\nSame?", "options": ["Yes", "No"], "answer": "A"}
    ]
    (found,) = load(write_lines(tmp_path / "own/q.jsonl", rows), tmp_path / "out")
    assert parts(found)[:4] == ["#0", "\n", "#1", parts(found)[3]]


def test_the_image_of_a_removed_option_is_not_sent(tmp_path):
    rows = [mmmu_row("Which continues <image 1>?", ["<image 2>", "<image 3>", "None of the above"], 3)]
    (found,) = load(mmmu(tmp_path / "own", rows), tmp_path / "out")
    assert [part for part in parts(variants.nota_only(found)) if part.startswith("#")] == ["#0", "#1"]


def test_a_gap_in_the_columns_of_images(tmp_path):
    rows = [mmmu_row("What is <image 3>?", ["a", "b"], 3, image_2=None)]
    folder = mmmu(tmp_path / "own", rows)
    assert "row 0: column image_2: no image, and image_3 has one; move the images up, or add it" in problems(folder)


def circular(folder: Path) -> Path:
    """MMBench's files: copy k of a question has its index plus k million, and the index of its image."""
    options = ["Red", "Green", "Blue"]
    rows = []
    for question in (7, 8):
        for copy in range(3):
            turned = options[copy:] + options[:copy]
            image = BASE64[question % 3] if copy == 0 else str(question)
            values = {"index": question + copy * 1_000_000, "image": image, "question": f"Colour {question}?"}
            rows.append(values | dict(zip("ABC", turned, strict=True)) | {"answer": "ABC"[turned.index("Green")]})
    rows.append(rows[0] | {"index": 3_000_007, "question": "Another?"})  # not a copy: its text differs
    write_csv(folder / "mmbench.tsv", rows, delimiter="\t")
    return folder


def test_circular_copies_of_mmbench_count_together(tmp_path):
    folder = circular(tmp_path / "own")
    questions = load(folder, tmp_path / "out")
    assert [question.extra.get("copy_of") for question in questions] == [None, "7", "7", None, "8", "8", None]
    notes = BENCHMARK.contents(folder, settings=None).notes
    assert any(note.startswith("4 rows are circular copies (MMBench) of 2 questions") for note in notes)
    wrong = {"1000007"}
    scores = [
        (
            q,
            Score(
                q.id, 0, "answer", "official", ANSWERED, "A", q.answer if q.id not in wrong else 0, q.id not in wrong
            ),
        )
        for q in questions
    ]
    ratio = BENCHMARK.metrics().ratios(cell_of(scores))["circular_accuracy"]
    assert ratio.denominator.tolist() == [1, 0, 0, 1, 0, 0, 1]
    assert ratio.numerator.tolist() == [0, 0, 0, 1, 0, 0, 1]  # 7 is wrong in one of three passes


ARC = [
    {
        "id": "a",
        "question": "Which is hot?",
        "choices": {"text": ["Ice", "Fire"], "label": ["A", "B"]},
        "answerKey": "B",
    },
    {
        "id": "b",
        "question": "Which is wet?",
        "choices": {"text": ["Sea", "Sand"], "label": ["1", "2"]},
        "answerKey": "1",
    },
]


@pytest.mark.parametrize("form", ["hub", "a list of objects", "original"])
def test_labels_and_texts_of_arc(form, tmp_path):
    """On the hub, two lists. The original files have a list of objects within the question, which is refused with the
    lines that change it. Some labels are numbers."""
    rows = ARC
    if form != "hub":
        rows = [each | {"choices": pandas.DataFrame(each["choices"]).to_dict("records")} for each in ARC]
    if form == "original":
        inner = [{"stem": each["question"], "choices": each["choices"]} for each in rows]
        rows = [
            {"id": each["id"], "question": question, "answerKey": each["answerKey"]}
            for each, question in zip(rows, inner, strict=True)
        ]
        folder = write_lines(tmp_path / "own/arc.jsonl", rows)
        message = problems(folder, without_image=True)
        assert "arc.jsonl, row 1: column question: the options are an object with the question" in message
        code = "\n".join(line.strip() for line in message.splitlines() if line.strip().startswith("frame"))
        code = code.replace("questions.jsonl", (folder / "arc.jsonl").as_posix())
        exec(code, {"pandas": pandas})
        found = load(folder, tmp_path / "out", without_image=True)
        assert answers(found) == [(["Ice", "Fire"], 1), (["Sea", "Sand"], 0)]
        assert [question.text for question in found] == ["Which is hot?", "Which is wet?"]
        return
    found = load(write_lines(tmp_path / "own/arc.jsonl", rows), tmp_path / "out", without_image=True)
    assert answers(found) == [(["Ice", "Fire"], 1), (["Sea", "Sand"], 0)]
    assert [question.labels for question in found] == [("A", "B"), ("A", "B")]
    assert [question.text for question in found] == ["Which is hot?", "Which is wet?"]


def test_a_label_twice_and_an_empty_text(tmp_path):
    rows = [{**ARC[0], "choices": {"text": ["a", "b"], "label": ["A", "A"]}}]
    assert "column choices: the label 'A' is given twice" in problems(
        write_lines(tmp_path / "one/q.jsonl", rows), without_image=True
    )
    rows = [{**ARC[0], "choices": [{"text": "", "label": "A"}, {"text": "b", "label": "B"}]}]
    assert "option 1 is empty" in problems(write_lines(tmp_path / "two/q.jsonl", rows), without_image=True)
    rows = [{**ARC[0], "choices": {"text": ["a", "b", "c"], "label": ["A", "B"]}}]
    assert "q.jsonl, row 1: column choices: 3 texts and 2 labels" in problems(
        write_lines(tmp_path / "three/q.jsonl", rows), without_image=True
    )


def test_a_template_of_the_prompt(tmp_path):
    folder = own_folder(tmp_path / "own", [row(0, question="Farbe {options}?", hint="Dach")])
    prompt = "{hint}: {question}\n{options}\nAntworte nur mit dem Buchstaben."
    refusal = "{question}\n{options}\nWenn du es nicht weißt: {refusal}."
    (found,) = load(folder, tmp_path / "out", prompt=prompt, refusal_prompt=refusal)
    options = "A. Red\nB. Green\nC. Blue\nD. None of the above"
    assert BENCHMARK.prompt(found) == f"Dach: Farbe {{options}}?\n{options}\nAntworte nur mit dem Buchstaben."
    assert BENCHMARK.refusal_prompt(found) == f"Farbe {{options}}?\n{options}\nWenn du es nicht weißt: D."
    assert BENCHMARK.refusal_prompt(replace(found, refusal=None)) == BENCHMARK.prompt(found)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prompt": "{qestion}"}, "did you mean 'question'"),
        ({"prompt": "{question} {refusal}"}, "'refusal'"),
        ({"refusal_prompt": "Antworte mit {refusal}."}, "the template has no {question}"),
    ],
)
def test_a_template_with_a_mistake(settings, message, tmp_path):
    folder = own_folder(tmp_path / "own", [row(0)])
    with pytest.raises(ConfigError, match=message.replace("{", r"\{")):
        BENCHMARK.contents(folder, settings=data_entry("folder", **settings))


def test_rows_of_other_kinds_are_ignored(tmp_path):
    folder = own_folder(tmp_path / "own", [row(0, split="dev"), row(1, split="test"), row(2, split="train")])
    assert [q.id for q in load(folder, tmp_path / "out", only={"split": ["dev", "test"]})] == ["q0", "q1"]
    assert "no column 'spilt', which only names" in problems(folder, only={"spilt": "dev"})
