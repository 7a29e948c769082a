"""Licences and citations of the data: read from licences.yaml beside this file, and sent along wherever the data go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parents[1] / "licences.yaml"
RENDERED = "scenes"
"""The data set that this project renders itself, whichever benchmark's format it is in."""


@dataclass(frozen=True, slots=True)
class Paper:
    title: str
    authors: tuple[str, ...]
    year: int
    where: str

    @property
    def citation(self) -> str:
        names = ", ".join(self.authors[:-1]) + (" and " if self.authors[1:] else "") + self.authors[-1]
        return f"{names}. {self.title}. {self.where}, {self.year}."

    def bibtex(self, key: str) -> str:
        arxiv = re.search(r"arXiv:(\S+)", self.where)
        fields = {
            "title": f"{{{self.title}}}",
            "author": " and ".join(self.authors),
            "year": str(self.year),
            **({"eprint": arxiv[1], "archivePrefix": "arXiv"} if arxiv else {}),
        }
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        return f"@misc{{{key},\n{lines}}}\n"


@dataclass(frozen=True, slots=True)
class Terms:
    """What may be done with a data set, and whom to cite. ``parts`` are under licences of their own."""

    name: str
    title: str
    licence: str
    redistribute: bool
    why: str
    url: str | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    paper: Paper | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, without what is not known."""
        known = {
            "title": self.title,
            "url": self.url,
            "licence": self.licence,
            "parts": dict(self.parts),
            "redistribute": self.redistribute,
            "why": self.why,
            "cite": self.paper and self.paper.citation,
        }
        return {key: value for key, value in known.items() if value not in (None, {})}

    def as_text(self) -> str:
        """A page to lie beside the data."""
        lines = [f"# {self.title}", ""]
        if self.url:
            lines.append(f"- Source: {self.url}")
        lines.append(f"- Licence: {self.licence}")
        lines += [f"- Licence of the {part}: {licence}" for part, licence in self.parts.items()]
        lines.append(f"- May be passed on: {'yes' if self.redistribute else 'no'}: {self.why}")
        if self.paper:
            lines += [
                "",
                "Please cite:",
                "",
                self.paper.citation,
                "",
                "```bibtex",
                self.paper.bibtex(self.name) + "```",
            ]
        return "\n".join(lines) + "\n"


@cache
def every() -> Mapping[str, Terms]:
    """The terms of every data set, by name."""
    raw = yaml.safe_load(FILE.read_text(encoding="utf-8"))["datasets"]
    return {name: _terms(name, dict(entry)) for name, entry in raw.items()}


def _terms(name: str, entry: dict[str, Any]) -> Terms:
    paper = entry.pop("paper", None)
    made = Paper(**paper | {"authors": tuple(paper["authors"])}) if paper else None
    return Terms(name=name, paper=made, **entry)


def of(benchmark: str, data: Mapping[str, Any] | None) -> Terms:
    """The terms of a benchmark's data, whose entry in params.yaml is ``data``.

    Rendered data are this project's own, but the benchmark whose format they are in is to be cited all the same. A data
    set that licences.yaml does not know is not to be passed on.
    """
    published = every().get(benchmark) or Terms(
        benchmark, benchmark, "not known", False, "its licence is not known: add it to licences.yaml"
    )
    if data is None or data["source"] != RENDERED:
        return published
    own = every()[RENDERED]
    title = f"{published.title}: {own.title}"
    return Terms(benchmark, title, own.licence, own.redistribute, own.why, paper=published.paper)
