"""The report in docs/example, which `make example` writes: small, complete, and without anything of a machine."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from PIL import Image

from scripts.report_picture import HEIGHT, PICTURE, TEXTS, WIDTH
from tests.paths import ROOT

FOLDER = ROOT / "docs/example"
PAGES = sorted(FOLDER.glob("*.html"))


def test_it_is_small_and_its_pages_link_to_each_other():
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 2_500_000  # an image a question
    assert {"index.html", "audit.html", "benchmark-humblebench.html", "questions.html"} <= {page.name for page in PAGES}
    for page in PAGES:
        for target in re.findall(r'href="([^"#?:]+)["#?]', page.read_text(encoding="utf-8")):
            assert (FOLDER / target).exists(), f"{page.name}: {target}"


def test_it_names_no_place_on_a_machine():
    private = re.compile(r"/(?:home|root|tmp|work|Users)/|file://")
    for path in FOLDER.rglob("*"):
        if path.suffix in (".html", ".svg", ".csv", ".json"):
            found = private.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{path.name}: {found[0]}"


def test_its_findings_are_those_of_the_audit():
    from known_unknowns.comparison.published import published
    from known_unknowns_audit.audit import findings_on

    text = Path(FOLDER / "audit.html").read_text(encoding="utf-8")
    for finding in findings_on(published("humblebench"))[:5]:
        assert finding.row.replace("&", "&amp;") in text


def joined(html: str) -> str:
    """Return a text without tags, and without spaces, which a browser sets as it needs them."""
    return re.sub(r"\s+", "", unescape(re.sub(r"<[^>]+>", "", html)))


def test_the_picture_shows_the_first_page_of_the_example():
    """One command makes both. What the picture shows stands on the page, and the answer of the page is shown."""
    page = (FOLDER / "index.html").read_text(encoding="utf-8")
    with Image.open(PICTURE) as picture:
        picture.load()
        shown = [joined(line) for line in picture.text[TEXTS].splitlines()]
        assert picture.size == (WIDTH, HEIGHT)
    assert [line for line in shown if line not in joined(page)] == []
    first = page[page.index('id="answer-') : page.index('id="about"')]
    sentences = re.findall(r"<li>(.*?)</li>", re.search(r'<ul class="findings">(.*?)</ul>', first, re.DOTALL)[1])
    columns = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', first[: first.index("</thead>")])
    caption = re.search(r"<caption>(.*?)</caption>", first)[1]
    assert len(sentences) == 3 and len(columns) > 4
    assert [text for text in [caption, *sentences, *columns] if joined(text) not in shown] == []
