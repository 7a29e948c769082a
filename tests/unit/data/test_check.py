"""Each mistake in a benchmark's files is found, with its place and severity."""

from __future__ import annotations

import json
from functools import cache
from io import BytesIO
from pathlib import Path
from shutil import copytree
from tempfile import mkdtemp
from typing import Any

import pytest
from PIL import Image as Pillow

from known_unknowns.benchmark.checks import leaks
from known_unknowns.data.check import ERROR, NOTE, WARNING, CheckResult, Finding, Quantity, as_json, as_table, check
from known_unknowns.errors import ConfigError, DataError
from known_unknowns.records import Option
from known_unknowns_pocket.benchmarks import mmsap as pocket_mmsap
from tests.factories import data_entry, png, published_row, write_published

SCENES = data_entry("scenes", images=2, questions_per_image=5)
TEXT = "What color is it?\nA. Red\nB. Blue\nC. Black\nD. Gold\nE. None of the above"


def humblebench(tmp_path: Path, *changed: dict[str, Any], count: int = 10) -> CheckResult:
    """Ten valid rows on two images, of which the last ones are changed."""
    rows = [
        published_row(n, question=TEXT.replace("What color is it", f"What color is number {n}")) for n in range(count)
    ]
    for place, changes in enumerate(reversed(changed), start=1):
        rows[-place] |= changes
    write_published(tmp_path / "raw", rows)
    return check("humblebench", tmp_path / "raw", settings=SCENES)


def found(checked: CheckResult, code: str) -> list[Finding]:
    return [finding for finding in checked.findings if finding.code == code]


def held(checked: CheckResult) -> dict[str, Quantity]:
    return {number.name: number for number in checked.quantities}


def test_valid_files_have_no_findings(tmp_path):
    checked = humblebench(tmp_path)
    assert checked.findings == ()
    assert (checked.worst, checked.exit_code) == (None, 0)
    numbers = {what: number.observed for what, number in held(checked).items()}
    assert (numbers["questions"], numbers["images"], numbers["question types"]) == (10, 2, 3)
    assert (numbers["questions of type Object"], numbers["questions labelled E"]) == (4, 2)
    assert (numbers["words per question"], numbers["words per option"]) == (5, 1.6)
    assert (numbers["mean image width (px)"], numbers["mean image height (px)"]) == (40, 30)


@pytest.mark.parametrize(
    ("changes", "code", "severity", "says"),
    [
        ({"label": "F"}, "label-out-of-range", ERROR, "'F'"),
        ({"label": "B", "question": TEXT.replace("B. Blue\n", "")}, "answer-missing", ERROR, "labelled B"),
        ({"question": TEXT.replace("B. Blue\n", "")}, "lettering", WARNING, "A, C, D, E"),
        ({"question": TEXT.replace("B. Blue\n", "")}, "option-count", WARNING, "4 options, where 5"),
        (
            {"question": TEXT.replace("\nE. None of the above", ""), "label": "A"},
            "refusal-missing",
            ERROR,
            "no option E",
        ),
        ({"question": "What color is it?"}, "unreadable-question", ERROR, "no options"),
        ({"question": TEXT.replace("E. None of the above", "E. Green")}, "refusal", WARNING, "'Green'"),
        ({"question": TEXT.replace("B. Blue", "B. red")}, "option-twice", WARNING, "2 options read 'red'"),
        ({"question": TEXT.replace("B. Blue", "B. C. Blue")}, "leak", WARNING, "option B"),
        ({"question": TEXT.replace("B. Blue", "B. A or C")}, "option-reference", NOTE, "'A or C'"),
        ({"question_id": 1}, "id-twice", ERROR, "row 0"),
        ({"label": None}, "missing", ERROR, "no value for label"),
        ({"image": {"bytes": b"GIF89a", "path": "a.gif"}}, "unreadable-image", ERROR, "a.gif"),
        ({"image": {"bytes": None, "path": "../../etc/passwd"}}, "unreadable-image", ERROR, "leads out of"),
    ],
)
def test_mistakes_of_a_row(tmp_path, changes, code, severity, says):
    checked = humblebench(tmp_path, changes)
    (finding,) = found(checked, code)
    assert finding.severity == severity
    assert says in finding.text
    assert checked.exit_code >= {NOTE: 0, WARNING: 1, ERROR: 3}[severity]
    assert "row 9" in finding.where


def test_one_question_twice_on_one_image(tmp_path):
    (finding,) = found(humblebench(tmp_path, {"question": TEXT}, {"question": TEXT}), "question-twice")
    assert "row 9" in finding.where
    assert "row 8" in finding.text


def encoded(scene_image: Pillow.Image, **settings: Any) -> bytes:
    buffer = BytesIO()
    scene_image.save(buffer, "PNG", **settings)
    return buffer.getvalue()


def test_images_with_the_same_pixels_in_other_bytes(tmp_path):
    scene_image = Pillow.new("RGB", (64, 64), (1, 2, 3))
    one, other = encoded(scene_image, compress_level=0), encoded(scene_image, compress_level=9)
    assert one != other
    checked = humblebench(
        tmp_path,
        *(
            {"image": {"bytes": data, "path": name}}
            for data, name in ((one, "a.png"), (other, "b.png"), (one, "c.png"))
        ),
    )
    (pixels,) = found(checked, "duplicate-pixels")
    assert (pixels.severity, pixels.text) == (WARNING, "2 files hold the same pixels: a.png, b.png")
    (name,) = found(checked, "duplicate-file")
    assert (name.severity, name.text) == (NOTE, "one image has 2 names: a.png, c.png")


def test_images_of_other_sizes_are_different(tmp_path):
    black = [png((0, 0, 0), size) for size in ((20, 30), (30, 20))]
    checked = humblebench(tmp_path, *({"image": {"bytes": data, "path": f"{len(data)}.png"}} for data in black))
    assert found(checked, "duplicate-pixels") == []


