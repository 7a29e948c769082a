"""What a benchmark's folder provides for construction: generators, the form of its questions, and its file format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from known_unknowns_construction.candidates import Candidate
from known_unknowns_construction.generation import QuestionGenerator


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the published table: its name, its schema.org type (such as "sc:Text") and its meaning."""

    name: str
    data_type: str
    description: str


class Write(Protocol):
    """Write questions in the published format to ``out`` and return the files.

    Images are read below ``folder``, the folder of the candidate file. Equal arguments give equal bytes.
    """

    def __call__(self, candidates: Iterable[Candidate], *, folder: Path, out: Path) -> list[Path]: ...


@dataclass(frozen=True, slots=True)
class Construction:
    """How questions of a benchmark are constructed.

    Attributes
    ----------
    generators : mapping
        The benchmark's generators by name.
    kinds : mapping of str to str
        A candidate's kind to the published category. Candidates of other kinds cannot be released.
    options : int, optional
        The number of options of every question; None if it varies.
    refusal : str, optional
        The text of the last option of every question; None if there is none.
    write : Write, optional
        The published format. A benchmark without it cannot be released.
    columns : tuple of Column
        The columns of the published table, for the metadata.
    """

    generators: Mapping[str, QuestionGenerator]
    kinds: Mapping[str, str]
    options: int | None = None
    refusal: str | None = None
    write: Write | None = None
    columns: tuple[Column, ...] = field(default=())
