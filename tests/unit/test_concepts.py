"""docs/concepts.md has one row for each word."""

from __future__ import annotations

import re
from collections import Counter

from known_unknowns.records import OUTCOMES
from known_unknowns.scoring import PARSERS
from tests import pages

ROWS = dict(re.findall(r"^\| ([^|]+) \| (.+) \|$", pages.text("docs/concepts.md"), re.MULTILINE))
ROWS.pop("word")
WORDS = [word for first in ROWS for word in first.split(", ")]
KEYS = ("edition", "limit", "benchmark", "variant", "seed", "sample", "protocol", "model", "engine", "parser")


def test_a_word_has_one_row():
    assert not [word for word, count in Counter(WORDS).items() if count > 1]


def test_the_keys_the_outcomes_and_the_parsers_are_explained():
    assert not set(KEYS) - set(WORDS)
    assert not [outcome for outcome in OUTCOMES if outcome not in ROWS["outcome"]]
    assert not [parser for parser in PARSERS if f"`{parser}`" not in ROWS["parser"]]
