"""The pages: safe, self-contained, sound, deterministic, and with the numbers of the run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.errors import DataError
from known_unknowns.metrics import confidence, consistency, dual, proportions, selective
from known_unknowns.metrics.summary import definition_of
from known_unknowns.records import OVERALL
from known_unknowns.report import section as report_section
from known_unknowns.report import shell
from known_unknowns.report.page import build
from tests.factories import params_from

from .conftest import write
from .fake_run import REPOSITORY, FakeRun, make, params
from .pages import Page, check, drawn_text

FIGURES = ("humblebench_vs_e", "humblebench_vs_gn", "letters", "humblebench_overview")
FILES = {link.file for link in shell.links(params())}
PAGES = sorted(FILES - {shell.QUESTIONS})
OWN = "benchmark-humblebench.html"


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_pages_are_those_of_the_navigation(pages: dict[str, Page]) -> None:
    assert sorted(pages) == PAGES
    for page in pages.values():
        links = [e.attributes["href"] for e in page.all("a") if "nav" in e.within]
        assert [link for link in links if link in FILES] == [link.file for link in shell.links(params())]


@pytest.mark.usefixtures("no_figures")
def test_questions_that_nobody_released_are_not_called_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A section can name its parser, and how unchanged questions are asked, in every table and sentence."""
    made = make(tmp_path, questions=15, variants_kept=["original", "nota_only"])
    section = report_section.section("humblebench")
    own = replace(section, official_name="strict", official_note="Whole texts only.", unchanged="as in the files")
    own = replace(own, official_metrics=(), notes=None, template="", headline_note="")
    monkeypatch.setattr("known_unknowns.report.page.section", lambda benchmark: own)
    written = write(made)
    texts = {file: words(" ".join(e.text for e in page.all("main"))) for file, page in written.items()}
    for file in ("index.html", OWN, "stress.html", "parsers.html"):
        assert not re.search("(?i)as released|released code|as published", texts[file]), file
    assert "right as in the files" in texts["stress.html"] and "as in the files" in texts["index.html"]
    assert "Whole texts only." in texts["parsers.html"] and "Whole texts only." in texts[OWN]


def test_every_page_is_sound(pages: dict[str, Page]) -> None:
    for page in pages.values():
        check(page, FILES)


def test_every_heading_of_the_first_page_has_its_definition(pages: dict[str, Page]) -> None:
    """As its title: a sentence, and the section of the documentation that says more. The page lists them too."""
    page = pages["index.html"]
    heads = [e for e in page.all("th") if e.attributes.get("scope") == "col"]
    names = [e for e in page.all("abbr") if "thead" in e.within]
    assert len(names) == len(heads) and {"Model", "Rank", "Unusable", "Of it refused"} <= {e.text for e in names}
    titles = {e.text: e.attributes["title"] for e in names}
    for name, title in titles.items():
        sentence, section = re.fullmatch(r"(.+\.) \((.+)\)", title).groups()
        assert section in sections(section.partition("#")[0]), name
        assert name == "Model" or sentence in words(page["definitions"].text), name
    assert titles["Dual accuracy of answerable questions"].endswith("(docs/metrics.md#dual-accuracy)")


@pytest.mark.parametrize("benchmark", registry.names())
def test_the_definitions_of_headline_numbers_name_sections_of_the_documentation(benchmark: str) -> None:
    for number in registry.get(benchmark).headline:
        definition = definition_of(number)
        assert definition is not None and definition.section in sections(definition.section.partition("#")[0])


@pytest.mark.parametrize("module", [proportions, dual, consistency, selective, confidence])
def test_the_definitions_of_metrics_name_sections_of_their_documentation(module: ModuleType) -> None:
    for name, definition in module.DEFINITIONS.items():
        assert definition.section in sections("docs/metrics.md"), name


def sections(file: str) -> set[str]:
    """A file of the documentation and its sections, as links to them are written."""
    headings = re.findall(r"^#+ (.+)$", (REPOSITORY / file).read_text(encoding="utf-8"), flags=re.M)
    anchors = (re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings)
    return {file, *(f"{file}#{anchor}" for anchor in anchors)}


@pytest.mark.usefixtures("no_figures")
def test_names_and_categories_are_escaped(tmp_path: Path) -> None:
    """Of models, of categories, and in the data of the script that compares models."""
    run = make(tmp_path, questions=15, variants_kept=["original"])
    bad = '</script><img src=x onerror=alert(1)>"><b>'
    for path in run.metrics:
        rows = [replace(m, category=bad if m.category == "Object" else m.category) for m in tables.read_metrics(path)]
        tables.write_metrics(path, rows)
    written = write(run)
    for page in written.values():
        assert not page.all("img") and not page.all("b")
    assert any(bad in e.text for e in written[OWN].all("th"))


