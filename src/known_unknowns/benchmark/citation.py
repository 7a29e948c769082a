"""The paper of a data set, read from a BibTeX file with one entry."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from known_unknowns.errors import ConfigError

_FIELD = r"(\w+)\s*=\s*(\d+|\{(?:[^{}]|\{[^{}]*\})*\}|\"[^\"]*\")\s*"
_ENTRY = re.compile(rf"\s*@\w+\s*\{{\s*[^\s,{{}}]+\s*(?:,\s*{_FIELD})*,?\s*\}}\s*")


@dataclass(frozen=True, slots=True)
class Citation:
    """A paper."""

    bibtex: str  # the file as it is
    title: str
    names: tuple[tuple[str, str], ...]  # the given and the family name of each author
    year: int
    venue: str = ""  # the proceedings or journal; empty for a preprint
    arxiv: str = ""  # the number on arXiv; empty if there is none

    @property
    def authors(self) -> tuple[str, ...]:
        """The authors, given name first."""
        return tuple(" ".join(filter(None, name)) for name in self.names)

    @property
    def text(self) -> str:
        """The citation as one line of plain text."""
        names = ", ".join(self.authors[:-1]) + (" and " if self.authors[1:] else "") + self.authors[-1]
        where = [self.venue, f"arXiv:{self.arxiv}" if self.arxiv else "", str(self.year)]
        return f"{names}. {self.title}. {', '.join(filter(None, where))}."


def read_citation(path: Path) -> Citation:
    """Read a BibTeX file in UTF-8 with one entry, without macros or LaTeX commands.

    ConfigError if the file is not such an entry, or lacks a title, an author or a year.
    """
    text = path.read_text(encoding="utf-8")
    fields = _fields(text, path)
    lacking = [name for name in ("title", "author", "year") if not fields.get(name)]
    if lacking:
        raise ConfigError(f"the entry has no {' and no '.join(lacking)}", path=str(path))
    if "\\" in "".join(fields.values()):
        raise ConfigError("LaTeX commands are not supported: write letters in UTF-8", path=str(path))
    return Citation(
        bibtex=text.strip() + "\n",
        title=fields["title"],
        names=tuple(_given_and_family(name) for name in re.split(r"\s+and\s+", fields["author"])),
        year=int(fields["year"]),
        venue=fields.get("booktitle") or fields.get("journal", ""),
        arxiv=fields.get("eprint", ""),
    )


def _fields(text: str, path: Path) -> dict[str, str]:
    """Return the fields by lower-case name, without braces."""
    if _ENTRY.fullmatch(text) is None:
        raise ConfigError("not one BibTeX entry: @type{key, name = {value}, ...}", path=str(path))
    values = {name.lower(): re.sub(r'[{}"]', "", value) for name, value in re.findall(_FIELD, text)}
    return {name: " ".join(value.replace("--", "–").split()) for name, value in values.items()}


def _given_and_family(name: str) -> tuple[str, str]:
    family, comma, given = name.partition(",")
    if not comma:
        given, _, family = name.strip().rpartition(" ")
    return given.strip(), family.strip()
