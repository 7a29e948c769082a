"""Every page of docs/ that code, rules and configuration name exists, and so does the heading."""

from __future__ import annotations

import re

import pytest

from tests import pages
from tests.paths import ROOT

FOLDERS = ("src", "rules", "profiles", "bench", "scripts")
FILES = ("params.yaml", "Snakefile", "dvc.yaml", "Makefile", ".importlinter", "results/README.md")
KINDS = {".py", ".smk", ".yaml", ".j2", ".rst", ".js", ".md", ".sh"}
MENTION = re.compile(r"\bdocs/([a-z_0-9]+)\.md(?:#([\w-]+))?")


def mentions() -> dict[tuple[str, str], str]:
    """Return the pages and headings that are named, each with a file that names it."""
    files = [ROOT / name for name in FILES]
    files += [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in KINDS]
    return {
        (page, heading): path.relative_to(ROOT).as_posix()
        for path in files
        for page, heading in MENTION.findall(path.read_text(encoding="utf-8"))
    }


def headings(page: str) -> set[str]:
    """Return the anchors of a page, as GitHub makes them."""
    lines = re.findall(r"^#+ (.+)$", pages.text(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}


NAMED = mentions()


@pytest.mark.parametrize(("page", "heading"), NAMED, ids=[f"{page}#{heading}" for page, heading in NAMED])
def test_a_named_page_and_its_heading_exist(page, heading):
    file = f"docs/{page}.md"
    assert (ROOT / file).is_file(), f"{NAMED[page, heading]} names {file}"
    assert not heading or heading in headings(file), f"{NAMED[page, heading]} names {file}#{heading}"