def test_an_unreadable_file_is_a_finding(tmp_path):
    humblebench(tmp_path)
    (tmp_path / "raw" / "a.parquet").write_bytes(b"PAR1 and no more")
    checked = check("humblebench", tmp_path / "raw", settings=SCENES)
    (finding,) = found(checked, "unreadable-file")
    assert "a.parquet" in finding.text
    assert checked.exit_code == 3


def test_expected_numbers_of_the_paper_and_of_params_yaml(tmp_path):
    assert found(humblebench(tmp_path, count=9), "count")[0].text == "questions: 9 but the entry of the data states 10"
    published = check("humblebench", tmp_path / "raw")
    assert "questions: 9 but the paper (Table 1) states 22831" in [f.text for f in found(published, "count")]


def test_expected_numbers_are_compared_to_their_printed_digits():
    assert Quantity("x", 8.8849, 8.88).agrees
    assert Quantity("x", 8.89, 8.88).agrees is False
    assert Quantity("x", 594, 594.0).agrees
    assert Quantity("x", 1).agrees is None


@pytest.mark.parametrize(
    ("text", "leak"),
    [
        ("Red", False),
        ("A car", False),
        ("B", True),
        ("Z", False),  # on no other option: a letter that may be seen
        ("B. Red", True),
        ("Option D", True),
        ("Both answer A and that", True),
        ("Red (correct)", True),
        ("The correct time is 10:30", False),
        ("D.C.", False),
    ],
)
def test_options_that_reveal_the_answer(text, leak):
    options = [Option("A", text, "A. "), *(Option(letter, "Other " + letter * 3, f"{letter}. ") for letter in "BCD")]
    assert bool(list(leaks(options))) == leak


@cache
def pocket() -> Path:
    return pocket_mmsap.build(Path(mkdtemp()) / "raw", seed=1, images=6, questions_per_image=1)


def mmsap(tmp_path: Path, **changes: Any) -> CheckResult:
    """The pocket edition, with changes to the first question of KnowVisQA."""
    raw = Path(copytree(pocket(), tmp_path / "raw"))
    file = raw / "KnowVisQA.json"
    rows = json.loads(file.read_text(encoding="utf-8"))
    rows[0] |= changes
    file.write_text(json.dumps(rows), encoding="utf-8")
    return check("mmsap", raw, settings=data_entry("scenes"))


def test_mmsap_of_the_pocket_edition(tmp_path):
    checked = mmsap(tmp_path)
    assert [f for f in checked.findings if f.code != "count"] == []
    numbers = {what: number.observed for what, number in held(checked).items()}
    assert (numbers["questions of BasicVisQA"], numbers["images of KnowVisQA"], numbers["questions"]) == (2, 2, 6)


REFUSAL = "Sorry, I can't help with it"


@pytest.mark.parametrize(
    ("changes", "code", "severity", "says"),
    [
        ({"options": ["a", "b", "c", "d", "e"]}, "refusal-missing", ERROR, "where one must be"),
        ({"options": ["a", "b", REFUSAL], "answer": "b"}, "option-count", WARNING, "3 options"),
        ({"options": ["a", "b", "c", "d", REFUSAL], "answer": "f"}, "answer-missing", ERROR, "none of the options"),
        (
            {"options": ["a", "b", "c", "d", REFUSAL], "answer": REFUSAL},
            "answer-missing",
            ERROR,
            "cannot be in KnowVisQA",
        ),
        ({"options": "a, b"}, "unreadable-options", ERROR, "neither a list"),
        ({"question": ""}, "missing", ERROR, "'question'"),
        ({"image": "images/none.png"}, "unreadable-image", ERROR, "none.png"),
    ],
)
def test_mistakes_of_a_row_of_mmsap(tmp_path, changes, code, severity, says):
    (finding,) = found(mmsap(tmp_path, **changes), code)
    assert (finding.severity, finding.where) == (severity, "KnowVisQA.json, row 0")
    assert says in finding.text


def test_expected_numbers_and_a_missing_subset_of_mmsap(tmp_path):
    mmsap(tmp_path)
    (tmp_path / "raw" / "BeyondVisQA.json").unlink()
    checked = check("mmsap", tmp_path / "raw")
    assert [f.where for f in found(checked, "unreadable-file")] == ["BeyondVisQA"]
    texts = [f.text for f in found(checked, "count")]
    assert "questions of BasicVisQA: 2 but the paper (Section 3.2) states 400" in texts


def test_the_json_and_the_table_agree(tmp_path):
    swapped = TEXT.replace("E. None of the above", "E. Green")
    checked = humblebench(tmp_path, *({"question": f"{n} {swapped}", "type": "Weather"} for n in range(7)))
    told = json.loads(as_json(checked))
    assert told["worst"] == WARNING
    assert told["counts"] == {"error": 0, "warning": 7 + 1, "note": 0}  # and there are more than three types
    assert len(told["findings"]) == 8
    assert {
        "name": "questions",
        "observed": 10,
        "expected": 10,
        "source": "the entry of the data",
        "agrees": True,
    } in told["quantities"]
    table = as_table(checked)
    assert "0 errors, 8 warnings, 0 notes" in table
    assert "warning refusal: and 2 more (--json has all)" in table


def test_a_folder_that_cannot_be_checked(tmp_path):
    with pytest.raises(ConfigError, match="did you mean 'humblebench'"):
        check("humblebunch", tmp_path)
    with pytest.raises(DataError, match="known-unknowns data fetch mmsap"):
        check("mmsap", tmp_path / "none")
    with pytest.raises(ValueError, match="'grave'"):
        Finding("grave", "x", "", "")
