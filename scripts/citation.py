"""Write the references of CITATION.cff from the citation.bib of every benchmark: make citation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from known_unknowns.benchmark.citation import Citation  # noqa: E402
from known_unknowns.data import licences  # noqa: E402

FILE = ROOT / "CITATION.cff"


def reference(citation: Citation) -> dict[str, Any]:
    """Return a paper as an entry of CITATION.cff."""
    entry: dict[str, Any] = {"type": "article", "title": citation.title}
    entry["authors"] = [
        {"family-names": family, **({"given-names": given} if given else {})} for given, family in citation.names
    ]
    entry["year"] = citation.year
    if citation.venue:
        entry["journal"] = citation.venue
    if citation.arxiv:
        entry["url"] = f"https://arxiv.org/abs/{citation.arxiv}"
    return entry


def references() -> list[dict[str, Any]]:
    """Return the papers of all benchmarks and of the data sets that they are made from, each once."""
    cited = (terms.citation for terms in licences.all_terms().values())
    return [reference(citation) for citation in dict.fromkeys(citation for citation in cited if citation)]


def main() -> None:
    """Write the file; everything above its references is kept."""
    head = FILE.read_text(encoding="utf-8").partition("references:\n")[0]
    found = yaml.safe_dump({"references": references()}, sort_keys=False, allow_unicode=True, width=120)
    FILE.write_text(head + found, encoding="utf-8")


if __name__ == "__main__":
    main()
