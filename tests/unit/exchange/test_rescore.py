"""Predictions to numbers: by hand where they are few, and the real released files where they are at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from known_unknowns import tables
from known_unknowns.errors import DataError
from known_unknowns.exchange.output import format_json, format_tables
from known_unknowns.exchange.rescore import rescore
from tests import paths
from tests.factories import question
from tests.unit.exchange.rescored import plain, value
from tests.unit.test_corrections import content, correction
from tests.unit.test_corrections import write as write_corrections

SHARED = paths.SHARED / "data"
TEXT = "What color is it?\nA. Red\nB. Blue\nC. Black\nD. Gold\nE. None of the above"


def humble(number: int, label: str, prediction: str | None, **changes: Any) -> dict[str, Any]:
    """A line of HumbleBench's results; two questions share an image."""
    return {
        "label": label,
        "question": TEXT,
        "type": "Object" if number % 2 else "Attribute",
        "image": {"bytes": None, "path": f"images/{number // 2}.jpg"},
        "question_id": number,
        "prediction": prediction,
    } | changes


def lines(tmp_path: Path, *found: dict[str, Any], name: str = "predictions.jsonl") -> Path:
    path = tmp_path / name
    path.write_text("".join(json.dumps(line) + "\n" for line in found), encoding="utf-8")
    return path


def test_accuracy_under_both_parsers(tmp_path):
    """Right, wrong, right to a person only, no reply, empty, refused rightly, refused wrongly, two letters."""
    said = ["A", "B", "The answer is A because of a car", None, "", "E", "E", "A or B"]
    labels = ["A", "A", "A", "A", "A", "E", "A", "A"]
    file = lines(tmp_path, *(humble(i, label, text) for i, (label, text) in enumerate(zip(labels, said, strict=True))))
    found = rescore("humblebench", [file])
    assert (found.variant, found.n, found.parsers) == ("original", 8, ["official", "robust"])
    # official: "the answer is a because of a car" holds the one word "a" of a to e
    assert value(found, "official", "accuracy") == 3 / 8
    assert value(found, "robust", "accuracy") == 3 / 8
    assert value(found, "robust", "share_failed") == 1 / 8
    assert value(found, "robust", "share_unparsed") == 2 / 8
    assert value(found, "robust", "refusal_precision") == 1 / 2
    assert value(found, "robust", "refusal_recall") == 1
    assert value(found, "official", "accuracy", "Attribute") == 2 / 4


@pytest.mark.parametrize("swapped", [("A. B. Red", "B. A. Blue"), ("A. 2. Red", "B. 1. Blue")])
def test_labels_in_the_options_that_contradict_them(swapped, tmp_path):
    text = "\n".join(["What color is it?", *swapped, "E. None of the above"])
    file = lines(tmp_path, humble(1, "E", "E"), humble(2, "A", "A", question=text))
    with pytest.raises(
        DataError, match=r"predictions.jsonl, line 2: option A reads '.*Red', which begins with the label"
    ):
        rescore("humblebench", [file], variant="original")


def test_columns_with_the_options_in_another_order(tmp_path):
    """The letters of the replies would mean other options."""
    annotations = lines(tmp_path, humble(1, "A", ""), name="annotations.jsonl")
    columns = {"question": "What color is it?", "A": "Red", "B": "Blue", "C": "Black", "D": "Gold"}
    good = lines(tmp_path, {"index": 1, "prediction": "A", **columns}, name="good.jsonl")
    assert value(rescore("humblebench", [good], annotations=annotations), "official", "accuracy") == 1
    bad = lines(tmp_path, {"index": 1, "prediction": "A", **columns, "A": "Blue", "B": "Red"}, name="bad.jsonl")
    with pytest.raises(
        DataError, match=r"bad.jsonl, line 1: column A is 'Blue', which is option B of question '1'; put"
    ):
        rescore("humblebench", [bad], annotations=annotations)


