# ruff: noqa: E501 (a phrase is as long as it is)
"""Options that speak of other options: what they mean, and what variants make of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns import tables, variants
from known_unknowns.benchmark.checks import option_findings
from known_unknowns.benchmark.option_references import references
from known_unknowns.data.questions import vary
from known_unknowns.errors import DataError
from known_unknowns.exchange.annotations import apply_variant
from known_unknowns.records import Option, Question
from tests.factories import question, variant_entry

TWO = (
    *("Both {} and {}", "{} and {}", "{} & {}", "({}) and ({})", "both ({}) and ({})", "{} and {} only", "{} or {}", "Either {} or {}", "Both options {} and {}"),
    *("Options {} and {}", "Both option {} and option {}", "{} and {} are correct", "Both {} and {} are correct.", "{}/{}", "only {} and {}", "Ｂｏｔｈ {} ａｎｄ {}"),
    *("{}和{}", "{}和{}都对", "{}と{}", "{}와 {}", "{} y {}", "{} und {}", "Sowohl {} als auch {}", "{} et {}", "{} e {}", "Tanto {} como {}", "{} и {}", "Оба {} и {}"),
)  # fmt: skip
NOT_TWO = (
    "Neither {} nor {}",
    "Not {} or {}",
    "Neither option {} nor option {}",
    "Weder {} noch {}",
    "Ni {} ni {}",
    "Ни {}, ни {}",
    "None of {}, {}",
)
ONE = ("Only {}", "{} only", "Same as option {}", "Just {}", "仅{}", "Nur {}", "Solo {}")
FIRST_TWO = (
    *("The first two", "Both of the first two", "The first two options", "First and second", "Both the first and second", "前两个", "前两项"),
    *("Die ersten beiden", "Las dos primeras", "Les deux premières", "Le prime due", "As duas primeiras", "Первые два", "最初の二つ"),
)  # fmt: skip
NOT_FIRST_TWO = ("Neither of the first two", "None of the first two", "Keine der ersten beiden")
ALL = (
    *("All of the above", "all of the above.", "All the above", "Any of the above", "Both of the above", "Two of the above", "More than one of the above", "One of the above"),
    *("All of the above are correct", "Todas las anteriores", "Alle oben genannten", "Toutes les réponses ci-dessus", "Tutte le precedenti", "Все вышеперечисленные", "以上都对", "以上皆是", "上記のすべて", "위의 모두"),
)  # fmt: skip
NOT_ALL = (
    *("None of the above", "None of the above are true.", "Ninguna de las anteriores", "Keine der oben genannten", "Aucune des réponses ci-dessus", "Nessuna delle precedenti", "以上都不对", "上記のいずれでもない"),
)  # fmt: skip
UNREADABLE = (
    "All except A",
    "A but not B",
    "The first and the last option",
    "The option above or another option",
    "The last two",
)
"""Texts that say nothing of the sort, or not of a set."""


def options_of(*texts: str) -> tuple[Option, ...]:
    return tuple(Option(label, text, f"{label}. ") for label, text in zip("ABCDEFGH", texts, strict=False))


@pytest.mark.parametrize("text", [text.format("A", "C") for text in (*TWO, *NOT_TWO)])
def test_two_options_by_their_labels(text):
    assert references(options_of("Red", "Blue", "Gold", text))[3].places == {0, 2}


@pytest.mark.parametrize("text", [text.format("B") for text in ONE])
def test_one_option_by_its_label(text):
    assert references(options_of("Red", "Blue", "Gold", text))[3].places == {1}


@pytest.mark.parametrize("text", [*FIRST_TWO, *NOT_FIRST_TWO])
def test_the_first_options(text):
    assert references(options_of("Red", "Blue", "Gold", text))[3].places == {0, 1}


@pytest.mark.parametrize(
    "text", [*ALL, *NOT_ALL, "Both", "All of these", "Any of them", "None of these", "Beide", "Ambas", "都是", "둘 다"]
)
def test_all_other_options(text):
    assert references(options_of("Red", "Blue", "Gold", text))[3].places == {0, 1, 2}


@pytest.mark.parametrize("text", [*ALL, *NOT_ALL])
def test_options_above(text):
    assert references(options_of("Red", "Blue", text, "Gold"))[2].places == {0, 1}


@pytest.mark.parametrize("text", UNREADABLE)
def test_options_that_speak_of_others_without_saying_which(text):
    assert references(options_of("Red", "Blue", "Gold", text))[3].places is None


@pytest.mark.parametrize(
    "text",
    [
        *("Red", "A is closer", "A cat and a dog", "Vitamin C", "Both hands on the table are visible", "Point A", "The first image", "The first one", "5", "Not wrong, Wrong"),
        *("Group A", "I and II only", "Statements 1 and 2", "1 and 2", "E and F", "It's above the stove", "It is below it", "None", "All three dogs", "Only two dogs"),
        *("Sorry, I can't help with it", "todos los perros", "Both the man and the woman", "Speed of response", "B vitamins", "Option B", "A. Smith"),
    ],
)  # fmt: skip
def test_options_that_speak_of_nothing_else(text):
    assert references(options_of("Red", "Blue", "Gold", text)) == {}


class Meaning:
    """A question whose options are contents, and references to these that were made from a template."""

    def __init__(self, question: Question, spoken: dict[str, frozenset[str]], denies: frozenset[str]) -> None:
        self.question, self.spoken, self.denies = question, spoken, denies

    def holds(self, text: str, right: frozenset[str]) -> bool:
        """Whether a reference, as published, is true of the contents; "or" and "all" count as if any made it true."""
        named = self.spoken[text]
        return not named & right if text in self.denies else bool(named & right)


@st.composite
def meanings(draw) -> Meaning:
    """A question with one or two references after three to five contents, of which one is the answer."""
    contents = ["Red", "Blue", "Gold", "Green", "Black"][: draw(st.integers(3, 5))]
    spoken: dict[str, frozenset[str]] = {}
    denies = set()
    for _ in range(draw(st.integers(1, 2))):
        table = draw(st.sampled_from([TWO, NOT_TWO, ONE, FIRST_TWO, NOT_FIRST_TWO, ALL, NOT_ALL]))
        first, second = draw(st.permutations(range(len(contents))))[:2]
        text = draw(st.sampled_from(table)).format("ABCDE"[first], "ABCDE"[second])
        by_label = {TWO: [first, second], NOT_TWO: [first, second], ONE: [first]}
        by_place = {FIRST_TWO: contents[:2], NOT_FIRST_TWO: contents[:2]}
        named = [contents[place] for place in by_label.get(table, ())] or by_place.get(table, [*contents, *spoken])
        if text not in spoken:
            spoken[text] = frozenset(named)
            denies |= {text} if table in (NOT_TWO, NOT_FIRST_TWO, NOT_ALL) else set()
    texts = [*contents, *spoken, *(["I cannot tell"] if draw(st.booleans()) else [])]
    refusal = len(texts) - 1
    answer = draw(st.integers(0, refusal))
    return Meaning(
        question(options=options_of(*texts), answer=answer, refusal=refusal, extra={}), spoken, frozenset(denies)
    )


def spoken_of(options: Sequence[Option]) -> dict[str, frozenset[str]]:
    found = {}
    for place, reference in references(options).items():
        assert reference.places is not None
        found[options[place].text] = frozenset(options[other].text for other in reference.places)
    return found


@given(meanings(), st.integers(0, 5))
def test_every_option_means_the_same_contents_after_a_shuffle(made, seed):
    assert spoken_of(made.question.options) == made.spoken
    shuffled = variants.shuffled_options(made.question, seed=seed)
    assert spoken_of(shuffled.options) == made.spoken
    for text in made.spoken:
        assert [o.text for o in shuffled.options].index(text) == [o.text for o in made.question.options].index(text)
    assert shuffled.options[shuffled.answer].text == made.question.options[made.question.answer].text


@given(meanings())
def test_nota_only_leaves_no_other_right_option(made):
    asked = made.question
    if variants.VARIANTS["nota_only"].keeps_meaning(asked) and asked.answer != asked.refusal:
        changed = variants.nota_only(asked)
        right = frozenset({asked.options[asked.answer].text})
        others = [option.text for place, option in enumerate(changed.options) if place != changed.refusal]
        assert not any(text in right or (text in made.spoken and made.holds(text, right)) for text in others)
        assert (
            changed.options[changed.refusal].text not in made.spoken
            or right <= made.spoken[changed.options[changed.refusal].text]
        )


@pytest.mark.parametrize(
    "text", [*(text.format("A", "B") for text in (*TWO, *NOT_TWO, *ONE)), *FIRST_TWO, *ALL, *UNREADABLE]
)
def test_nota_only_leaves_a_question_out(text):
    for answer in range(3):
        asked = question(options=options_of("Red", "Blue", text, "None of the above"), answer=answer, refusal=3)
        assert not variants.VARIANTS["nota_only"].keeps_meaning(asked)


@pytest.mark.parametrize(
    ("text", "answer", "kept"),
    [
        *(
            ("Red and blue", 2, False),
            ("Both red and blue", 2, False),
            ("Red, blue", 2, False),
            ("Rot und blau", 2, True),
        ),
        *(("Red and blue", 0, True), ("Red and gold", 2, True), ("Gold", 2, True)),
    ],
)
def test_an_answer_that_joins_two_others_is_not_removed(text, answer, kept):
    """Without "Red and blue", "Red" would be half right."""
    asked = question(options=options_of("Red", "Blue", text, "None of the above"), answer=answer, refusal=3)
    assert variants.VARIANTS["nota_only"].keeps_meaning(asked) == kept
    assert variants.VARIANTS["shuffled_options"].keeps_meaning(asked)


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_shuffle_leaves_a_question_out_whose_options_cannot_be_read(text):
    asked = question(options=options_of("Red", "Blue", "Gold", text), answer=0, refusal=None)
    assert not variants.VARIANTS["shuffled_options"].keeps_meaning(asked)
    assert variants.shuffled_options(asked, seed=1).options == asked.options


@pytest.mark.parametrize("variant", ["nota_only", "shuffled_options", "shuffled_all_options"])
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
    found = list(
        option_findings(options_of("Red", "Blue", "Both A and B", "None of the above"), expected=None, where="row 3")
    )
    (finding,) = [each for each in found if each.code == "option-reference"]
    assert (finding.severity, finding.where) == ("note", "row 3")
    assert finding.text.startswith("option C reads 'Both A and B', which speaks of A, B;")
