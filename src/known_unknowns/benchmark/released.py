"""Replies that a benchmark's authors released: the files, and what is found in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns.benchmark.protocol import ANSWER

if TYPE_CHECKING:
    from known_unknowns.benchmark.published import PublishedCell
    from known_unknowns.config import ReleasedData
    from known_unknowns.records import Question


ANSWERS_ONLY = "answers only"
"""The outcome for a file without questions and without a setting in its name."""


@dataclass(frozen=True, slots=True)
class ReleasedFile:
    """A fetched file.

    Attributes
    ----------
    path : str
        Path in the repository.
    commit : str
        The first commit of the entry that has this content under the path.
    blob : str
        The content's name in git.
    place : str
        Path in the fetched folder.
    size : int
        In bytes.
    """

    path: str
    commit: str
    blob: str
    place: str
    size: int = 0

    @property
    def is_first(self) -> bool:
        """Whether no earlier commit of the entry has another content under the path."""
        return self.place == self.path


@dataclass(frozen=True, slots=True)
class ReleasedTurn:
    """A reply in a released file.

    ``step`` is that of the protocol, and a turn without options has no labels. ``images`` are the sha256 of the images
    of the turn, by default those of the question.
    """

    text: str
    error: str | None = None
    step: str = ANSWER
    prompt: str = ""
    has_labels: bool = True
    images: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ReleasedCell:
    """The replies of one model to one variant.

    Attributes
    ----------
    turns : mapping of str to sequence of ReleasedTurn
        The turns by question id.
    files : tuple of ReleasedFile
        The files that were read.
    notes : tuple of str
        What is wrong with them.
    """

    turns: Mapping[str, Sequence[ReleasedTurn]]
    files: tuple[ReleasedFile, ...]
    notes: tuple[str, ...] = ()


class Released(ABC):
    """How a benchmark's authors released replies. ``entry`` is the data's entry in params.yaml.

    `known_unknowns.exchange.released_reader.ReleasedReader` implements it for files that a released.yaml describes.
    """

    @abstractmethod
    def load(self, raw: Path, folder: Path, entry: ReleasedData) -> Iterator[Question]:
        """Return the questions that were answered, from a fetched folder. Images are linked into ``folder``."""

    @abstractmethod
    def variants(self, files: Sequence[ReleasedFile], entry: ReleasedData) -> Mapping[str, Sequence[str]]:
        """Return the models in the files, with the variants that they have replies to."""

    @abstractmethod
    def replies(
        self,
        raw: Path,
        files: Sequence[ReleasedFile],
        entry: ReleasedData,
        model: str,
        variant: str,
        questions: Sequence[Question],
    ) -> ReleasedCell:
        """Return the replies of a model to the questions of a variant."""

    @abstractmethod
    def published(
        self,
        raw: Path,
        files: Sequence[ReleasedFile],
        entry: ReleasedData,
        names: Mapping[str, str],
        questions: Callable[[str], Sequence[Question]],
    ) -> tuple[Sequence[PublishedCell], Sequence[Mapping[str, Any]]]:
        """Return the numbers that were released with the replies, and whether the replies reproduce them.

        ``names`` maps a model in the files to a published row, ``questions`` a variant to its questions.
        """
