"""The interface of a benchmark: one class, whose methods are its parts."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from known_unknowns.benchmark.exchange import Exchange
from known_unknowns.benchmark.headline import GENERAL, HeadlineNumber
from known_unknowns.benchmark.metrics import BenchmarkMetrics
from known_unknowns.benchmark.section import Section, read_section
from known_unknowns.benchmark.section_data import SectionData
from known_unknowns.records import Question, Turn

if TYPE_CHECKING:
    from known_unknowns.benchmark.checks import Finding, Quantity
    from known_unknowns.benchmark.exchange import Exchange
    from known_unknowns.benchmark.metrics import BenchmarkMetrics
    from known_unknowns.benchmark.parsed_answer import ParsedAnswer
    from known_unknowns.benchmark.pocket import Pocket
    from known_unknowns.benchmark.protocol import Protocol
    from known_unknowns.benchmark.published import AuditFinding, Published
    from known_unknowns.benchmark.released import Released
    from known_unknowns.benchmark.variant import Variant
    from known_unknowns.config import DataEntry
    from known_unknowns.progress import Advance
    from known_unknowns.records import ResolvedProtocol


@dataclass(frozen=True, slots=True)
class Contents:
    """Numbers of questions in a folder of files: all, with a refusal option, and with an image; notes for people."""

    questions: int
    with_refusal: int
    with_images: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PublishedProtocol:
    """A protocol that published numbers were measured with.

    Parameters
    ----------
    name : str
        The name of the protocol's function.
    arguments : mapping
        The arguments that the comparison depends on; the others are not checked.
    """

    name: str
    arguments: Mapping[str, str | int] = field(default_factory=dict)

    def differences(self, protocol: ResolvedProtocol) -> list[str]:
        """Return how a protocol of params.yaml differs."""
        published, ours = {"name": self.name, **self.arguments}, {"name": protocol.name, **protocol.arguments}
        changed = {key: value for key, value in published.items() if ours.get(key) != value}
        return [f"{key} {ours.get(key)!r} instead of {value!r}" for key, value in changed.items()]


class Benchmark(ABC):
    """One benchmark. The class is in the benchmark's folder, with its data files beside it.

    A subclass gives ``name`` and ``title`` and overrides the methods of the parts that it has. A method imports what it
    needs of the folder's other modules itself, so that no step loads the libraries of another. `load`, `prompt` and
    `official` are required; the default of every other method means that the benchmark has no such part.

    Attributes
    ----------
    name : str
        The key under ``benchmarks`` in params.yaml, and the name of the folder.
    title : str
        The name that people use.
    short : str
        The name in heads of columns of MLflow, at most three characters; ``name`` if empty.
    headline : tuple of HeadlineNumber
        The numbers that compare models on pages, in tables and in runs, the primary one first. By default, those of
        any questions with a refusal option (`known_unknowns.benchmark.headline.GENERAL`).
    published_protocols : mapping of str to PublishedProtocol
        The protocols that the published numbers were measured with, by variant. Numbers of another protocol are not
        comparable. Other variants are not checked.
    forced_choice_metrics : frozenset of str
        Names of the metrics that are undefined unless every refused question was asked again.
    official_only_metrics : mapping of str to str
        Metrics that only the official parser has, and the metric of the other parsers that the comparison with
        published numbers uses instead.
    plot : mapping of str to tuple of str
        Columns of the plot of stress tests that DVC draws: column to (variant, parser, metric).
    """

    name: ClassVar[str]
    title: ClassVar[str]
    short: ClassVar[str] = ""
    headline: ClassVar[tuple[HeadlineNumber, ...]] = GENERAL
    published_protocols: ClassVar[Mapping[str, PublishedProtocol]] = {}
    forced_choice_metrics: ClassVar[frozenset[str]] = frozenset()
    official_only_metrics: ClassVar[Mapping[str, str]] = {}
    plot: ClassVar[Mapping[str, tuple[str, str, str]]] = {}

    def has(self, part: str) -> bool:
        """Return whether the benchmark overrides the method of a part."""
        return getattr(type(self), part) is not getattr(Benchmark, part)

    # Published files

    @abstractmethod
    def load(
        self,
        raw: Path,
        folder: Path,
        *,
        settings: DataEntry | None = None,
        advance: Advance | None = None,
        workers: int = 1,
    ) -> Iterator[Question]:
        """Read published files into questions, in published order.

        Parameters
        ----------
        raw : Path
            The folder of published files.
        folder : Path
            The folder to write. Each distinct image is written once to its folder ``images``.
        settings : DataEntry, optional
            The data's entry in params.yaml, for formats that need a description.
        advance : callable, optional
            Called after each question.
        workers : int
            The number of processes that decode images.

        Raises
        ------
        DataError
            For anything that is not as published. It names the file and the row.
        """

    def load_without_images(self, path: Path, *, settings: DataEntry | None = None) -> list[Question] | None:
        """Read published annotations (one file, or the folder of all) into questions, without reading images.

        None if only the folder of all published files can be read.
        """
        return None

    def contents(self, folder: Path, *, settings: DataEntry | None = None) -> Contents:
        """Count the questions of a folder of the user's own files; DataError lists all mistakes in them.

        It is for benchmarks whose questions differ in whether they have a refusal option or an image. Variants that fit
        no question are then left out of a run, and questions that a variant does not fit are left out of this variant.
        """
        raise NotImplementedError

    def check(
        self, raw: Path, *, settings: DataEntry | None = None
    ) -> tuple[Sequence[Quantity], Sequence[Finding]] | None:
        """Compare published files with what their papers state, without stopping at the first mistake."""
        return None

    # Questions and replies

    @abstractmethod
    def prompt(self, question: Question) -> str:
        """Return the text that is sent, word for word."""

    def refusal_prompt(self, question: Question) -> str:
        """Return the prompt that invites a refusal, for the protocol of that name."""
        raise NotImplementedError

    def forced_choice_applies(self, question: Question) -> bool:
        """Return whether the question is asked again, after a refusal, without its refusal option."""
        return True

    def asked_together(self, question: Question) -> str:
        """Return a name that questions share of which a sample has all or none, such as the passes of one question."""
        return question.id

    def refusal_means(self, question: Question) -> str | None:
        """Return what the question's refusal option means: "none_of_options" or "cannot_tell".

        A reply that says this in other words chooses the refusal; one that abstains otherwise has the outcome
        "abstained" (docs/parsers.md). By default, the option's text tells it.
        """
        return None

    def variants(self) -> Mapping[str, Variant]:
        """Return the benchmark's own variants, by name."""
        return {}

    def protocols(self) -> Mapping[str, Protocol]:
        """Return the benchmark's own protocols, by name."""
        return {}

    def expected_reply(self, question: Question, turn: Turn) -> str:
        """Return the perfect reply to a turn without options (the choice of a view, say), for scripted respondents."""
        return ""

    @abstractmethod
    def official(self, text: str, question: Question) -> ParsedAnswer:
        """Parse a reply with the rule of the released code, bug for bug."""

    # Numbers

    def metrics(self) -> BenchmarkMetrics:
        """Return the metrics besides those of all benchmarks."""
        return BenchmarkMetrics()

    def audit(self, numbers: Published) -> Iterable[AuditFinding]:
        """Yield findings on published numbers that only this benchmark has. The package `known_unknowns_audit` asks."""
        return ()

    # Files of other tools, and of the benchmark's authors

    def exchange(self) -> Exchange:
        """Return the file formats of the benchmark's own tools, and the parser of questions in such files."""
        return Exchange()

    def released(self) -> Released | None:
        """Return how the benchmark's authors released replies of models."""
        return None

    # The report and the rendered edition

    def section(self) -> Section:
        """Return what the report says of this benchmark alone: the content of section.yaml, if the folder has one."""
        if self._module_file is None:  # a class of a notebook has no folder
            return Section(title=self.title)
        file = self.folder / "section.yaml"
        return read_section(file) if file.is_file() else Section(title=self.title)

    def section_data(self, run: Any, *, results: Path, data: Path) -> SectionData:
        """Return the data of figures and tables that the report cannot read from the metrics.

        Parameters
        ----------
        run : known_unknowns.metrics.run.Run
            What was measured.
        results, data : Path
            The edition's folders.
        """
        return SectionData()

    def pocket(self) -> Pocket | None:
        """Return the edition that is rendered offline, if the benchmark's folder has one.

        `known_unknowns.benchmark.registry.pocket_of` also finds those of `known_unknowns_pocket`.
        """
        return None

    # Data files

    @property
    def package(self) -> str:
        """The import name of the benchmark's folder."""
        spec = sys.modules[type(self).__module__].__spec__
        return type(self).__module__ if spec is None or spec.parent is None else spec.parent

    @property
    def folder(self) -> Path:
        """The folder of the benchmark's data files: published.yaml, licence.yaml, citation.bib, captions, templates."""
        file = self._module_file
        assert file is not None, "a class without a module's file has no data files"
        return Path(file).parent

    @property
    def _module_file(self) -> str | None:
        return getattr(sys.modules.get(type(self).__module__), "__file__", None)

    @property
    def published(self) -> tuple[Path, ...]:
        """The files of published numbers: published.yaml, then published_*.yaml; empty if there are none."""
        further = sorted({*self.folder.glob("published_*.yaml")} - {self.published_settings})
        return *self.folder.glob("published.yaml"), *further

    @property
    def published_settings(self) -> Path:
        """The file that says how the models of published rows were asked. It may be absent."""
        return self.folder / "published_settings.yaml"
