"""MM-UPD's files: what is loaded, what is refused, and what the check finds."""

from __future__ import annotations

import pytest

from known_unknowns.errors import ConfigError, DataError
from known_unknowns_benchmarks.mm_upd.check import check
from known_unknowns_benchmarks.mm_upd.loader import load
from tests.factories import data_entry
from tests.unit.benchmarks.mm_upd.published_files import FAMILY, rows, write


def test_every_pass_is_a_question(tmp_path):
    found = {q.id: q for q in load(write(tmp_path / "raw"), tmp_path / "questions")}
    # Three standard passes in each subset, and two, three and three unsolvable ones.
    assert len(found) == 9 + 2 + 3 + 3
    standard, absent = found["AAD-standard-2000241"], found["AAD-upd-1000241"]
    assert [option.line for option in standard.options] == ["A. windy", "B. sunny", "C. rainy", "D. None of the above"]
    assert (standard.answer, standard.refusal) == (2, 3)
    assert [option.line for option in absent.options] == ["A. windy", "B. sunny", "C. None of the above"]
    assert (absent.answer, absent.refusal) == (2, 2)
    assert absent.extra["masked_answer"] == "rainy" and absent.extra["pass"] == 1 and absent.extra["problem"] == 241
    assert absent.category == "AAD image_scene" and absent.group == standard.group
    assert [option.text for option in found["IASD-upd-241"].options] == [*FAMILY, "None of the above"]
    other = found["IVQD-upd-241"]
    assert other.text == "Look at the sky.\nWhat weather is depicted?"
    assert other.options[-1].text == "The image and question are irrelevant."
    assert other.group != found["IVQD-standard-241"].group


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("answer", "D", "none of the options A, B, C"),
        ("type", "aad", "neither 'standard' nor 'upd'"),
        ("index", "x", "not a whole number"),
        ("B", "None", "1 options"),
        ("image", "!", "not base64"),
        ("question", "", "the column question is empty"),
    ],
)
def test_a_row_that_is_not_as_published_is_named(tmp_path, column, value, message):
    changed = rows("AAD", "base")
    changed[1][column] = value
    raw = write(tmp_path / "raw", {"AAD base": changed})
    with pytest.raises(DataError, match=message) as error:
        list(load(raw, tmp_path / "questions"))
    assert "mmaad_20240303_base.tsv" in str(error.value)


def test_an_unsolvable_row_with_an_option_as_its_answer_is_refused(tmp_path):
    changed = rows("IASD", "base")
    changed[-1]["answer"] = "A"
    with pytest.raises(DataError, match="unsolvable row is 'A', not 'F'"):
        list(load(write(tmp_path / "raw", {"IASD base": changed}), tmp_path / "questions"))


def test_files_can_be_named_and_must_exist(tmp_path):
    raw = write(tmp_path / "raw")
    with pytest.raises(DataError, match="the file is missing"):
        list(load(raw, tmp_path / "questions", settings=data_entry("hub", files={"AAD base": "aad.parquet"})))
    with pytest.raises(ConfigError, match="did you mean 'AAD base'"):
        list(load(raw, tmp_path / "questions", settings=data_entry("hub", files={"AAD bse": "x.tsv"})))


def test_the_check_of_sound_files(tmp_path):
    quantities, findings = check(write(tmp_path / "raw"), settings=data_entry("scenes"))
    found = {quantity.name: quantity.observed for quantity in quantities}
    assert findings == []
    assert found["unsolvable questions"] == 3
    assert (found["passes of AAD"], found["passes of IVQD"]) == (5, 6)
    assert found["rows of the option setting of IASD as the loader asks them"] == 6
    # The published files have 820 unsolvable questions of AAD.
    expected = {quantity.name: quantity.expected for quantity in check(tmp_path / "raw")[0]}
    assert expected["unsolvable questions of AAD"] == 820 and expected["unsolvable questions"] == 2095


def test_the_check_compares_the_option_files_with_what_is_asked(tmp_path):
    rotated, incomplete = rows("AAD", "option"), rows("IASD", "base")[:-1]
    rotated[0] |= {"A": "None of the above", "B": "sunny", "C": "rainy", "D": "windy"}
    rotated[3]["answer"] = "A"
    raw = write(
        tmp_path / "raw", {"AAD option": rotated, "IASD base": incomplete, "IVQD base": rows("IVQD", "base")[:3]}
    )
    _, findings = check(raw)
    codes = [(finding.code, finding.severity) for finding in findings]
    assert (
        codes.count(("option-row", "warning")) == 1 + 1 + 3
    )  # rotated; without a base row: one of IASD, three of IVQD
    assert ("option-answer", "warning") in codes
    assert ("passes", "warning") in codes  # an unsolvable question of IASD lacks a rotation
    assert ("pair", "warning") in codes  # a standard question of IVQD has no counterpart
