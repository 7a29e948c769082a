"""The report in docs/example, which `make example` writes: small, complete, and without anything of a machine."""

from __future__ import annotations

import re
from pathlib import Path

from tests.paths import ROOT

FOLDER = ROOT / "docs/example"
PAGES = sorted(FOLDER.glob("*.html"))


def test_it_is_small_and_its_pages_link_to_each_other():
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 1_500_000
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
    from known_unknowns.comparison.audit import audit_published, published

    text = Path(FOLDER / "audit.html").read_text(encoding="utf-8")
    for finding in audit_published(published("humblebench"))[:5]:
        assert finding.row.replace("&", "&amp;") in text
