"""Options that speak of other options or of places, and what variants make of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns import tables, variants
from known_unknowns.benchmark.checks import option_findings
from known_unknowns.benchmark.option_references import ALL_OTHERS, SOME_OTHERS, references
from known_unknowns.data.variant_tables import vary
from known_unknowns.errors import DataError
from known_unknowns.exchange.annotations import apply_variant
from known_unknowns.records import Option
from tests.factories import question, variant_entry

SHUFFLES = ("shuffled_options", "shuffled_all_options")
SOME = (
    *("Both A and B", "A and C", "A & B", "(A) and (B)", "both (A) and (C)", "A and B only", "A or B", "Either A or C"),
    *(
        "Both options A and B",
        "Options A and C",
        "Both option A and option B",
        "Both A and B are correct.",
        "A/C",
        "A+B",
    ),
    *("A, B and C", "A, B, and C", "only A and B", "Neither A nor C", "Not A or B", "Neither option A nor option B"),
    *("None of A, B", "All of A, B and C", "Only B", "B only", "Just C", "Not A", "Option B is correct", "Option B"),
    *("Same as option A", "the same as B", "More than B", "less than A", "Larger than B", "All except A", "All but B"),
    *("A but not B", "Options 1 and 2", "Ｂｏｔｈ Ａ ａｎｄ Ｂ", "The first option", "The last answer"),
    *("The first two", "Both of the first two", "The first two options", "The last two", "None of the first two"),
    *("First and second", "Both the first and second", "The first and the last option", "Neither of the first two"),
)
ALL = (
    *("None of the above", "none of the above.", "None of above", "None of the above are true.", "None of these"),
    *("Neither of the above", "None of the given options", "All of the above", "all of the above.", "All the above"),
    *("Any of the above", "Both of the above", "Two of the above", "More than one of the above", "One of the above"),
    *("All of the above are correct", "All of these", "Any of them", "Both", "The option above or another option"),
)
NOTHING = (
    *(
        "Red",
        "A is closer",
        "A cat and a dog",
        "Vitamin C",
        "Both hands on the table are visible",
        "Point A",
        "Group A",
    ),
    *("The first image", "The first one", "5", "I and II only", "Statements 1 and 2", "1 and 2", "E and F", "None"),
    *("It's above the stove", "It is below it", "All three dogs", "Only two dogs", "Both the man and the woman"),
    *("Sorry, I can't help with it", "Speed of response", "B vitamins", "A. Smith", "More than five", "Larger than it"),
)


def options_of(*texts: str) -> tuple[Option, ...]:
    return tuple(Option(label, text, f"{label}. ") for label, text in zip("ABCDEFGH", texts, strict=False))


@pytest.mark.parametrize("text", SOME)
def test_options_that_speak_of_labels_or_places(text):
    assert references(options_of("Red", "Blue", "Gold", text)) == {3: SOME_OTHERS}


@pytest.mark.parametrize("text", ALL)
def test_options_that_speak_of_all_others(text):
    assert references(options_of("Red", "Blue", "Gold", text)) == {3: ALL_OTHERS}


@pytest.mark.parametrize("text", NOTHING)
def test_options_that_speak_of_nothing_else(text):
    assert references(options_of("Red", "Blue", "Gold", text)) == {}


def test_letters_by_which_an_option_would_name_itself_stand_for_something_else():
    assert references(options_of("A and B", "A and C", "B and C", "None of the above")) == {3: ALL_OTHERS}
    assert references(options_of("A and B", "The last two", "B and C")) == {1: SOME_OTHERS}


@pytest.mark.parametrize("variant", [*SHUFFLES, "nota_only"])
@pytest.mark.parametrize("text", [*SOME, *ALL])
def test_variants_leave_a_question_out_whose_options_speak_of_others(variant, text):
    options = options_of("Red", "Blue", "Gold", text, "None of the above")
    for answer in range(5):
        asked = question(options=options, answer=answer, refusal=4)
        assert not variants.VARIANTS[variant].keeps_meaning(asked)


@pytest.mark.parametrize("variant", [*SHUFFLES, "nota_only"])
@pytest.mark.parametrize(("refusal", "kept"), [("None of the above", True), ("Not sure", True), ("Not A or B", False)])
def test_a_refusal_may_speak_of_all_others_but_not_of_some(variant, refusal, kept):
    asked = question(options=options_of("Red", "Blue", "Gold", refusal), answer=1, refusal=3)
    assert variants.VARIANTS[variant].keeps_meaning(asked) == kept


@given(st.integers(0, 4), st.integers(0, 5), st.integers(0, 4))
def test_a_refusal_that_speaks_of_others_has_the_same_options_above_it_after_a_shuffle(refusal, seed, answer):
    texts = ["Red", "Blue", "Gold", "Green"]
    texts.insert(refusal, "None of the above")
    asked = question(options=options_of(*texts), answer=answer, refusal=refusal)
    shuffled = variants.shuffled_options(asked, seed=seed)
    after = [option.text for option in shuffled.options]
    assert after[refusal] == "None of the above"
    assert set(after[:refusal]) == set(texts[:refusal])
    assert shuffled.refusal == refusal
    assert after[shuffled.answer] == texts[answer]


@pytest.mark.parametrize(
    ("text", "answer", "kept"),
    [
        ("Red and blue", 2, False),
        ("Both red and blue", 2, False),
        ("Red, blue", 2, False),
        ("Red and blue", 0, True),
        ("Red and gold", 2, True),
        ("Gold", 2, True),
    ],
)
def test_an_answer_that_joins_two_others_is_not_removed(text, answer, kept):
    """Without "Red and blue", "Red" would be half right."""
    asked = question(options=options_of("Red", "Blue", text, "None of the above"), answer=answer, refusal=3)
    assert variants.VARIANTS["nota_only"].keeps_meaning(asked) == kept
    assert variants.VARIANTS["shuffled_options"].keeps_meaning(asked)


@pytest.mark.parametrize("variant", ["nota_only", *SHUFFLES])
def test_the_number_of_questions_that_are_left_out_is_shown(variant, tmp_path, capsys):
    clear = question("1", answer=1)
    unclear = question("2", options=options_of("Red", "Blue", "A but not B", "None of the above"), answer=1, refusal=3)
    tables.write_questions(tmp_path / "q.parquet", [clear, unclear])
    vary(variant_entry(variant), tmp_path / "q.parquet", tmp_path / "v.parquet", seeds=[0, 1])
    assert capsys.readouterr().err == f"1 of 2 questions are left out: {variants.UNCLEAR}\n"
    assert [q.id for q in tables.read_questions(tables.Part(tmp_path / "v.parquet", 1))] == ["1"]
    assert [q.id for q in apply_variant([clear, unclear], variant_entry(variant), seed=0, path=tmp_path)] == ["1"]
    tables.write_questions(tmp_path / "q.parquet", [unclear])
    with pytest.raises(DataError, match="every question is left out: an option speaks of others"):
        vary(variant_entry(variant), tmp_path / "q.parquet", tmp_path / "v.parquet", seeds=[0])


def test_a_check_lists_them():
    options = options_of("Red", "Blue", "Both A and B", "None of the above")
    (finding,) = option_findings(options, expected=None, refusal=3, where="row 3")
    assert (finding.severity, finding.code, finding.where) == ("note", "option-reference", "row 3")
    assert finding.text.startswith("option C reads 'Both A and B', which speaks of other options or of places;")
    without = option_findings(options[:2] + options[3:], expected=None, refusal=2, where="row 3")
    assert "option-reference" not in {finding.code for finding in without}
