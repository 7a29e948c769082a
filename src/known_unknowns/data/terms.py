"""The terms of a data set: the fields of ``licence.yaml`` in its folder, and its paper, ``citation.bib``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from pydantic import Field

from known_unknowns.benchmark import registry
from known_unknowns.config import DataEntry, ReleasedData, ScenesData
from known_unknowns.config.base import Entry, Text
from known_unknowns.config.errors import as_config_error
from known_unknowns.errors import ConfigError
from known_unknowns.yaml_reader import parse_yaml

LICENCE, CITATION = "licence.yaml", "citation.bib"


class Terms(Entry):
    """What may be done with a data set, and what to cite."""

    title: Text
    """The name that people use."""
    url: Text | None = None
    """Where the data set is published."""
    licence: Text
    """The licence as its publisher states it."""
    parts: dict[str, Text] = Field(default_factory=dict)
    """Parts with a licence of their own."""
    redistribute: bool
    """Whether the files may be copied into shared storage. If false, the user must allow it."""
    why: Text
    """The reason for ``redistribute``."""
    cite: Text | None = None
    """The paper, in one line of plain text."""
    bibtex: str = Field(default="", exclude=True)
    """The paper as in ``citation.bib``; no field of the file."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that are known."""
        return self.model_dump(exclude_unset=True, exclude_none=True)

    def as_text(self) -> str:
        """Return a page in Markdown, to store beside the data."""
        lines = [f"# {self.title}", ""]
        if self.url:
            lines.append(f"- Source: {self.url}")
        lines.append(f"- Licence: {self.licence}")
        lines += [f"- Licence of the {part}: {licence}" for part, licence in self.parts.items()]
        lines.append(f"- May be redistributed: {'yes' if self.redistribute else 'no'}: {self.why}")
        if self.cite:
            lines += ["", "Please cite:", "", self.cite]
        if self.bibtex:
            lines += ["", "```bibtex", f"{self.bibtex}```"]
        return "\n".join(lines) + "\n"


def read_terms(folder: Path, title: str) -> Terms:
    """Read the terms of a data set from its folder. ``title`` is used if the file has none.

    A data set without ``licence.yaml`` may not be redistributed.

    Raises
    ------
    ConfigError
        If the file is not sound. The error names it.
    """
    path, bib = folder / LICENCE, folder / CITATION
    bibtex = bib.read_text(encoding="utf-8").strip() + "\n" if bib.is_file() else ""
    if not path.is_file():
        why = f"its licence is unknown: add {LICENCE} to the folder of {title}"
        return Terms(title=title, licence="unknown", redistribute=False, why=why, bibtex=bibtex)
    try:
        fields = parse_yaml(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"not valid YAML ({error})", path=str(path)) from error
    if not isinstance(fields, dict):
        raise ConfigError("the file must hold keys and values", path=str(path))
    try:
        with as_config_error(fields, ""):
            return Terms.model_validate({"title": title, **fields, "bibtex": bibtex})
    except ConfigError as error:
        raise ConfigError(str(error), path=str(path)) from None


def published_terms(benchmark: str) -> Terms:
    """Return the licence (licence.yaml) and the paper (citation.bib) of a benchmark's published data."""
    of_benchmark = registry.get(benchmark)
    return read_terms(of_benchmark.folder, of_benchmark.title)


def source_terms(benchmark: str) -> dict[str, Terms]:
    """Return the terms of the data sets that a benchmark is made from, by name (folders in ``sources``)."""
    folders = sorted(registry.get(benchmark).folder.glob("sources/*/"))
    return {folder.name: read_terms(folder, folder.name) for folder in folders}


def terms_of(name: str, entry: DataEntry | None) -> Terms:
    """Return the terms of a benchmark's data, by default those of the published data.

    Rendered data have the renderer's licence, and the paper of the benchmark. Raises ConfigError if there is no such
    benchmark.
    """
    published = published_terms(name)
    if isinstance(entry, ReleasedData):
        title = f"{published.title}: released replies"
        return published.model_copy(update={"title": title, "url": entry.repository})
    pocket = registry.pocket_of(name) if isinstance(entry, ScenesData) else None
    if pocket is None:
        return published
    rendered = read_terms(pocket.folder, "scenes")
    title = f"{published.title}: {rendered.title}"
    paper = {"cite": published.cite, "bibtex": published.bibtex}
    return rendered.model_copy(update={"title": title, **paper})
