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
    """How questions of a benchmark are constructed."""

    generators: Mapping[str, QuestionGenerator]  # the benchmark's generators by name
    # A candidate's kind to the published category. Candidates of other kinds cannot be released.
    kinds: Mapping[str, str]
    options: int | None = None  # the number of options of every question; None if it varies
    refusal: str | None = None  # the text of the last option of every question; None if there is none
    write: Write | None = None  # the published format. A benchmark without it cannot be released.
    columns: tuple[Column, ...] = field(default=())  # the columns of the published table, for the metadata
