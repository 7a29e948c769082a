"""Files of the configuration are merged, and a key of a text takes a value as it is written."""

from __future__ import annotations

import pytest

from known_unknowns import config
from known_unknowns.errors import ConfigError
from known_unknowns.workflow import configuration
from tests.paths import ROOT

PARAMS = ROOT / "params.yaml"
MINE = "benchmarks: {multiple_choice: {data: {mine: {%s}}}}"


def mine(tmp_path, text, **arguments):
    """Read params.yaml and a file with keys of the user's data over it, and return these data."""
    (tmp_path / "more.yaml").write_text(MINE % text, encoding="utf-8")
    raw = config.read(PARAMS, tmp_path / "more.yaml", **arguments)
    configuration.check(raw)
    return raw["benchmarks"]["multiple_choice"]["data"]["mine"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("options: [Yes, No]", ["Yes", "No"]),
        ("options: [true, False, off]", ["true", "False", "off"]),
        ("options: [1.10, 2.0, 007, 1e3, 0x1F, 1_000, 12:30]", ["1.10", "2.0", "007", "1e3", "0x1F", "1_000", "12:30"]),
        ("options: [2025-01-02, 2025-01-02 03:04:05, .inf]", ["2025-01-02", "2025-01-02 03:04:05", ".inf"]),
        ("refusal: No", "No"),
        ("refusal: [No, 0]", ["No", "0"]),
        ("only: {human: yes, split: [1, 02]}", {"human": "yes", "split": ["1", "02"]}),
        ("fields: {answer: on, options: [1, 2]}", {"answer": "on", "options": ["1", "2"]}),
        ("images: 2017", "2017"),
        ("files: [2024.10]", ["2024.10"]),
    ],
)
def test_a_key_of_a_text_takes_a_value_as_it_is_written(tmp_path, text, value):
    assert mine(tmp_path, text)[text.partition(":")[0]] == value


def test_other_keys_take_booleans_numbers_and_null(tmp_path):
    found = mine(tmp_path, "without_image: yes, refusal: null, fields: {question: null}")
    assert found["without_image"] is True and found["refusal"] is None and found["fields"] == {"question": None}
    with pytest.raises(ConfigError, match=r"mine\.without_image"):
        mine(tmp_path, "without_image: 1")
    with pytest.raises(ConfigError, match=r"mine\.options\[1\]"):
        mine(tmp_path, "options: [Yes, null]")
    with pytest.raises(ConfigError, match=r"mine\.path"):
        mine(tmp_path, "path: {a: 1}")


def test_keys_are_texts(tmp_path):
    (tmp_path / "more.yaml").write_text(
        "editions:\n"
        "  2025: {data: pocket, benchmarks: [humblebench], models: [on, oracle], seeds: [0]}\n"
        "models:\n  on: {engine: respondent, behaviour: always_a}\n",
        encoding="utf-8",
    )
    params = configuration.check(config.read(PARAMS, tmp_path / "more.yaml", edition="2025"))
    assert params.edition == "2025" and params.models == ["on", "oracle"]


def test_files_and_the_command_line_are_merged_by_their_keys(tmp_path):
    (tmp_path / "more.yaml").write_text("editions: {pocket: {seeds: [1], limit: 5}}", encoding="utf-8")
    (tmp_path / "last.yaml").write_text("editions: {pocket: {limit: 6}}", encoding="utf-8")
    given = {"edition": "pocket", "editions": {"pocket": {"seeds": ["2", "3"]}}}
    read = config.read(PARAMS, tmp_path / "more.yaml", tmp_path / "last.yaml", command_line=given)
    before, after = config.read(PARAMS)["editions"], read["editions"]
    assert after["pocket"] == before["pocket"] | {"seeds": [2, 3], "limit": 6}
    assert {name: entry for name, entry in after.items() if name != "pocket"} == {
        name: entry for name, entry in before.items() if name != "pocket"
    }


@pytest.mark.parametrize("text", ["0123", "1e6", "true"])
def test_a_text_of_the_command_line_is_taken_as_it_is_written(tmp_path, text):
    given = {"benchmarks": {"multiple_choice": {"data": {"mine": {"refusal": text, "options": [text, "x"]}}}}}
    found = mine(tmp_path, "options: [a, b]", command_line=given)
    assert found["refusal"] == text and found["options"] == [text, "x"]


def test_a_commit_of_digits_is_a_text(tmp_path):
    (tmp_path / "more.yaml").write_text(
        "benchmarks: {humblebench: {data: {released: {revision: 1234567, further_revisions: [12345e7]}}}}"
    )
    raw = config.read(PARAMS, tmp_path / "more.yaml")
    found = configuration.check(raw).file.plain()["benchmarks"]["humblebench"]["data"]["released"]
    assert (found["revision"], found["further_revisions"]) == ("1234567", ["12345e7"])


def test_a_model_of_the_catalogue_can_have_texts_of_the_file(tmp_path):
    (tmp_path / "more.yaml").write_text("models: {qwen2.5-vl-7b: {source: 2025}}")
    assert configuration.check(config.read(PARAMS, tmp_path / "more.yaml")).model("qwen2.5-vl-7b").source == "2025"


def test_a_mistake_names_its_file(tmp_path):
    (tmp_path / "more.yaml").write_text("edition: a\nedition: b\n")
    with pytest.raises(ConfigError, match=r"more\.yaml is not valid YAML: the key 'edition' is given twice \(line 2"):
        config.read(PARAMS, tmp_path / "more.yaml")
    with pytest.raises(ConfigError, match=r"no such file: .*none\.yaml"):
        config.read(PARAMS, tmp_path / "none.yaml")
    (tmp_path / "more.yaml").write_text("- a\n")
    with pytest.raises(ConfigError, match=r"more\.yaml must be a mapping"):
        config.read(tmp_path / "more.yaml")
