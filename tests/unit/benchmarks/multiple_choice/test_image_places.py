"""Images that are options: a variant that moves or removes a text moves or removes its image, in every notation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from known_unknowns import variants
from known_unknowns.data.check import check
from known_unknowns.data.questions import normalise
from known_unknowns.data.variant_tables import vary
from known_unknowns.inference.bound_protocols import bound
from known_unknowns.records import AnsweredTurn, Image, Question, Reply, ResolvedProtocol
from known_unknowns.scoring.robust import robust
from known_unknowns.tables import read_questions
from tests.factories import asked_by, data_entry, png, variant_entry
from tests.unit.benchmarks.multiple_choice.own_files import BENCHMARK, load

STEM = "Which one continues {}?"
NOTATIONS = {
    "muirbench": ["<image>"] * 4,
    "mmmu": ["<image 1>", "<image 2>", "<image 3>", "<image 4>"],
    "underscore": ["<image_1>", "<image_2>", "<image_3>", "<image_4>"],
    "joined": ["<image1>", "<image2>", "<image3>", "<image4>"],
    "brackets": ["[image 1]", "[image 2]", "[Image 3]", "[image_4]"],
    "other order": ["<image 2>", "<image 4>", "<image 1>", "<image 3>"],
}
"""The marks of the image in the question and of those in the options A, B and C; D is the refusal."""


def own(folder: Path, *rows: dict[str, Any], images: int = 4) -> Path:
    """A folder of questions about images of different colours."""
    folder.mkdir(parents=True)
    for number in range(images):
        (folder / f"{number}.png").write_bytes(png((40 * number, 0, 0)))
    values = [{"images": [f"{number}.png" for number in range(images)], "answer": "B"} | row for row in rows]
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in values), encoding="utf-8")
    return folder


def row(marks: list[str], **changes: Any) -> dict[str, Any]:
    stem, *options = marks
    return {"question": STEM.format(stem), "options": [*options, "None of the above"]} | changes


def shown(question: Question) -> dict[str, str]:
    """The digest of the image that a model sees beside each label, and of that in the question ("")."""
    found, label = {}, ""
    for part in next(asked_by("single_turn", question)).content:
        if isinstance(part, Image):
            found[label] = part.sha256
            continue
        lines = [line for line in part.splitlines() if line[:3] in ("A. ", "B. ", "C. ", "D. ")]
        label = lines[-1][0] if lines else label
    return found


@pytest.mark.parametrize("marks", NOTATIONS.values(), ids=NOTATIONS)
def test_a_picture_keeps_its_option_when_texts_move(marks, tmp_path):
    (question,) = load(own(tmp_path / "own", row(marks)), tmp_path / "out")
    published = shown(question)
    assert len(set(published.values())) == 4 and list(published) == ["", "A", "B", "C"]
    orders = set()
    for seed in range(12):
        for variant in (variants.shuffled_options, variants.shuffled_all_options):
            changed = variant(question, seed=seed)
            seen = shown(changed)
            orders.add(tuple(seen))
            assert seen[""] == published[""]
            assert seen[changed.options[changed.answer].label] == published["B"]
            assert set(seen.values()) == set(published.values())
    assert len(orders) > 1


@pytest.mark.parametrize("marks", NOTATIONS.values(), ids=NOTATIONS)
def test_the_picture_of_a_removed_option_is_not_shown(marks, tmp_path):
    (question,) = load(own(tmp_path / "own", row(marks)), tmp_path / "out")
    published = shown(question)
    assert shown(variants.nota_only(question)) == {place: published[place] for place in ("", "A", "C")}
    relettered = shown(variants.nota_only(question, relettered=True))
    assert relettered == {"": published[""], "A": published["A"], "B": published["C"]}
    assert shown(variants.without_refusal(question)) == published


UNASSIGNED = {
    "fewer marks than images": (["", "<image>", "<image>", "<image>"], 4),
    "more marks than images": (["<image>", "<image>", "<image>", "<image>"], 3),
    "two kinds of marks": (["<image 1>", "<image>", "<image>", "<image>"], 4),
    "a number that no image has": (["<image 1>", "<image 2>", "<image 3>", "<image 5>"], 4),
}


@pytest.mark.parametrize(("marks", "images"), UNASSIGNED.values(), ids=UNASSIGNED)
def test_images_that_cannot_be_assigned_leave_the_question_out_with_a_count(marks, images, tmp_path, capsys):
    plain = row(["", "Red", "Green", "Blue"])
    folder = own(tmp_path / "own", row(marks), plain, images=images)
    normalise("multiple_choice", folder, tmp_path / "out", settings=data_entry("folder"))
    table = tmp_path / "out/questions.parquet"
    for variant in ("shuffled_options", "shuffled_all_options", "nota_only"):
        capsys.readouterr()
        vary(variant_entry(variant), table, tmp_path / "v.parquet", seeds=[0])
        assert capsys.readouterr().err == f"1 of 2 questions are left out: {variants.UNOWNED}\n"
        assert len(read_questions(tmp_path / "v.parquet")) == 1
    vary(variant_entry("original"), table, tmp_path / "v.parquet", seeds=[0])
    assert len(read_questions(tmp_path / "v.parquet")) == 2
    checked = check("multiple_choice", folder, settings=data_entry("folder"))
    (finding,) = [finding for finding in checked.findings if finding.code == "image-owner"]
    assert (finding.severity, finding.where) == ("warning", "q.jsonl, row 1")
    numbers = {number.name: number.observed for number in checked.quantities}
    assert numbers["questions that shuffles and nota_only leave out"] == 1


def test_marks_in_the_question_alone_need_no_numbers(tmp_path):
    options = ["Red", "Green", "None of the above"]
    rows = [{"question": f"{mark} {mark} Same?", "options": options} for mark in ("<image>", "[image]")]
    for question in load(own(tmp_path / "own", *rows, images=3), tmp_path / "out"):
        assert variants.left_out(variant_entry("shuffled_options"), [question]) == {}
        first, second, third = question.images
        content = next(asked_by("single_turn", question)).content
        assert content[:4] == (third, first, " ", second)


def test_options_that_are_images_are_no_equal_texts(tmp_path):
    checked = check("multiple_choice", own(tmp_path / "own", row(["<image>"] * 4)), settings=data_entry("folder"))
    assert {finding.code for finding in checked.findings} & {"option-twice", "image-owner", "option-reference"} == set()


@pytest.mark.parametrize(
    ("reply", "choice"), [("A", 0), ("image 2", 0), ("The answer is image 3.", 1), ("image 1", None)]
)
def test_an_image_is_called_by_its_place_in_what_the_model_saw(reply, choice, tmp_path):
    """In the shuffled question, the second image that the model sees is the option A, whatever its published number."""
    (question,) = load(own(tmp_path / "own", row(NOTATIONS["other order"])), tmp_path / "out")
    turn = next(asked_by("single_turn", question))
    images = tuple(image.sha256 for image in turn.images)
    answered = AnsweredTurn(question.id, 0, "answer", turn.text, images, turn.labels, "", Reply(reply))
    assert robust(answered, question).choice == choice
    assert BENCHMARK.official(reply, question).choice == (0 if reply == "A" else None)


def test_an_image_that_was_removed_is_not_what_a_reply_calls_image_2(tmp_path):
    (question,) = load(own(tmp_path / "own", row(NOTATIONS["mmmu"], answer="A")), tmp_path / "out")
    changed = variants.nota_only(question)
    turn = next(asked_by("single_turn", changed))
    images = tuple(image.sha256 for image in turn.images)
    answered = AnsweredTurn(question.id, 0, "answer", turn.text, images, turn.labels, "", Reply("image 2"))
    assert robust(answered, changed).label == "B"


@pytest.mark.parametrize(("marks", "steps"), [(NOTATIONS["mmmu"], []), (["", "Red", "Green", "Blue"], ["likelihood"])])
def test_the_likelihood_of_an_image_is_not_asked(marks, steps, tmp_path):
    (question,) = load(own(tmp_path / "own", row(marks)), tmp_path / "out")
    protocol = ResolvedProtocol.of(name="single_turn")
    dialogue = bound(BENCHMARK, protocol, parsers=["official"], confidence=["option_text"])(question)
    next(dialogue)
    asked = []
    try:
        while True:
            asked.append(dialogue.send(Reply("A")).step)
    except StopIteration:
        assert asked == steps
