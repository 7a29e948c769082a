"""The sections of params.yaml besides ``models``, and the whole file (`Configuration`)."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, ConfigDict, Field, SerializeAsAny

from known_unknowns.config.base import Count, Entry, Name, Names, Seed, Seeds, Text, WithArguments
from known_unknowns.config.construction import ConstructionEntry
from known_unknowns.config.models import Model

_FILE = r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$"


class Edition(Entry):
    """One scenario: benchmarks, models and seeds."""

    nullable = frozenset({"limit"})

    data: Text | None = None
    """The key under ``data`` of every benchmark of this edition; by default the edition's own name."""
    benchmarks: Names
    models: Names
    seeds: Seeds
    published_models: bool = False
    """Whether every model of the catalogue with a published row of these benchmarks is added to ``models``."""
    samples: Count = 1
    """How often each question is asked, of models whose entry does not say it."""
    confidence: list[Literal["option_text", "verbalised"]] = []
    """What is asked after each answer (docs/metrics.md): option_text for the likelihood of each option's text, and
    verbalised for a number from 0 to 100."""
    variants: dict[Name, Names] = {}
    """Benchmark to the variants of this edition, if they are not those of the benchmark's entry."""
    limit: Annotated[int, Field(ge=0)] | None = None
    """At most this many questions of each benchmark: a sample of as many images as possible, the same for every model.
    0 is all, as without the key. A later run with a larger limit asks only the other questions."""


class ScenesData(Entry):
    """Questions on scenes that are rendered by known_unknowns_pocket."""

    source: Literal["scenes"]
    seed: Seed
    images: Count
    """Number of images."""
    questions_per_image: Count
    revision: Text
    """Digest of the content (pixels and texts)."""
    start_seed: Seed | None = None
    """Seed of the views that a protocol starts in, for benchmarks that draw them while loading."""


class QuestionFiles(Entry):
    """How files of questions are read whose form is not fixed (docs/own_data.md)."""

    nullable = frozenset({"images", "refusal"})

    fields: dict[str, str | list[str] | None] = {}
    """Field name of this project to the column in the files, or to several for options and images; null for none."""
    answer_is: Literal["auto", "text", "letter", "index", "number"] = "auto"
    """Content of the answer field: an index counts from 0, a number from 1. auto detects it."""
    refusal: Text | Names | None = None
    """Text of the refusal option, or several texts. If absent, standard phrasings are recognised; null for none."""
    images: str | None = None
    """Folder that image paths are relative to, within the folder; null for the folder of the file that names them."""
    without_image: bool = False
    """Whether a question may have no image."""
    options: Names | None = None
    """Options of every question, for files that have none: [Yes, No]."""
    only: dict[str, Text | Names] = {}
    """Column to the value, or the values, of the rows that are questions; other rows are ignored."""
    prompt: Text | None = None
    """Template of the prompt, with {question} and, as far as they are shown, {options} and {hint}."""
    refusal_prompt: Text | None = None
    """Template of the prompt that invites a refusal; {refusal} is the label of the refusal option."""


class HubData(QuestionFiles):
    """A data set on the hub, at one commit."""

    source: Literal["hub"]
    repository: Annotated[str, Field(pattern=r"^[^/]+/[^/]+$")]
    revision: Text
    files: dict[str, Text] = {}
    """Part of the benchmark to its file, or to a pattern for several files."""


class GitData(Entry):
    """A public git repository, at one commit."""

    source: Literal["git"]
    repository: Annotated[str, Field(pattern=r"^https://")]
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    start_seed: Seed | None = None
    """Seed of the views that a protocol starts in, for benchmarks that draw them while loading."""


class FolderData(QuestionFiles):
    """A folder of the user's own files (docs/own_data.md)."""

    source: Literal["folder"]
    path: Text
    """The folder, relative to the folder of params.yaml's project."""
    files: list[Text] = []
    """Patterns of the files with questions, within the folder; by default all of CSV, TSV, JSON, JSONL and Parquet."""


_COMMIT = r"^[0-9a-f]{7,40}$"


class ReleasedData(Entry):
    """Replies that a benchmark's authors released in a public git repository. The questions are those of the files."""

    source: Literal["released"]
    repository: Annotated[str, Field(pattern=r"^https://")]
    revision: Annotated[str, Field(pattern=_COMMIT)]
    """The first commit. An abbreviated one is looked up in the repository's branches; the lock has its full name."""
    further_revisions: list[Annotated[str, Field(pattern=_COMMIT)]] = []
    """Commits with more files. Of a path in several commits, the file of the first one counts."""
    files: Annotated[list[Text], Field(min_length=1)]
    """Patterns of the paths to fetch. ``*`` also matches slashes."""
    settings: dict[Text, Text] = {}
    """Name of a released setting to the variant."""
    questions: Text | None = None
    """Folder of the benchmark's own questions. If it is there, its images are shown."""
    start_seed: Seed | None = None
    """Seed of the views that a protocol starts in, for benchmarks that draw them while loading."""


class HttpData(Entry):
    """Files at plain addresses."""

    source: Literal["http"]
    home: Annotated[str, Field(pattern=r"^https?://")]
    """The publisher's page."""
    files: Annotated[
        dict[
            Annotated[str, Field(pattern=_FILE)],
            Annotated[str, Field(pattern=r"^https?://")] | None,
        ],
        Field(min_length=1),
    ]
    """Path within the folder to the file's address; null if it has no lasting address and is placed by hand."""


DataEntry = ScenesData | HubData | GitData | FolderData | ReleasedData | HttpData
BenchmarkData = Annotated[ScenesData | HubData | GitData | FolderData | ReleasedData, Field(discriminator="source")]


