from __future__ import annotations

import json

import pytest
import yaml
from typer.testing import CliRunner

from known_unknowns import benchmarks
from known_unknowns.cli import app
from known_unknowns.data import licences
from known_unknowns.data.questions import normalise
from known_unknowns.errors import ConfigError
from tests.factories import published_row, write_published
from tests.paths import ROOT

PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
PUBLISHED = [name for name in licences.every() if name != licences.RENDERED]


@pytest.mark.parametrize("benchmark", benchmarks.names())
def test_published_data_may_not_be_passed_on_and_rendered_data_may(benchmark):
    """ActiView and MM-SAP grant no licence, HumbleBench's pictures are COCO's; what is rendered is our own."""
    data = PARAMS["benchmarks"][benchmark]["data"]
    published, rendered = licences.of(benchmark, data["full"]), licences.of(benchmark, data["pocket"])
    assert not published.redistribute and published.url
    assert rendered.redistribute and rendered.licence == "MIT" and not rendered.url
    assert rendered.paper == published.paper is not None
    assert licences.of(benchmark, None) == published


def test_what_is_not_known_may_not_be_passed_on():
    terms = licences.of("new", {"source": "hub"})
    assert not terms.redistribute and "add it" in terms.why
    assert "new" in terms.as_text()


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_paper_is_cited_in_citation_cff(name):
    paper = licences.every()[name].paper
    references = {entry["title"]: entry for entry in yaml.safe_load((ROOT / "CITATION.cff").read_text())["references"]}
    entry = references[paper.title]
    assert tuple(f"{a['given-names']} {a['family-names']}" for a in entry["authors"]) == paper.authors
    assert entry["year"] == 2000 + int(entry["url"].rpartition("/")[2][:2]) == paper.year
    assert entry["url"].rpartition("/")[2] in paper.where


def test_citation_and_bibtex():
    paper = licences.Paper("On Roses", ("Ann Bee", "Cy Dee", "El Eff"), 2024, "XYZ 2024, arXiv:2401.00001")
    assert paper.citation == "Ann Bee, Cy Dee and El Eff. On Roses. XYZ 2024, arXiv:2401.00001, 2024."
    assert paper.bibtex("roses") == (
        "@misc{roses,\n  title = {{On Roses}},\n  author = {Ann Bee and Cy Dee and El Eff},\n"
        "  year = {2024},\n  eprint = {2401.00001},\n  archivePrefix = {arXiv},\n}\n"
    )
    assert licences.Paper("T", ("Ann Bee",), 2024, "XYZ").citation == "Ann Bee. T. XYZ, 2024."


def test_the_terms_lie_beside_the_pictures(tmp_path):
    raw = write_published(tmp_path / "raw", [published_row(0)]).parent
    normalise("humblebench", raw, tmp_path / "full", settings={"source": "hub"})
    text = (tmp_path / "full/LICENCE.md").read_text(encoding="utf-8")
    assert "none declared" in text and "COCO" in text and "May be passed on: no" in text and "2509.09658" in text
    normalise("humblebench", raw, tmp_path / "pocket", settings={"source": "scenes"})
    text = (tmp_path / "pocket/LICENCE.md").read_text(encoding="utf-8")
    assert "Licence: MIT" in text and "COCO" not in text and "2509.09658" in text


def test_the_command(tmp_path):
    runner = CliRunner()
    shown = runner.invoke(app, ["licences", "mmsap"]).output
    assert "# MM-SAP" in shown and "none granted" in shown and "ActiView" not in shown
    found = json.loads(runner.invoke(app, ["licences", "--json"]).output)
    assert set(found) == set(licences.every()) and found["scenes"]["redistribute"] is True
    assert runner.invoke(app, ["licences", "--bibtex"]).output.count("@misc{") == len(PUBLISHED)
    wrong = runner.invoke(app, ["licences", "mmsapp"])
    assert isinstance(wrong.exception, ConfigError) and "did you mean 'mmsap'" in str(wrong.exception)
