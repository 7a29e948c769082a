"""JSON of others: what Python's reader takes without a word, or fails at without a place, is an error."""

from __future__ import annotations

import json

import pytest

from known_unknowns.benchmark.loading import json_rows, read_json
from known_unknowns.errors import DataError
from known_unknowns.exchange.rows import parse_table
from known_unknowns.json_files import parse_json

ERRORS = {
    "a key twice": ('{"answer": "A", "answer": "B"}', "the key 'answer' is given twice; remove one of them"),
    "a key twice inside": ('{"a": [{"b": 1, "c": 2, "b": 1}]}', "the key 'b' is given twice"),
    "an integer without end": ('{"id": ' + "9" * 4301 + "}", "an integer has too many digits"),
    "deep lists": ('{"a": ' + "[" * 100_000, "nested too deep"),
    "deep objects": ('{"a":' * 100_000, "nested too deep"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_each_reader_names_the_error(name, tmp_path):
    text, message = ERRORS[name]
    with pytest.raises(ValueError, match=message):
        parse_json(text)
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"answer": "A"}\n' + text + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        list(json_rows(lines))
    with pytest.raises(DataError, match=rf"a\.jsonl, line 2: not JSON: {message}"):
        parse_table(lines)
    whole = tmp_path / "a.json"
    whole.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_json(whole)
    whole.write_text(f"[{text}]", encoding="utf-8")
    with pytest.raises(DataError, match=rf"a\.json: not JSON: {message}"):
        parse_table(whole)


@pytest.mark.parametrize("text", ['{"a": [1, {"a": 2}], "b": null}', "[]", '"x"', "1" * 4300])
def test_sound_json_is_read_as_by_python(text):
    assert parse_json(text) == json.loads(text)