DEFAULT_PARSER, PARSER_ARGUMENT = "official", "parser"
"""The parser that does not appear in a variant's name, and the name of the protocols' argument."""


class ListedProtocol(Entry):
    """A protocol that the original questions are asked by, and the parsers that decide its next turn."""

    name: Text
    """An entry of ``protocols``."""
    parser: Text | Names = DEFAULT_PARSER
    """One parser or several. The variant of a parser other than "official" is called <protocol>_<parser>."""

    @property
    def variants(self) -> dict[str, dict[str, Any]]:
        """Name of each variant to the protocol's arguments."""
        if "parser" not in self.model_fields_set:
            return {self.name: {}}
        parsers = [self.parser] if isinstance(self.parser, str) else self.parser
        return {self.name + ("" if p == DEFAULT_PARSER else f"_{p}"): {PARSER_ARGUMENT: p} for p in parsers}


class BenchmarkEntry(Entry):
    """How a benchmark is asked, and where its data come from."""

    protocol: Text
    """The protocol of all variants that name none themselves."""
    protocols: list[Text | ListedProtocol] = []
    """Protocols that the original questions are asked by. Each is a variant called after the protocol."""
    variants: list[Text] = []
    """Variants of the questions. The report shows those of ``protocols`` first, then these, in this order."""
    seeds: dict[str, Seeds] = {}
    """Seeds of a variant, if they are not the edition's."""
    data: dict[Name, BenchmarkData] = {}
    """Name of a data source to the source. An edition selects one by ``data``."""
    sources: dict[Name, HttpData] = {}
    """Data sets that the benchmark was constructed from. No run needs them (known-unknowns data fetch NAME)."""

    @property
    def variants_of_protocols(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Name of each variant that ``protocols`` lists, to the protocol and the arguments given there."""
        found: dict[str, tuple[str, dict[str, Any]]] = {}
        for listed in self.protocols:
            if isinstance(listed, str):
                found[listed] = (listed, {})
            else:
                found |= {name: (listed.name, arguments) for name, arguments in listed.variants.items()}
        return found


class VariantEntry(WithArguments):
    """A function of known_unknowns.variants; the other keys are its arguments."""

    function: Text | None = None
    """The variant's function; by default the entry's own name."""
    protocol: Text | None = None
    """How the changed questions are asked; by default the benchmark's protocol."""


class ProtocolEntry(WithArguments):
    """A protocol's function; the other keys are its arguments."""

    function: Text | None = None
    """The protocol's function; by default the entry's own name."""
    max_new_tokens: Count | None = None
    """Maximum length of a reply, unless the model's entry sets its own."""


class Judge(Entry):
    """The language model that the parser judge asks which option a reply gives (docs/parsers.md)."""

    model: Text
    """A model of ``models`` or of the catalogue. It need not belong to an edition."""
    prompt: Literal[1] = 1
    """Version of the prompt."""


class Statistics(Entry):
    """Confidence intervals and tests. They use no random numbers."""

    confidence: Annotated[float, Field(gt=0.5, lt=1)]


def without_password(uri: str) -> str:
    """Return the address of a database with its password masked."""
    return re.sub(r"(://[^:/@]*):.*@", r"\1:***@", uri)


_STORES = ("databricks", "mssql", "mysql", "postgresql")
"""Kinds of addresses that MLflow logs runs to besides those of SQLite and servers. It refuses folders (``file:``)."""


def _sound_store(uri: str) -> str:
    """Refuse an address that is none of MLflow's. The text does not contain the address."""
    try:
        parts = urlsplit(uri)
        server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        server = False
    database = re.fullmatch(r"sqlite:///(?!:memory:)[^?]+", uri) is not None
    other = uri.partition(":")[0].partition("+")[0] in _STORES
    if uri.startswith("file:"):
        raise ValueError("MLflow logs no runs to a folder; write sqlite:///mlflow.db")
    if uri.startswith("sqlite:") and not database:
        raise ValueError("names no file; write sqlite:///mlflow.db")
    if re.search(r"[\s\x00-\x1f]", uri.strip(" ")) or not (server or database or other):
        raise ValueError("not an address of MLflow; write sqlite:///mlflow.db, or http://host:5000 for a server")
    return uri


class Tracking(Entry):
    """MLflow."""

    enabled: bool
    uri: Annotated[Text, AfterValidator(_sound_store)]
    """The tracking store."""
    artifacts: Text
    """Folder of the artifacts."""
    experiment: Text


class Report(Entry):
    """The report."""

    images: bool = True
    """Whether the question browser has copies of the images. Without them, the report can be passed on although the
    images may not."""


class Configuration(Entry):
    """The whole of params.yaml."""

    model_config = ConfigDict(title="params.yaml of Known Unknowns")

    edition: Text
    """The entry of ``editions`` that is run."""
    editions: Annotated[dict[Name, Edition], Field(min_length=1)]
    benchmarks: Annotated[dict[Name, BenchmarkEntry], Field(min_length=1)]
    variants: dict[Name, VariantEntry]
    protocols: dict[Name, ProtocolEntry]
    models: Annotated[dict[Name, SerializeAsAny[Model]], Field(min_length=1)]
    """Merged with the entries of the catalogue that are named here or in an edition."""
    parsers: Names
    judge: Judge | None = None
    """The language model of the parser judge."""
    statistics: Statistics
    tracking: Tracking
    report: Report = Report()
    construction: dict[Name, ConstructionEntry] = {}
    """Benchmarks that are built from scene graphs (docs/construction.md)."""
