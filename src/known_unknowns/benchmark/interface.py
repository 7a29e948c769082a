"""The interface of a benchmark: what its folder provides, and the types of the functions it provides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

from known_unknowns.benchmark.terms import Terms, read_terms
from known_unknowns.errors import ConfigError
from known_unknowns.records import Question, Turn

if TYPE_CHECKING:
    from known_unknowns.benchmark.checks import Finding, Quantity
    from known_unknowns.comparison.audit import Finding as AuditFinding
    from known_unknowns.comparison.audit import Published
    from known_unknowns.config import DataEntry, ReleasedData, ResolvedProtocol
    from known_unknowns.exchange.formats import Exchange
    from known_unknowns.exchange.released import Released
    from known_unknowns.metrics.benchmark_hooks import BenchmarkMetrics
    from known_unknowns.progress import Advance
    from known_unknowns.protocols import Protocol as AskingProtocol
    from known_unknowns.report.section import Section
    from known_unknowns.scoring.parsed_answer import ParsedAnswer
    from known_unknowns.variants import Variant
    from known_unknowns_construction.generation import QuestionGenerator
    from known_unknowns_construction.interface import Construction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Lazy(Generic[T]):
    """A module's attribute that is imported at its first use.

    A benchmark's object is built on every start of the command line. Its functions are named by strings, so that
    asking questions imports no plotting library and ``--help`` imports nothing.

    Parameters
    ----------
    target : str
        ``"package.module:attribute"``.
    """

    target: str

    @property
    def module(self) -> str:
        """The module's dotted name."""
        return self.target.partition(":")[0]

    def get(self) -> T:
        """Import the module and return the attribute.

        Raises
        ------
        ConfigError
            If there is no such module, or it has no such attribute.
        """
        module, _, attribute = self.target.partition(":")
        try:
            found = sys.modules.get(module) or import_module(module)  # the look-up of a parser for each reply
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # of a library
            raise ConfigError(f"no module {error.name}", path=f'Lazy("{self.target}")') from None
        if not hasattr(found, attribute):
            raise ConfigError(f"the module has no {attribute!r}", path=f'Lazy("{self.target}")')
        return cast(T, getattr(found, attribute))


class Load(Protocol):
    """Read published files into questions.

    The function reads the files under ``raw``, writes each distinct image once to ``folder``/images with ``workers``
    processes, and yields the questions in published order. ``settings`` is the data's entry in params.yaml, for
    formats that need a description. It raises DataError with the file and row for anything not as published.
    """

    def __call__(
        self,
        raw: Path,
        folder: Path,
        *,
        settings: DataEntry | None = None,
        advance: Advance | None = None,
        workers: int = 1,
    ) -> Iterator[Question]: ...


class Check(Protocol):
    """Compare published files with what their papers state, without stopping at the first mistake."""

    def __call__(
        self, raw: Path, *, settings: DataEntry | None = None
    ) -> tuple[Sequence[Quantity], Sequence[Finding]]: ...


@dataclass(frozen=True, slots=True)
class Contents:
    """Numbers of questions in a folder of files: all, with a refusal option, and with an image; notes for people."""

    questions: int
    with_refusal: int
    with_images: int
    notes: tuple[str, ...] = ()


class Count(Protocol):
    """Count the questions of a folder of the user's own files; DataError lists all mistakes in them."""

    def __call__(self, folder: Path, *, settings: DataEntry | None = None) -> Contents: ...


class Render(Protocol):
    """Render a pocket edition's files.

    Parameters
    ----------
    out : Path
        Folder to write to. It is created.
    seed : int
        The seed of everything random.
    images : int
        Number of images.
    questions_per_image : int
        Number of questions of an image that has several.
    advance : callable, optional
        Called after each image.

    Returns
    -------
    Path
        What was written: the folder, or its only file.

    Raises
    ------
    ValueError
        If a number is out of range. Nothing is written.
    """

    def __call__(
        self, out: Path, *, seed: int, images: int, questions_per_image: int, advance: Advance | None = None
    ) -> Path: ...


@dataclass(frozen=True, slots=True)
class Pocket:
    """A small edition that is rendered offline.

    Attributes
    ----------
    render : Lazy[Render]
        The renderer of the published files.
    digest : Lazy
        The digest of its output.
    terms : Lazy[Terms]
        The licence.
    scenes : Lazy, optional
        Writes the scenes in the format of panoptic scene graphs, with images and masks, for construction.
    templates : Lazy[QuestionGenerator], optional
        The generator of the edition's questions. It needs no model, and is exact on the scenes.
    """

    render: Lazy[Render]
    digest: Lazy[Callable[[Path], str]]
    terms: Lazy[Terms]
    scenes: Lazy[Callable[..., Path]] | None = None
    templates: Lazy[QuestionGenerator] | None = None

    @classmethod
    def of(cls, module: str, *, terms: str | None = None, constructed: bool = False) -> Pocket:
        """Return the edition of a module, whose parts have fixed names.

        Parameters
        ----------
        module : str
            The name of a module with the functions ``build`` and ``content_digest``.
        terms : str, optional
            The name of the module of ``TERMS``; the same one, if absent.
        constructed : bool
            Whether the module also has ``write_scene_folder`` and ``TEMPLATES``, for construction.
        """
        return cls(
            render=Lazy(f"{module}:build"),
            digest=Lazy(f"{module}:content_digest"),
            terms=Lazy(f"{terms or module}:TERMS"),
            scenes=Lazy(f"{module}:write_scene_folder") if constructed else None,
            templates=Lazy(f"{module}:TEMPLATES") if constructed else None,
        )


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