def test_a_gap_in_the_labels_does_not_tell_the_variant(tmp_path):
    gap = TEXT.replace("B. Blue\n", "")
    file = lines(
        tmp_path,
        humble(1, "E", "E", question=gap),
        humble(2, "B", "E", question=gap),
        humble(3, "E", "A"),
    )
    with pytest.raises(DataError, match=r"line 2: labelled B, where the options are A, C, D, E; .* variant nota_only"):
        rescore("humblebench", [file])
    found = rescore("humblebench", [file], variant="nota_only")
    assert value(found, "official", "accuracy") == 2 / 3
    with pytest.raises(DataError, match="line 1: labelled B, which is still on offer"):
        rescore("humblebench", [lines(tmp_path, humble(1, "B", "E"))], variant="nota_only")
    file = lines(tmp_path, humble(1, "E", "E"), humble(2, "B", "E", question=gap))
    with pytest.raises(DataError, match="line 2: labelled B, where the options are A, C, D, E"):
        rescore("humblebench", [file], variant="original")


NOISE = {"bytes": None, "path": ".cache/noise_image.png"}


@pytest.mark.parametrize(
    ("path", "variant"),
    [
        (".cache/noise_image.png", "noise"),
        ("uniform-noise:width=256,height=256,seed=3720", "noise"),
        ("blank:width=40,height=30,seed=0", "blank"),
    ],
)
def test_generated_images_are_no_groups(tmp_path, path, variant):
    image = {"bytes": None, "path": path}
    said = ["E", "A", "E", "E"]
    file = lines(tmp_path, *(humble(i, "AAEB"[i], text, image=image) for i, text in enumerate(said)))
    assert rescore("humblebench", [file]).variant == "original"
    stated = lines(tmp_path, *(humble(i, "AAEB"[i], said[i], image=image, variant=variant) for i in range(4)))
    by_field = rescore("humblebench", [stated])
    assert by_field.notes[0] == f"scored as the variant {variant}, which the files name"
    found = rescore("humblebench", [file], variant=variant)
    assert by_field.metrics == found.metrics
    assert value(found, "official", "accuracy") == 3 / 4
    assert value(found, "official", "accuracy_published_labels") == 2 / 4
    assert "4 of 4 questions do not say which image" in found.notes[0]
    plain_labels = [humble(i, "E", text) for i, text in enumerate(said)]
    (alone,) = [m for m in found.metrics if (m.parser, m.name, m.category) == ("official", "accuracy", "Overall")]
    each = rescore("humblebench", [lines(tmp_path, *(line | {"image": None} for line in plain_labels), name="i.jsonl")])
    (independent,) = [m for m in each.metrics if (m.parser, m.name, m.category) == ("official", "accuracy", "Overall")]
    assert (alone.low, alone.high) == (independent.low, independent.high)


