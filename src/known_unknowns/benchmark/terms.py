"""The licence and the citation of a data set, read from ``licence.yaml`` and ``citation.bib`` in its folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from known_unknowns.benchmark.citation import Citation, read_citation
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.yaml_reader import parse_yaml

LICENCE, CITATION = "licence.yaml", "citation.bib"


@dataclass(frozen=True, slots=True)
class Terms:
    """What may be done with a data set, and what to cite.

    Parameters
    ----------
    name : str
    title : str
        The name that people use.
    licence : str
        The licence as its publisher states it.
    redistribute : bool
        Whether the files may be copied into shared storage. If False, the user must allow it.
    why : str
        The reason for ``redistribute``.
    url : str, optional
        Where the data set is published.
    parts : mapping of str to str
        Parts with a licence of their own.
    citation : Citation, optional
        The paper.
    """

    name: str
    title: str
    licence: str
    redistribute: bool
    why: str
    url: str | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    citation: Citation | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, without those that are unknown."""
        values = {
            "title": self.title,
            "url": self.url,
            "licence": self.licence,
            "parts": dict(self.parts),
            "redistribute": self.redistribute,
            "why": self.why,
            "cite": self.citation and self.citation.text,
        }
        return {key: value for key, value in values.items() if value not in (None, {})}

    def as_text(self) -> str:
        """Return a page in Markdown, to store beside the data."""
        lines = [f"# {self.title}", ""]
        if self.url:
            lines.append(f"- Source: {self.url}")
        lines.append(f"- Licence: {self.licence}")
        lines += [f"- Licence of the {part}: {licence}" for part, licence in self.parts.items()]
        lines.append(f"- May be redistributed: {'yes' if self.redistribute else 'no'}: {self.why}")
        if self.citation:
            lines += ["", "Please cite:", "", self.citation.text, "", "```bibtex", self.citation.bibtex + "```"]
        return "\n".join(lines) + "\n"


def read_terms(folder: Path, name: str, title: str | None = None) -> Terms:
    """Read the terms of the data set ``name`` from its folder.

    A data set without ``licence.yaml`` may not be redistributed. ``title`` is used if the file has none.

    Raises
    ------
    ConfigError
        If one of the files is not sound. The error names the file.
    """
    path, bib = folder / LICENCE, folder / CITATION
    citation = read_citation(bib) if bib.is_file() else None
    unknown = Terms(
        name,
        title or name,
        "unknown",
        False,
        f"its licence is unknown: add {LICENCE} to the folder of {name}",
        citation=citation,
    )
    if not path.is_file():
        return unknown
    try:
        entry = parse_yaml(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"not valid YAML ({error})", path=str(path)) from error
    _check(entry, path)
    return replace(unknown, **entry)


def _check(entry: Any, path: Path) -> None:
    kinds: dict[str, type] = {"title": str, "licence": str, "redistribute": bool, "why": str, "url": str, "parts": dict}
    if not isinstance(entry, dict):
        raise ConfigError("the file must hold keys and values", path=str(path))
    for key, value in entry.items():
        if key not in kinds:
            raise ConfigError(unknown_name(key, kinds), path=str(path))
        if not isinstance(value, kinds[key]):
            raise ConfigError(f"{value!r} is not of type {kinds[key].__name__}", path=f"{path}: {key}")
    for key in ("licence", "redistribute", "why"):
        if key not in entry:
            raise ConfigError(f"the key {key} is missing", path=str(path))
