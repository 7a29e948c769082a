"""The licences and papers of the benchmarks' data, and the places that state them."""

from __future__ import annotations

import re

import pytest
import yaml
from typer.testing import CliRunner

from known_unknowns import config
from known_unknowns.benchmark import registry
from known_unknowns.cli import app
from known_unknowns.data.questions import normalise
from known_unknowns.data.terms import terms_of
from known_unknowns.errors import ConfigError
from tests.factories import data_entry, published_row, write_published
from tests.paths import ROOT

PARAMS = config.load(ROOT / "params.yaml")
REFERENCES = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
OWN = ROOT / "src/known_unknowns_benchmarks"
PAPERS = sorted(OWN.rglob("citation.bib"))


@pytest.mark.parametrize("benchmark", [name for name in registry.names() if registry.get(name).published])
def test_published_data_may_not_be_redistributed_and_rendered_data_may(benchmark):
    """ActiView and MM-SAP have no licence, and HumbleBench's images are from COCO; rendered data have our licence."""
    data = PARAMS.benchmark(benchmark).data
    published, rendered = (terms_of(benchmark, data[name]) for name in ("full", "pocket"))
    assert not published.redistribute and published.url
    assert rendered.redistribute and rendered.licence == "MIT" and not rendered.url
    assert rendered.cite == published.cite is not None
    assert terms_of(benchmark, None) == published


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.parent.name)
def test_a_paper_is_the_same_in_citation_cff_and_in_licence_yaml(path):
    """A paper of a new benchmark is added to CITATION.cff with the next release."""
    paper = re.sub(r"[{}\s]+", " ", path.read_text(encoding="utf-8"))  # {MM-SAP}: A ... is MM-SAP : A ...
    number = re.search(r"eprint = (\S+)", paper)[1]
    (reference,) = (each for each in REFERENCES if each["url"] == f"https://arxiv.org/abs/{number}")
    cited = yaml.safe_load(path.with_name("licence.yaml").read_text(encoding="utf-8"))["cite"]
    names = [f"{each['given-names']} {each['family-names']}" for each in reference["authors"]]
    assert f"author = {' and '.join(names)} ," in paper
    assert cited.startswith(f"{', '.join(names[:-1])} and {names[-1]}. {reference['title']}. ")
    assert reference["title"].replace(" ", "") in paper.replace(" ", "")
    assert f"year = {reference['year']} ," in paper
    assert cited.endswith(f"arXiv:{number}, {reference['year']}.")


def test_the_terms_are_stored_beside_the_images(tmp_path):
    raw = write_published(tmp_path / "raw", [published_row(0)]).parent
    normalise("humblebench", raw, tmp_path / "full", settings=data_entry("hub"))
    text = (tmp_path / "full/LICENCE.md").read_text(encoding="utf-8")
    assert "none declared" in text and "COCO" in text and "May be redistributed: no" in text and "2509.09658" in text
    normalise("humblebench", raw, tmp_path / "pocket", settings=data_entry("scenes"))
    text = (tmp_path / "pocket/LICENCE.md").read_text(encoding="utf-8")
    assert "Licence: MIT" in text and "COCO" not in text and "2509.09658" in text


def test_the_command():
    runner = CliRunner()
    shown = runner.invoke(app, ["data", "licences", "mmsap"]).output
    assert "# MM-SAP" in shown and "none granted" in shown and "ActiView" not in shown
    printed = runner.invoke(app, ["data", "licences"]).output
    authors = "".join(path.read_text(encoding="utf-8") for path in PAPERS).count("author = ")
    assert len(re.findall(r"^\s*author\s*=", printed, re.MULTILINE)) == authors
    wrong = runner.invoke(app, ["data", "licences", "mmsapp"])
    assert isinstance(wrong.exception, ConfigError) and "did you mean 'mmsap'" in str(wrong.exception)