def test_annotations_give_the_images_of_noise(tmp_path):
    annotations = lines(tmp_path, *(humble(i, "A", "") for i in range(8)), name="annotations.jsonl")
    file = lines(tmp_path, *(humble(i, "A", "AE"[i // 2 % 2], image=NOISE) for i in range(8)))
    for arguments in ({}, {"annotations": annotations}):
        found = rescore("humblebench", [file], variant="noise", **arguments)
        (accuracy,) = [m for m in found.metrics if (m.parser, m.name, m.category) == ("robust", "accuracy", "Overall")]
        assert accuracy.value == 1 / 2
        assert accuracy.method.startswith("modified Wilson with" if arguments else "modified Wilson")
        assert any("do not say which image" in note for note in found.notes) != bool(arguments)


def test_one_image_for_all_questions_asks_for_the_variant(tmp_path):
    image = {"bytes": None, "path": "static.png"}
    file = lines(tmp_path, *(humble(i, "A", "E", image=image) for i in range(51)))
    with pytest.raises(
        DataError, match=r"all 51 rows have the image 'static.png'.*--variant noise.*--variant original"
    ):
        rescore("humblebench", [file])
    assert value(rescore("humblebench", [file], variant="noise"), "robust", "accuracy") == 1
    assert value(rescore("humblebench", [file], variant="original"), "robust", "accuracy") == 0


def test_the_json_object(tmp_path):
    found = rescore("humblebench", [lines(tmp_path, humble(1, "A", "A"), humble(2, "A", "B"))])
    told = json.loads(format_json(found))
    undefined = {"value": None, "low": None, "high": None, "n": 2, "denominator": 0}
    assert told["parsers"]["official"]["refusal_recall"] == undefined
    assert list(told) == ["benchmark", "variant", "n", "parsers"]
    assert (told["benchmark"], told["variant"], told["n"]) == ("humblebench", "original", 2)
    assert list(told["parsers"]) == ["official", "robust"]
    accuracy = told["parsers"]["official"]["accuracy"]
    assert (accuracy["value"], accuracy["n"]) == (0.5, 2)
    assert 0 < accuracy["low"] < 0.5 < accuracy["high"] < 1
    by_category = json.loads(format_json(found, categories=True))["categories"]
    assert by_category["robust"]["Object"]["accuracy"]["value"] == 1
    assert "accuracy" in format_tables(found)


def test_question_answered_twice(tmp_path):
    one = lines(tmp_path, humble(1, "A", "A"), name="one.jsonl")
    two = lines(tmp_path, humble(2, "A", "A"), humble(1, "A", "A"), name="two.jsonl")
    with pytest.raises(DataError, match=r"two.jsonl, line 2: question '1' is already answered in .*one.jsonl, line 1"):
        rescore("humblebench", [one, two])
    file = lines(tmp_path, humble(1, "A", "A"), humble(1, "B", "A"))
    with pytest.raises(DataError, match="line 2: another question has the id '1'"):
        rescore("humblebench", [file])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"label": "F"}, "labelled F, where"),
        ({"label": None}, "has no label"),
        ({"question": "What color is it?"}, "no options A to E"),
        ({"question": "Which?\nA. Red\nB. Blue"}, "no option E"),
        ({"question": None}, "has no question"),
    ],
)
def test_error_names_the_invalid_line(tmp_path, changes, reason):
    file = lines(tmp_path, humble(1, "A", "A"), humble(2, "A", "A") | changes)
    with pytest.raises(DataError, match=f"predictions.jsonl, line 2: .*{reason}"):
        rescore("humblebench", [file])


def asked(tmp_path: Path, count: int = 3) -> Path:
    """A table of questions 1, 2, ..., with the answers A, B, C, ... each on its own image."""
    found = [question(str(n + 1), answer=n, group=f"g{n}") for n in range(count)]
    tables.write_questions(tmp_path / "questions.parquet", found)
    return tmp_path / "questions.parquet"


def test_variant_is_applied_to_annotations(tmp_path):
    with pytest.raises(DataError, match="do not say what was asked; name the questions with --annotations"):
        rescore("humblebench", [plain(tmp_path, ("1", "A"))])
    file = plain(tmp_path, ("3", "E"), ("1", "A"), ("2", "E"))
    found = rescore("humblebench", [file], annotations=asked(tmp_path), variant="nota_only")
    assert value(found, "official", "accuracy") == 2 / 3
    assert value(found, "official", "share_unparsed") == 1 / 3  # A is gone


@pytest.mark.parametrize("ids", [True, False])
def test_questions_that_corrections_leave_out_are_counted(tmp_path, ids):
    """Question 2 is left out and the answer of question 3 becomes A. All replies to the other questions are right: by
    their ids or by their numbers, in a file with the reply to question 2, which is wrong, and in one without it."""
    table = asked(tmp_path)
    published = tables.read_questions(table)
    changes = correction(published[1], None), correction(published[2], content(published[2], answer="A"))
    known = {"corrected": write_corrections(tmp_path / "c.json", *changes)}
    key = {"1": "A", "2": "B", "3": "C"}  # as published
    for numbers, said in (("123", "ADA"), ("13", "AA")):
        answered = enumerate(zip(numbers, said, strict=True))
        file = plain(tmp_path, *zip(numbers, said, strict=True))
        if not ids:
            file = lines(tmp_path, *({"doc_id": i, "filtered_resps": [t], "target": key[n]} for i, (n, t) in answered))
        found = rescore("humblebench", [file], annotations=table, variant="corrected", known=known)
        assert (found.n, value(found, "official", "accuracy")) == (2, 1)
        assert found.notes[0].startswith("1 of 3 questions are left out of the variant")
    if not ids:
        with pytest.raises(DataError, match="add a column question_id"):
            rescore("humblebench", [file], annotations=table, variant="corrected", known=known, partial=True)