Prompt = Callable[[Question], str]
OfficialParser = Callable[[str, Question], "ParsedAnswer"]
ExpectedReply = Callable[[Question, Turn], str]
Audit = Callable[["Published"], "Iterable[AuditFinding]"]


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """One benchmark: its name, and where each part of it is found.

    ``load``, ``prompt`` and ``official`` are required. A benchmark without one of the other parts runs all the same;
    that part is then empty.

    Attributes
    ----------
    name : str
        The key under ``benchmarks`` in params.yaml, and the name of the folder.
    title : str
        The name that people use.
    package : str
        The folder's import name, for its data files (published.yaml, licence.yaml, citation.bib,
        captions, templates, README.md).
    load : Lazy[Load]
        Published files to questions.
    load_without_images : Lazy, optional
        Published annotations (one file, or the folder of all) to questions, without reading images. If absent, only
        the folder of all published files can be read.
    contents : Lazy[Count], optional
        The contents of a folder of files, before they are loaded, for benchmarks whose questions differ in whether they
        have a refusal option or an image. Variants that fit no question are then left out of a run, and questions that
        a variant does not fit are left out of this variant.
    prompt : Lazy[Prompt]
        The text that is sent, word for word.
    refusal_prompt : Lazy[Prompt], optional
        The prompt that invites a refusal, for the protocol of that name.
    forced_choice_applies : Lazy, optional
        Which questions are asked again without their refusal option; all, if absent.
    official : Lazy[OfficialParser]
        The released code's parsing rule, bug for bug.
    variants : Lazy, optional
        The benchmark's own variants, by name.
    protocols : Lazy, optional
        The benchmark's own protocols, by name.
    expected_reply : Lazy, optional
        The perfect reply to a turn without options (the choice of a view, say), for scripted respondents.
    metrics : Lazy[BenchmarkMetrics], optional
        Metrics besides those of all benchmarks.
    forced_choice_metrics : frozenset of str
        Names of the metrics that are undefined unless every refused question was asked again.
    official_only_metrics : mapping of str to str
        Metrics that only the official parser has, and the metric of the other parsers that the comparison with
        published numbers uses instead.
    published_protocols : mapping of str to PublishedProtocol
        The protocols that the published numbers were measured with, by variant. Numbers of another protocol are not
        comparable. Other variants are not checked.
    plot : mapping of str to tuple of str
        Columns of the plot of stress tests that DVC draws: column to (variant, parser, metric). It is here, and not in
        ``metrics``, because the workflow names the plot's file without importing numeric libraries.
    check : Lazy[Check], optional
        Comparison of the published files with the papers.
    audit : Lazy[Audit], optional
        The findings on published numbers that only this benchmark has; those of any benchmark come besides
        (`known_unknowns.comparison.audit`).
    exchange : Lazy[Exchange], optional
        File formats of the benchmark's own tools, and the parser of questions in files of predictions.
    released : Lazy[Released], optional
        How the benchmark's authors released replies of models.
    load_released : Lazy, optional
        The questions of released replies, from the folder of fetched files, the folder to write, and the data's entry.
    report : Lazy[Section], optional
        What the report says of this benchmark alone.
    construction : Lazy[Construction], optional
        How questions of this benchmark are constructed from scene graphs, and the published format.
    pocket : Pocket, optional
        The rendered edition. The registry drops it if `known_unknowns_pocket`, which draws scenes, is not installed.
    """

    name: str
    title: str
    package: str
    load: Lazy[Load]
    prompt: Lazy[Prompt]
    official: Lazy[OfficialParser]
    load_without_images: Lazy[Callable[..., list[Question]]] | None = None
    contents: Lazy[Count] | None = None
    refusal_prompt: Lazy[Prompt] | None = None
    forced_choice_applies: Lazy[Callable[[Question], bool]] | None = None
    variants: Lazy[Mapping[str, Variant]] | None = None
    protocols: Lazy[Mapping[str, AskingProtocol]] | None = None
    expected_reply: Lazy[ExpectedReply] | None = None
    metrics: Lazy[BenchmarkMetrics] | None = None
    forced_choice_metrics: frozenset[str] = field(default=frozenset())
    official_only_metrics: Mapping[str, str] = field(default_factory=dict)
    published_protocols: Mapping[str, PublishedProtocol] = field(default_factory=dict)
    plot: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    check: Lazy[Check] | None = None
    audit: Lazy[Audit] | None = None
    exchange: Lazy[Exchange] | None = None
    released: Lazy[Released] | None = None
    load_released: Lazy[Callable[[Path, Path, ReleasedData], Iterator[Question]]] | None = None
    report: Lazy[Section] | None = None
    construction: Lazy[Construction] | None = None
    pocket: Pocket | None = None

    @property
    def folder(self) -> Path:
        """The folder of the benchmark's data files."""
        file = import_module(self.package).__file__
        if file is None:
            raise ImportError(f"the benchmark {self.name} has no folder: {self.package} is a namespace package")
        return Path(file).parent

    @property
    def terms(self) -> Terms:
        """The licence (licence.yaml) and the paper (citation.bib) of the published data."""
        return read_terms(self.folder, self.name, self.title)

    @property
    def source_terms(self) -> dict[str, Terms]:
        """The terms of the data sets that the benchmark is made from, by name (folders in ``sources``)."""
        return {folder.name: read_terms(folder, folder.name) for folder in sorted(self.folder.glob("sources/*/"))}

    @property
    def published(self) -> tuple[Path, ...]:
        """The files of published numbers: published.yaml, then published_*.yaml; empty if there are none."""
        return *self.folder.glob("published.yaml"), *sorted(self.folder.glob("published_*.yaml"))
