"""The variant ``corrected``: a file of corrections, and questions of another version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from known_unknowns import tables, variants
from known_unknowns.data.variant_tables import vary
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.records import ResolvedVariant
from known_unknowns.variants.corrections import content_sha256, dropped, files, question_sha256, read_corrections
from tests.factories import question, variant_entry


def content(q, **changes):
    answer = q.labels[q.answer]
    return {
        "question": q.text,
        "labels": list(q.labels),
        "options": [option.text for option in q.options],
        "answer": answer,
    } | changes


def correction(q, after, why="the lamp is black"):
    return {"id": q.id, "sha256": question_sha256(q), "why": why, "before": content(q), "after": after}


def write(path: Path, *entries, benchmark="humblebench") -> ResolvedVariant:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"format": 1, "benchmark": benchmark, "corrections": list(entries)}))
    return variant_entry("corrected", corrections=str(path))


QUESTIONS = [question(str(number), answer=number % 5) for number in range(5)]


def test_a_corrected_question(tmp_path):
    q = QUESTIONS[0]
    options = ["Red", "Blue", "Jet black", "Gold", "None of the above"]
    after = content(q, question="What color is the lamp?", options=options, answer="C")
    entry = write(tmp_path / "c.json", correction(q, after))
    found = variants.apply(entry, q, seed=0)
    assert (found.text, found.answer, found.refusal) == ("What color is the lamp?", 2, 4)
    assert [option.line for option in found.options][2] == "C. Jet black"
    assert (found.id, found.images, found.group, found.labels) == (q.id, q.images, q.group, q.labels)
    assert variants.apply(entry, QUESTIONS[1], seed=0) is QUESTIONS[1]
    assert files(entry) == [str(tmp_path / "c.json")] and files(variant_entry("noise")) == []


def test_a_left_out_question_is_not_in_the_table(tmp_path, capsys):
    tables.write_questions(tmp_path / "questions.parquet", QUESTIONS)
    entry = write(
        tmp_path / "c.json", correction(QUESTIONS[1], None), correction(QUESTIONS[3], content(QUESTIONS[3], answer="E"))
    )
    vary(entry, tmp_path / "questions.parquet", tmp_path / "corrected.parquet", seeds=[0])
    found = tables.read_questions(tmp_path / "corrected.parquet")
    assert [(q.id, q.answer) for q in found] == [("0", 0), ("2", 2), ("3", 4), ("4", 4)]
    assert "1 of 5 questions are left out by the corrections" in capsys.readouterr().err


def test_corrections_of_another_version_are_refused(tmp_path):
    changed = question("1", answer=2)
    entry = write(tmp_path / "c.json", correction(changed, content(changed, answer="E")))
    with pytest.raises(ValueError, match=r"corrects another version of question '1'.*answer C.*answer B.*Review the"):
        variants.apply(entry, QUESTIONS[1], seed=0)
    tables.write_questions(tmp_path / "questions.parquet", QUESTIONS)
    with pytest.raises(DataError, match=r"questions\.parquet: .*c\.json corrects another version of question '1'"):
        vary(entry, tmp_path / "questions.parquet", tmp_path / "corrected.parquet", seeds=[0])


def test_corrections_of_other_questions_are_refused(tmp_path):
    absent = question("99")
    entry = write(tmp_path / "c.json", correction(absent, None))
    with pytest.raises(ValueError, match="corrects question '99', which is not one of the 5 questions"):
        dropped(entry, QUESTIONS)
    entry = write(tmp_path / "d.json", benchmark="mmsap")
    with pytest.raises(ValueError, match=r"d\.json corrects mmsap, not humblebench"):
        dropped(entry, QUESTIONS)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda entry: entry | {"sha256": "0" * 64}, "does not have this sha256"),
        (lambda entry: entry | {"after": entry["before"] | {"answer": "Z"}}, "'Z' is not one of the labels"),
        (lambda entry: entry | {"after": entry["before"] | {"labels": list("BCDEA")}}, "changes the labels"),
        (lambda entry: entry | {"after": entry["before"] | {"options": ["x"]}}, "a text is missing"),
        (lambda entry: {"id": "1"}, "before"),
        (lambda entry: 7, "is not sound"),
    ],
)
def test_unsound_corrections_are_named(tmp_path, change, reason):
    write(tmp_path / "c.json", change(correction(QUESTIONS[1], None)))
    with pytest.raises(ValueError, match=rf"c\.json: corrections\[0\] is not sound .*{reason}|{reason}"):
        read_corrections(tmp_path / "c.json")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2}', "\xff"])
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "c.json").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=r"c\.json: not a file of corrections"):
        read_corrections(tmp_path / "c.json")


def test_a_missing_file_is_named_with_the_command_that_writes_it(tmp_path):
    with pytest.raises(ValueError, match="known-unknowns review apply --benchmark NAME --out"):
        read_corrections(tmp_path / "absent.json")


def test_a_changed_file_is_read_again(tmp_path):
    write(tmp_path / "c.json")
    assert read_corrections(tmp_path / "c.json").by_id == {}
    write(tmp_path / "c.json", correction(QUESTIONS[0], None))
    assert read_corrections(tmp_path / "c.json").by_id.keys() == {"0"}


def test_two_corrections_of_one_question_are_refused(tmp_path):
    write(tmp_path / "c.json", correction(QUESTIONS[0], None), correction(QUESTIONS[0], None))
    with pytest.raises(ValueError, match="question '0' has two corrections"):
        read_corrections(tmp_path / "c.json")


def test_the_argument_is_required():
    with pytest.raises(
        ConfigError, match=r"variants\.corrected: the variant 'corrected' needs the argument 'corrections'"
    ):
        variants.check_arguments(variant_entry("corrected"), path="variants.corrected")
    variants.check_arguments(variant_entry("corrected", corrections="c.json"), path="variants.corrected")


def test_the_digest_depends_on_every_part():
    parts = ("Which?", ["A", "B"], ["x", "y"], "A")
    changed = [
        ("Which", *parts[1:]),
        (parts[0], ["A", "C"], *parts[2:]),
        (*parts[:2], ["x", "z"], "A"),
        (*parts[:3], "B"),
    ]
    assert len({content_sha256(*values) for values in [parts, *changed]}) == 5