def test_unanswered_and_unknown_questions(tmp_path):
    table = asked(tmp_path)
    with pytest.raises(DataError, match=r"2 of the 3 questions .* the first of them '1'; --partial"):
        rescore("humblebench", [plain(tmp_path, ("2", "B"))], annotations=table)
    found = rescore("humblebench", [plain(tmp_path, ("2", "B"))], annotations=table, partial=True)
    assert (found.n, value(found, "official", "accuracy")) == (1, 1)
    with pytest.raises(DataError, match=r"plain\.csv, line 3: the question '9' is not one of the 3"):
        rescore("humblebench", [plain(tmp_path, ("2", "B"), ("9", "B"))], annotations=table, partial=True)


def test_lmms_eval_likelihoods_get_the_likelihood_parser(tmp_path):
    pairs = [["-3.0", "False"], ["-1.0", "True"], ["-2.0", "False"], ["-9.0", "False"], ["-1.5", "False"]]
    file = lines(tmp_path, {"doc_id": 0, "filtered_resps": pairs, "target": "1"})
    table = asked(tmp_path, 1)
    found = rescore("humblebench", [file], annotations=table)
    assert found.parsers == ["official", "robust", "likelihood"]
    assert value(found, "likelihood", "share_B") == 1
    short = lines(tmp_path, {"doc_id": 0, "filtered_resps": pairs[:2], "target": "1"})
    with pytest.raises(DataError, match="2 likelihoods for 5 options"):
        rescore("humblebench", [short], annotations=table)


def test_vlmevalkit_contains_its_questions(tmp_path):
    header = "index\tquestion\tA\tB\tC\tD\tE\tanswer\tcategory\tprediction\n"
    options = "Red\tNone\tBlack\t\tNone of the above"
    failed = f"2\tWhich?\t{options}\tE\tObject\tFailed to obtain answer via API.\n"
    (tmp_path / "v.tsv").write_text(f"{header}1\tWhich?\t{options}\tB\tObject\tB\n{failed}")
    found = rescore("humblebench", [tmp_path / "v.tsv"], variant="original")
    assert value(found, "robust", "accuracy") == 1 / 2
    assert value(found, "robust", "share_failed") == 1 / 2
    assert value(found, "robust", "chance") == 1 / 4


def test_unknown_step_and_missing_answer(tmp_path):
    path = tmp_path / "forced.csv"
    for steps, reason in (("other", "the step is 'other'"), ("forced", "the step 'answer' of question '1' is missing")):
        path.write_text(f"question_id,step,prediction\n1,{steps},A\n" + ("1,answer,A\n" if steps == "other" else ""))
        with pytest.raises(DataError, match=reason):
            rescore("humblebench", [path], annotations=asked(tmp_path, 1))


@pytest.mark.skipif(not SHARED.is_dir(), reason="the released files are absent")
class TestReleasedFiles:
    def test_humblebench_e_of_qwen(self):
        """30 of the 80 predictions are E, and E is right in all."""
        (file,) = (SHARED / "humblebench").glob("*.jsonl")
        said = [json.loads(line)["prediction"] for line in file.read_text(encoding="utf-8").splitlines()]
        assert (said.count("E"), len(said)) == (30, 80)
        found = rescore("humblebench", [file], variant="nota_only")
        assert (found.variant, found.n) == ("nota_only", 80)
        assert value(found, "official", "accuracy") == 0.375
        assert value(found, "robust", "accuracy") == 0.375
        assert found.notes == ()

    def test_actiview_of_qwen(self):
        """200 of 325 by the released rule, which is what the file states."""
        folder = SHARED / "actiview"
        found = rescore(
            "actiview", [folder / "results/qwen2vl_shifting.json"], annotations=folder / "data.json", variant="original"
        )
        assert found.n == 325
        assert value(found, "official", "accuracy") == 0.6153846153846154 == 200 / 325
        assert found.notes == ()