def test_the_headline_has_the_values_of_the_metrics(run: FakeRun, pages: dict[str, Page]) -> None:
    (found,) = [
        m
        for m in tables.read_metrics(run.results / "metrics" / "pocket" / "humblebench/metrics.parquet")
        if (m.variant, m.parser, m.category, m.name) == ("nota_only", "robust", OVERALL, "accuracy")
    ]
    value, low, high = (f"{100 * v:.1f}" for v in (found.value, found.low, found.high))
    text = words(pages[OWN]["humblebench-headline"].text)
    assert f"{value} [{low}, {high}]" in text
    assert "HumbleBench-E" in text and "Exactly “E”" in text and "n = 60" in text and "Chance" in text
    of_figure = words(pages["stress.html"]["humblebench-figures"].text)
    assert f"{value} [{low}, {high}]" in of_figure and "Right on HumbleBench-E n = 60" in of_figure


def test_the_provenance_is_shown(pages: dict[str, Page]) -> None:
    page = pages["provenance.html"]
    text = words(page["run"].text)
    assert "0123456789ab" in text and "0123456789abcdef" not in text
    assert "0123456789abcdef0123456789abcdef.dir" in {e.attributes.get("title") for e in page.all("code")}
    said = ("pocket", "scenes", "do_sample: False", "device cpu", "confidence 0.95", "altair", "MIT", "2509.09658")
    assert [part for part in said if part not in text] == []
    rows = [words(e.text) for e in page.all("tr")]
    assert any(all(n in row for n in ("1,234", "56,789", "2,468", "of 1,200 replies")) for row in rows)
    assert any("<b>its logits</b> differ" in row and "packed 300" in row for row in rows)  # escaped


def test_the_same_run_gives_the_same_bytes(run: FakeRun) -> None:
    folder = run.page.parent
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    assert {path.name for path in before} == {*PAGES, *(f"{name}.svg" for name in FIGURES)}
    for text in (path.read_text(encoding="utf-8") for path in before if path.suffix == ".svg"):
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
        assert 'fill="white"' in text[:600] and not re.search(r"<script|<image|<foreignObject| on\w+=", text)
    write(run)
    assert {path: path.read_bytes() for path in before} == before


def test_fewer_variants_make_a_smaller_report(tmp_path: Path) -> None:
    run = make(tmp_path, questions=15, variants_kept=["text_only", "nota_only"])
    headline = write(run)[OWN]["humblebench-headline"].text
    assert "HumbleBench-GN" not in headline and "HumbleBench-E" in headline
    for name in FIGURES[:2]:
        text = drawn_text((run.page.parent / "figures" / f"{name}.svg").read_text(encoding="utf-8"))
        assert re.search(r"not drawn: original(, noise were| was) not run", text)


@pytest.mark.usefixtures("no_figures")
def test_one_parser_and_several_seeds(tmp_path: Path) -> None:
    run = make(tmp_path, questions=15, variants_kept=["original", "shuffled_options"], seeds=2)
    raw = run.params.file.plain() | {"parsers": ["official"]}
    raw["benchmarks"]["humblebench"]["seeds"] = {"original": [0]}
    run.params = params_from(raw)
    pages = write(run)
    assert "humblebench-parsers" not in {e.attributes.get("id") for e in pages["parsers.html"].elements}
    assert "robust" not in pages[OWN]["humblebench-headline"].text
    assert "official parser" in words(pages["index.html"].all("caption")[0].text)
    seeds = "1 seed for HumbleBench; 2 seeds for HumbleBench (shuffled options)."
    assert seeds in words(pages["index.html"]["about"].text)


@pytest.mark.usefixtures("no_figures")
def test_what_is_absent_is_left_out(tmp_path: Path) -> None:
    """Metrics of some models, the record of the use, the commit, and the pairs of models."""
    run = make(tmp_path, questions=15, variants_kept=["original"])
    for path in (run.results / "replies").rglob("engine.json"):
        record = json.loads(path.read_text())
        del record["spent"]
        path.write_text(json.dumps(record))
    build(
        run.params,
        run.metrics[:2],
        results=run.results,
        data=run.data,
        comparison=run.comparison,
        out=run.page,
        root=tmp_path,
    )
    texts = {path.name: path.read_text(encoding="utf-8") for path in run.page.parent.glob("*.html")}
    assert "unknown commit" in texts["provenance.html"] and "1,234" not in texts["provenance.html"]
    assert "Fewer than two models were compared." in texts["models.html"]
    headline = texts[OWN][texts[OWN].index('id="humblebench-headline"') : texts[OWN].index('id="humblebench-types"')]
    assert "always_refuse" in headline and "always_a" not in headline


@pytest.mark.usefixtures("no_figures")
def test_an_invalid_file_is_named(tmp_path: Path) -> None:
    run = make(tmp_path, questions=15, variants_kept=["original"])
    engine = run.results / "replies" / "pocket" / "humblebench" / "engine.json"
    engine.write_text('{"model": ')
    with pytest.raises(DataError, match=r"engine\.json"):
        write(run)
    engine.unlink()
    answers = run.results / "answers" / "pocket" / "humblebench" / "answers.parquet"
    answers.write_bytes(answers.read_bytes()[:200])
    with pytest.raises(DataError, match=r"answers\.parquet"):
        write(run)
    assert not run.page.exists()
