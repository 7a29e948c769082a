"""Citations are read from BibTeX files as authors write them."""

from __future__ import annotations

import pytest

from known_unknowns.benchmark.citation import read_citation
from known_unknowns.errors import ConfigError

PREPRINT = """@misc{bee2024roses,
  title = {On {Roses}},
  author = {Ann Bee and Dee, Cy and
    Núria El Eff},
  year = 2024,
  eprint = {2401.00001},
  archivePrefix = {arXiv},
}
"""


def read(folder, text):
    (folder / "citation.bib").write_text(text, encoding="utf-8")
    return read_citation(folder / "citation.bib")


def test_a_preprint(tmp_path):
    citation = read(tmp_path, PREPRINT)
    assert citation.bibtex == PREPRINT
    assert citation.authors == ("Ann Bee", "Cy Dee", "Núria El Eff")
    assert citation.text == "Ann Bee, Cy Dee and Núria El Eff. On Roses. arXiv:2401.00001, 2024."


def test_a_conference_paper_in_quotes_without_a_last_comma(tmp_path):
    citation = read(
        tmp_path, '@InProceedings{x,\n Title = "The {T} of A, B",\n author="Ann Bee", booktitle={XYZ}, year="2023" }'
    )
    assert citation.text == "Ann Bee. The T of A, B. XYZ, 2023."
    assert citation.arxiv == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = {T}", "not one BibTeX entry"),
        ("@misc{x, title = {T}, author = {A},}", "has no year"),
        ("@misc{x, year = 2024,}", "has no title and no author"),
        ("@misc{x,\n title = {T,\n year = 2024,\n}", "not one BibTeX entry"),
        ("@misc{x,\n title = jan # T,\n}", "not one BibTeX entry"),
        (PREPRINT + PREPRINT, "not one BibTeX entry"),
        (PREPRINT.replace("Núria", "N{\\'u}ria"), "LaTeX commands are not supported"),
    ],
)
def test_an_invalid_file_is_refused_by_name(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message) as error:
        read(tmp_path, text)
    assert str(tmp_path / "citation.bib") in str(error.value)
