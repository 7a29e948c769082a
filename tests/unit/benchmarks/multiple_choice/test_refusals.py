"""Which options are refusals, with the phrasings of real data sets, and the note that says so."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from known_unknowns import variants
from known_unknowns.records import ANSWERED, REFUSED, UNPARSED
from known_unknowns_benchmarks.multiple_choice.options import labelled
from known_unknowns_benchmarks.multiple_choice.refusals import find_refusal, is_standard_refusal
from tests.unit.benchmarks.multiple_choice.own_files import BASE64, BENCHMARK, load, own_folder, row, write_csv

REFUSALS = re.split(
    r";\s*",
    """\
None of the above; none of the above.; None of the other options; None of these; None of them;
Neither of the above; None of the given options; None of the options are correct; No correct answer;
There is no correct option; N/O/T/A; NOTA; I don't know; I don’t know.; I do not know the answer;
Sorry, I can't help with it; I cannot tell; Not sure; Cannot be determined;
Can't be determined from the image; It cannot be determined; The answer cannot be determined;
Cannot tell; Impossible to say; Unanswerable; Not enough information; Insufficient information;
Keine der genannten; Keine der oben genannten Antworten; Ich weiß nicht; Ninguna de las anteriores;
Aucune de ces réponses; Je ne sais pas; 以上都不是; 无法确定; 不知道; わからない""",
)
ANSWERS = re.split(
    r";\s*",
    """\
None; Nothing; Unknown; No; Above the stove; None of the people is smiling; One of the above;
All of the above; Both of them; A sign that reads "I don't know"; Not a dog; Notary; The answer;
The dog cannot be seen by the man; It is not sure-footed; Nota bene""",
)


def test_standard_phrasings_are_refusals_and_answers_are_not():
    assert len(REFUSALS) == 37 and [text for text in REFUSALS if not is_standard_refusal(text)] == []
    assert [text for text in ANSWERS if is_standard_refusal(text)] == []


def test_a_named_refusal_replaces_the_phrasings(tmp_path):
    folder = own_folder(tmp_path / "own", [row(0, A="Something else."), row(1)])
    named = load(folder, tmp_path / "out", refusal="something else")
    assert [question.refusal for question in named] == [0, None]
    assert [question.refusal for question in load(folder, tmp_path / "out", refusal=None)] == [None, None]
    both = load(folder, tmp_path / "out", refusal=["nothing of it", "NONE OF THE ABOVE"])
    assert [question.refusal for question in both] == [3, 3]


def test_the_rows_of_recognised_refusals_are_stated(tmp_path):
    rows = [row(n) for n in range(3)] + [row(3, D="Yellow")] + [row(4, A="Not sure", D="Black")]
    contents = BENCHMARK.contents(own_folder(tmp_path / "own", rows), settings=None)
    assert contents.with_refusal == 4
    assert contents.notes == (
        "4 of 5 questions have a refusal option, recognised by its phrasing: "
        "'None of the above' in 3 (rows 2-4), 'Not sure' in 1 (row 6)",
        "id: id, category: none, hint: none, question: question, options: A to D, answer: answer, image: image; "
        "the answers are read as letter",
    )


def test_the_strict_parser(tmp_path):
    official = BENCHMARK.official
    (question,) = load(own_folder(tmp_path / "own", [row(0)]), tmp_path / "out")
    expected = {
        "B": (ANSWERED, "B"),
        "(B)": (ANSWERED, "B"),
        "B. Green": (ANSWERED, "B"),
        "D": (REFUSED, "D"),
        "none of the above.": (REFUSED, "D"),
        "The answer is B": (UNPARSED, None),
        "A car": (UNPARSED, None),
        "": (UNPARSED, None),
    }
    found = {text: official(text, question) for text in expected}
    assert {text: (answer.outcome, answer.label) for text, answer in found.items()} == expected


@given(st.lists(st.text(max_size=60), min_size=1, max_size=30))
def test_no_text_of_an_option_is_too_strange(texts):
    """Any text is either an option with its label in order, or an error of its own."""
    if len(texts) > 26:
        with pytest.raises(ValueError, match="2 to 26"):
            labelled(texts, None)
        return
    options = labelled(texts, None)
    assert [option.label for option in options] == list("ABCDEFGHIJKLMNOPQRSTUVWXYZ")[: len(texts)]
    assert all(text.endswith(option.text) for text, option in zip(texts, options, strict=True))
    found = sum(map(is_standard_refusal, texts))
    if found < 2:
        assert (find_refusal(texts, None) is not None) == (found == 1)


def _is_the_answer(text: str) -> bool:
    """Whether a text is the answer's letter, which is an error: the answer could be either option."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text))).casefold() == "b"


@settings(max_examples=25)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40),
        min_size=4,
        max_size=4,
        unique_by=lambda text: text.strip().casefold(),
    ).filter(lambda texts: all(text.strip() and not _is_the_answer(text) for text in texts))
)
def test_a_hostile_option_text_survives_a_csv_file(tmp_path_factory, texts):
    """Quotes, newlines, formulas and markup are text; the variants apply to them."""
    folder = tmp_path_factory.mktemp("own")
    write_csv(folder / "q.csv", [row(0, image=BASE64[0], A=texts[0], B=texts[1], C=texts[2], D="=1+1")])
    (question,) = load(folder, folder / "out", refusal=None)
    assert [option.text for option in question.options] == [*(text.strip() for text in texts[:3]), "=1+1"]
    shuffled = variants.shuffled_options(question, seed=1)
    assert shuffled.options[shuffled.answer].text == question.options[1].text
