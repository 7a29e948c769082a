"""Entries are added to params.yaml as text: comments and layout stay, and nothing else changes."""

from __future__ import annotations

import pytest
import yaml

from known_unknowns.config.params_file import add_model, add_to_edition
from known_unknowns.errors import ConfigError
from tests.paths import ROOT

TEXT = """\
# The header.
editions:
  mine: {models: [a, "b"], seeds: [0]} # a comment
  other:
    models:
      - a
      - b # the last
      # about b
    seeds: [0]

models: # all of them
  a: {engine: respondent}
  b:
    engine: openai
    system: |
      Be brief.

      Be kind.
    # about b

# about the parsers
parsers: [official]
"""
ENTRY = {"engine": "transformers", "source": "x", "revision": "0" * 40, "card": {"parameters": 0.5}}


def test_an_entry_is_added_above_the_first_one():
    changed = add_model(TEXT, "c", ENTRY, comment="small")
    added = f"""\
  c: # small
    engine: transformers
    source: x
    revision: '{"0" * 40}'
    card:
      parameters: 0.5
"""
    before = "models: # all of them\n"
    assert changed == TEXT.replace(before, before + added)


def test_a_name_is_added_to_a_list_of_either_style():
    assert add_to_edition(TEXT, "mine", "c") == TEXT.replace('[a, "b"]', '[a, "b", c]')
    expected = TEXT.replace("      - b # the last\n", "      - b # the last\n      - c\n")
    assert add_to_edition(TEXT, "other", "c") == expected


@pytest.mark.parametrize("text", [TEXT.replace("\n", "\r\n"), TEXT.rstrip("\n")], ids=["CRLF", "no last newline"])
def test_other_line_ends(text):
    changed = add_to_edition(add_model(text, "c", ENTRY), "mine", "c")
    assert yaml.safe_load(changed)["models"]["c"] == ENTRY
    assert ("\r\n" in text) == ("\r\n" in changed) and changed.count("\n") == text.rstrip().count("\n") + 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT, "models.b: there is an entry of this name"),
        ("models: {a: {engine: respondent}}\n", "models is not written as a block; add by hand"),
        ("- a\n", "must be a mapping"),
        ("models: [\n", "not valid YAML"),
    ],
)
def test_what_cannot_be_edited(text, message):
    with pytest.raises(ConfigError, match=message):
        add_model(text, "b", ENTRY)


def test_an_unknown_edition():
    with pytest.raises(ConfigError, match="did you mean 'mine'"):
        add_to_edition(TEXT, "mine2", "c")


@pytest.mark.parametrize("text", ["#", "a: 'b"])
def test_any_text_in_an_entry_of_the_real_file(text):
    """The shipped params.yaml keeps every line but one, which has another name at its end."""
    real = (ROOT / "params.yaml").read_text(encoding="utf-8")
    changed = add_to_edition(add_model(real, "own", ENTRY | {"source": text}), "mine", "own")
    assert yaml.safe_load(changed)["models"]["own"] == ENTRY | {"source": text}
    kept, lines = [line.replace(", own]", "]") for line in changed.splitlines()], real.splitlines()
    start = kept.index("  own:")
    assert kept[:start] + kept[start + 6 :] == lines
