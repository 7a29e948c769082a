from __future__ import annotations

import json
import re

import pytest
import yaml
from typer.testing import CliRunner

from known_unknowns.benchmark import registry
from known_unknowns.cli import app
from known_unknowns.data import licences
from known_unknowns.data.questions import normalise
from known_unknowns.errors import ConfigError
from tests.factories import data_entry, published_row, write_published
from tests.paths import ROOT

PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
PUBLISHED = {terms.citation.title: terms.citation for terms in licences.all_terms().values() if terms.citation}
REFERENCES = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]


@pytest.mark.parametrize("benchmark", [name for name in registry.names() if registry.get(name).published])
def test_published_data_may_not_be_redistributed_and_rendered_data_may(benchmark):
    """ActiView and MM-SAP have no licence, and HumbleBench's images are from COCO; rendered data have our licence."""
    data = PARAMS["benchmarks"][benchmark]["data"]
    published, rendered = (licences.terms_of(benchmark, data_entry(**data[name])) for name in ("full", "pocket"))
    assert not published.redistribute and published.url
    assert rendered.redistribute and rendered.licence == "MIT" and not rendered.url
    assert rendered.citation == published.citation is not None
    assert licences.terms_of(benchmark, None) == published


@pytest.mark.parametrize("entry", REFERENCES, ids=lambda entry: entry["title"].split()[0])
def test_references_of_citation_cff_are_those_of_the_benchmarks(entry):
    """A paper of a new benchmark is added with the next release: make citation."""
    citation = PUBLISHED[entry["title"]]
    assert tuple(f"{a['given-names']} {a['family-names']}" for a in entry["authors"]) == citation.authors
    assert entry["year"] == 2000 + int(entry["url"].rpartition("/")[2][:2]) == citation.year
    assert entry["url"].rpartition("/")[2] == citation.arxiv


def test_the_terms_are_stored_beside_the_images(tmp_path):
    raw = write_published(tmp_path / "raw", [published_row(0)]).parent
    normalise("humblebench", raw, tmp_path / "full", settings=data_entry("hub"))
    text = (tmp_path / "full/LICENCE.md").read_text(encoding="utf-8")
    assert "none declared" in text and "COCO" in text and "May be redistributed: no" in text and "2509.09658" in text
    normalise("humblebench", raw, tmp_path / "pocket", settings=data_entry("scenes"))
    text = (tmp_path / "pocket/LICENCE.md").read_text(encoding="utf-8")
    assert "Licence: MIT" in text and "COCO" not in text and "2509.09658" in text


def test_the_command(tmp_path):
    runner = CliRunner()
    shown = runner.invoke(app, ["licences", "mmsap"]).output
    assert "# MM-SAP" in shown and "none granted" in shown and "ActiView" not in shown
    found = json.loads(runner.invoke(app, ["licences", "--json"]).output)
    assert set(found) == set(licences.all_terms()) and found["scenes"]["redistribute"] is True
    printed = runner.invoke(app, ["licences", "--bibtex"]).output
    assert len(re.findall(r"^\s*author\s*=", printed, re.MULTILINE)) == len(PUBLISHED)
    wrong = runner.invoke(app, ["licences", "mmsapp"])
    assert isinstance(wrong.exception, ConfigError) and "did you mean 'mmsap'" in str(wrong.exception)
