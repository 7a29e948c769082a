"""Every quirk of the released toolkit, and what a careful person reads instead."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns.records import Option, Question
from known_unknowns_benchmarks.actiview.parsing import (
    OFFICIAL,
    PARSERS,
    ROBUST,
    needs_more,
    official,
    parse_operation,
    parse_selection,
    parse_zoom,
)
from tests import paths
from tests.unit.benchmarks.actiview.perceiving import question

SHARED = paths.SHARED / "data/actiview"
ANNOTATED = pytest.mark.skipif(not SHARED.is_dir(), reason="the published annotations are not here")


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("B. Three", "B"),
        ("B. Three; they fly.", "B"),
        ("B.", "B"),
        ("C. None", "C"),
        ("three", "B"),  # the right option's text, whatever its case
        (" Three\n", "B"),
        ("None", None),  # the text of another option
        ("three.", None),  # a full stop after it
        ("(B)", None),
        ("B) Three", None),
        ("B: Three", None),
        ("B Three", None),
        (" B. Three", None),
        ("b. Three", None),
        ("**B**", None),
        ("B, because there are 3. Yes", None),  # all that stands before the first full stop must be the letter
        ("The answer is B.", None),
        ("Answer: B. Three", "B"),
        ("Let me see. Answer: B", "B"),
        ("Answer: A. Answer: B.", "A"),  # split at each, and the second piece counts
        ("Answer:\nthree", "B"),
        ("answer: B", None),
        ("H", "H"),  # a letter, but not on offer
        ("Z", "Z"),  # what a failure becomes
        ("I. x", None),
        ("", None),
        ("BC", None),
    ],
)
def test_the_released_rule_for_answers(text, letter):
    answer = official(text, question())
    assert answer.label == letter
    assert answer.choice == {"A": 0, "B": 1, "C": 2}.get(letter)
    assert answer.outcome == ("answered" if letter in ("A", "B", "C") else "unparsed")


@ANNOTATED
def test_the_released_results_give_their_own_accuracy_to_the_last_digit():
    rows = json.loads((SHARED / "data.json").read_text())["data"]
    released = json.loads((SHARED / "results/qwen2vl_shifting.json").read_text())
    right = 0
    for row, text in zip(rows, released["preds"], strict=True):
        options = tuple(Option(x, t, f"{x}. ") for x, t in zip("ABCDEFGH", row["options"], strict=False))
        asked = Question(row["id"], "actiview", row["question"], options, row["answer"], None, (), "", "")
        right += official(text, asked).choice == row["answer"]
    assert right == 200
    assert right / len(rows) == released["acc"] == 0.6153846153846154


OUT = ((), False)


@pytest.mark.parametrize(
    ("text", "released", "careful"),
    [
        ("1,3", ((1, 3), True), ((1, 3), True)),
        ("3,1,3", ((1, 3), True), ((1, 3), True)),  # sorted, each once
        ("1, 3", ((1,), True), ((1, 3), True)),  # a piece must begin with a digit
        ("1.3", ((1, 3), True), OUT),  # a full stop counts as a comma
        ("2.", ((2,), True), ((2,), True)),
        ("1 and 2", OUT, ((1, 2), True)),  # the toolkit stops
        ("1,7", OUT, ((1,), False)),  # the toolkit stops
        ("0", OUT, OUT),  # the toolkit shows the gridded image as the lower right one
        ("5", OUT, OUT),
        ("upperleft", ((1,), True), ((1,), True)),
        ("upper", ((2, 4), True), ((1, 3), True)),  # a key that stands there twice
        ("upper left", ((2, 4), True), ((1,), True)),  # only its first word is one
        ("left,upperright", ((1, 2, 3), True), ((1, 2, 3), True)),
        ("right", ((3, 4), True), ((3, 4), True)),
        ("lower", OUT, ((2, 4), True)),  # the toolkit stops
        ("Upperleft", OUT, ((1,), True)),
        ("Parts 1 and 4 are needed.", OUT, ((1, 4), True)),
        ("The answer is in [2, 3]", OUT, ((2, 3), True)),
        ("1-3", OUT, ((1, 2, 3), True)),
        ("All four parts", OUT, ((1, 2, 3, 4), True)),
        ("all parts except 2", OUT, ((1, 3, 4), True)),
        ("1 and 3, but not 4", OUT, ((1, 3), True)),
        ("There are 3 geese.\n\n2, 4", OUT, ((2, 4), True)),  # a line of numbers decides
        ("the top-left and bottom right parts", OUT, ((1, 4), True)),
        ("<think>1 or 2?</think>4", OUT, ((4,), True)),
        ("I need 2 parts: 1 and 3", OUT, ((1, 3), True)),
        ("none", OUT, OUT),
        ("", OUT, OUT),
        ("Z", OUT, OUT),
    ],
)
def test_zooming_selects(text, released, careful):
    for parser, expected in ((OFFICIAL, released), (ROBUST, careful)):
        choice = parse_selection(text, 4, parser)
        assert (choice.views, choice.valid) == expected, parser


@pytest.mark.parametrize(
    ("text", "released", "careful"),
    [
        ("no", False, False),
        ("No", False, False),
        ("NO", False, False),
        ("No.", True, False),  # only "no" stops
        (" no", True, False),
        ("No, I do not need more.", True, False),
        ("**No**", True, False),
        ("yes", True, True),
        ("Yes.", True, True),
        ("no more", True, False),
        ("I do not need any more visual information.", True, False),
        ("The views are sufficient.", True, False),
        ("The views are not sufficient.", True, True),
        ("I need more information.", True, True),
        ("insufficient", True, True),
        ("I can't tell.", True, True),
        ("<think>yes?</think>no", True, False),
        ("", True, True),
        ("Z", True, True),
    ],
)
def test_shifting_stops(text, released, careful):
    assert (needs_more(text, OFFICIAL), needs_more(text, ROBUST)) == (released, careful)


@pytest.mark.parametrize(
    ("text", "released", "careful"),
    [
        ('{"part": "1,3", "reason": "x"}', ((1, 3), True, False), ((1, 3), True, False)),
        ('{"part": "3, 1"}', ((3, 1), True, False), ((3, 1), True, False)),  # in the order named
        ('{"part": "none"}', ((), True, True), ((), True, True)),
        ('{"part": "None"}', ((), False, True), ((), True, True)),  # only the lower-case word is read
        ('```json\n{"part": "1"}\n```', ((), False, True), ((1,), True, False)),  # a fence does not parse
        ('Sure! {"part": "2"}', ((), False, True), ((2,), True, False)),
        ("{'part': '2'}", ((), False, True), ((2,), True, False)),
        ('{"part": 2}', ((), False, True), ((2,), True, False)),
        ('{"part": [2, 3]}', ((), False, True), ((2, 3), True, False)),
        ('{"part": "1 and 2"}', ((), False, True), ((1, 2), True, False)),
        ('{"part": "upper left"}', ((), False, True), ((1,), True, False)),
        ('{"part": "1,9"}', ((1,), False, False), ((1,), False, False)),
        ('{"part": "9"}', ((), False, False), ((), False, True)),  # released: nothing zoomed, but the operation asked
        ('{"part": "1,1"}', ((1,), False, False), ((1,), True, False)),  # released: shown twice
        ('{"part": "1", "reason": "{4} is {sky}"}', ((1,), True, False), ((1,), True, False)),
        ('{bad} {"Part": "4"} {"part": "1"}', ((), False, True), ((4,), True, False)),  # the first dictionary
        ("{'part': '3', 'reason': \"it's there\"}.", ((), False, True), ((3,), True, False)),
        ('{"parts": "1"}', ((), False, True), ((1,), True, False)),
        ("[]", ((), False, True), ((), True, True)),
        ("null", ((), False, True), ((), True, True)),
        ("1, 2", ((), False, True), ((1, 2), True, False)),
        ("Z", ((), False, True), ((), False, True)),
        ("", ((), False, True), ((), False, True)),
        ("\n", ((), False, True), ((), False, True)),
    ],
)
def test_mixed_zooms(text, released, careful):
    for parser, expected in ((OFFICIAL, released), (ROBUST, careful)):
        choice = parse_zoom(text, 4, parser)
        assert (choice.views, choice.valid, choice.answers) == expected, parser


@pytest.mark.parametrize(
    ("text", "released", "careful"),  # zoomed into 3 and 1
    [
        ('{"keep": "3,1", "shift": "none"}', ((3, 1), True), ((1, 3), True)),
        ('{"keep": "none", "shift": "4,2"}', ((4, 2), True), ((2, 4), True)),
        ('{"keep": "3", "shift": "2"}', ((2, 3), True), ((2, 3), True)),
        ('{"keep": "none", "shift": "none"}', ((), True), ((), True)),  # the view is dropped
        ('{"keep": "1,2", "shift": "none"}', ((1,), False), ((1,), True)),  # only what is there is kept,
        ('{"keep": "1", "shift": "3"}', ((1,), False), ((1,), True)),  # and shifted to what is not
        ('{"keep": "3,1", "shift": "9"}', ((1, 3), False), ((1, 3), False)),  # two lists: sorted
        ('{"keep": "1"}', ((3, 1), False), ((1,), True)),  # a field is missing: the views stay
        ('{"zoom_keep": "1", "shift": "none"}', ((3, 1), False), ((1,), True)),  # the paper's name of the field
        ('{"keep": [1], "shift": []}', ((3, 1), False), ((1,), True)),
        ('```json\n{"keep": "1", "shift": "none"}\n```', ((3, 1), False), ((1,), True)),
        ("keep 1", ((3, 1), False), ((3, 1), False)),
        ("Z", ((3, 1), False), ((3, 1), False)),
    ],
)
def test_mixed_keeps_and_shifts(text, released, careful):
    for parser, expected in ((OFFICIAL, released), (ROBUST, careful)):
        choice = parse_operation(text, (3, 1), 4, parser)
        assert (choice.views, choice.valid) == expected, parser


REPLIES = st.one_of(
    st.text(max_size=60),
    st.text("0123456789,. -{}[]\"':andpartkepshifuloweg\n", max_size=60),
    st.builds(
        lambda **fields: json.dumps(fields),
        part=st.one_of(st.text("0123456789, none", max_size=8), st.integers(), st.lists(st.integers()), st.none()),
        keep=st.one_of(st.text("0123456789, none", max_size=8), st.integers(), st.none()),
        shift=st.one_of(st.text("0123456789, none", max_size=8), st.integers(), st.none()),
    ),
)


@given(REPLIES, st.sampled_from([4, 6, 16]), st.lists(st.integers(1, 4), unique=True), st.sampled_from(PARSERS))
def test_any_reply_selects_existing_views_once(text, split, current, parser):
    needs_more(text, parser)
    official(text, question())
    for choice in (
        parse_selection(text, split, parser),
        parse_zoom(text, split, parser),
        parse_operation(text, current, split, parser),
    ):
        assert len(set(choice.views)) == len(choice.views)
        assert set(choice.views) <= set(range(1, split + 1))


@pytest.mark.parametrize(
    "text", ["1, " * 20_000, "{" * 40_000, '{"part": ' * 9_000, "9" * 60_000, "all " * 15_000, "not the part " * 5_000]
)
def test_long_replies_are_parsed_completely(text):  # a pattern that backtracks would take hours
    for parser in PARSERS:
        for choice in (
            parse_selection(text, 4, parser),
            parse_zoom(text, 4, parser),
            parse_operation(text, (1,), 4, parser),
        ):
            assert set(choice.views) <= {1, 2, 3, 4}
        assert needs_more(text, parser)
