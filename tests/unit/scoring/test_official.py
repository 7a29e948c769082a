"""HumbleBench's released rule with its defects. tests/peers compares it with the released package."""

from __future__ import annotations

import pytest

from known_unknowns import variants
from known_unknowns.benchmark.parsed_answer import ParsedAnswer
from known_unknowns.records import ANSWERED, REFUSED, UNPARSED, AnsweredTurn, Reply
from known_unknowns.scoring import official
from known_unknowns_benchmarks.humblebench import official as humblebench_official
from tests.factories import question


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", ParsedAnswer(ANSWERED, "A", 0)),
        (" e.", ParsedAnswer(REFUSED, "E", 4)),
        ("E. None of the above", ParsedAnswer(REFUSED, "E", 4)),
        ("**B**", ParsedAnswer(ANSWERED, "B", 1)),
        ("A car", ParsedAnswer(ANSWERED, "A", 0)),  # the article
        ("it is a car", ParsedAnswer(ANSWERED, "A", 0)),
        ("E, a car", ParsedAnswer(UNPARSED)),
        ("None of the above", ParsedAnswer(UNPARSED)),
        ("Red", ParsedAnswer(UNPARSED)),
        ("A or B", ParsedAnswer(UNPARSED)),
        ("A A a", ParsedAnswer(ANSWERED, "A", 0)),
        ("_E_", ParsedAnswer(UNPARSED)),  # an underscore belongs to the word
        ("<think>b</think>", ParsedAnswer(ANSWERED, "B", 1)),
        ("F", ParsedAnswer(UNPARSED)),
        ("", ParsedAnswer(UNPARSED)),
    ],
)
def test_released_rule(text, expected):
    asked = AnsweredTurn("1", 0, "answer", "", (), tuple("ABCDE"), "k", Reply(text))
    assert official(asked, question()) == expected


def test_removed_label_is_kept():
    assert humblebench_official.official("A", variants.nota_only(question(answer=0))) == ParsedAnswer(UNPARSED, "A")


def test_relettered_options_have_their_new_labels():
    relettered = variants.nota_only(question(answer=0), relettered=True)
    assert humblebench_official.official("D", relettered) == ParsedAnswer(REFUSED, "D", 3)
    assert humblebench_official.official("E", relettered) == ParsedAnswer(UNPARSED, "E")


@pytest.mark.parametrize(("text", "exact"), [("E", True), ("e", False), ("E.", False), (" E", False), ("", False)])
def test_exact_refusal(text, exact):
    assert humblebench_official.exact_refusal(text, question()) is exact


def test_exact_refusal_uses_the_offered_label():
    assert humblebench_official.exact_refusal("D", variants.nota_only(question(answer=0), relettered=True))


def test_labels_of_the_released_code():
    published = question(answer=1)
    assert humblebench_official.released_label(published) == "B"
    assert humblebench_official.released_label(variants.nota_only(published)) == "E"
    for unseen in (variants.noise, variants.gaussian, variants.blank):
        assert humblebench_official.released_label(unseen(published)) == "B"
