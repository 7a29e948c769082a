"""Licence files: what they may hold, and what their absence means."""

from __future__ import annotations

import pytest

from known_unknowns.data.terms import read_terms
from known_unknowns.errors import ConfigError

PAPER = "@misc{x, title={T}, author={Ann Bee}, year=2024}"
SOUND = "licence: CC BY 4.0\nredistribute: true\nwhy: it says so\nparts: {sounds: not granted}\n"


def test_a_licence_file(tmp_path):
    (tmp_path / "licence.yaml").write_text(SOUND)
    terms = read_terms(tmp_path, "Roses")
    assert terms.as_dict() == {
        "title": "Roses",
        "licence": "CC BY 4.0",
        "parts": {"sounds": "not granted"},
        "redistribute": True,
        "why": "it says so",
    }
    assert terms.as_text() == (
        "# Roses\n\n- Licence: CC BY 4.0\n- Licence of the sounds: not granted\n"
        "- May be redistributed: yes: it says so\n"
    )


def test_without_a_licence_file_nothing_may_be_redistributed(tmp_path):
    (tmp_path / "citation.bib").write_text(PAPER)
    terms = read_terms(tmp_path, "roses")
    assert not terms.redistribute and terms.title == "roses"
    assert terms.why == "its licence is unknown: add licence.yaml to the folder of roses"
    assert terms.as_text().endswith(f"\n```bibtex\n{PAPER}\n```\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not valid YAML"),
        ("- licence", "keys and values"),
        (SOUND + "license: MIT\n", "did you mean 'licence'"),
        (SOUND.replace("true", "'no'"), "licence.yaml: redistribute: 'no' is not valid"),
        (SOUND.replace("why: it says so\n", ""), "licence.yaml: why: this key is required"),
    ],
)
def test_an_invalid_file_is_refused_by_name(tmp_path, text, message):
    (tmp_path / "licence.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message) as error:
        read_terms(tmp_path, "roses")
    assert str(tmp_path / "licence.yaml") in str(error.value)
