"""The steps of a construction in params.yaml, and its folder.

| file in construction/<name>/   | content                                                                       |
|--------------------------------|-------------------------------------------------------------------------------|
| `graphs.jsonl`                 | scene graphs; `images/` and `masks/` hold their files, named by their sha256   |
| `described.jsonl`              | the same with descriptions; `attributes.json` has the counts                   |
| `candidates.<generator>.jsonl` | what a generator made; `generation.<generator>.json` has counts and rejections |
| `filtered.jsonl`               | the release candidate: what the filters kept, with flags                      |
| `dropped.jsonl`                | what they dropped, with reasons; `filters.json` has the counts                 |
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.interface import Benchmark
from known_unknowns.config import Params
from known_unknowns.config.construction import ConstructionEntry
from known_unknowns.data.terms import read_terms
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.files import write_text
from known_unknowns.progress import progress
from known_unknowns_construction import attributes, filters, importing, psg
from known_unknowns_construction.benchmarks import construction_of
from known_unknowns_construction.candidates import read_candidates
from known_unknowns_construction.filters.answers import asker
from known_unknowns_construction.generation import TEMPLATES, QuestionGenerator, run_generator, sorted_counts
from known_unknowns_construction.interface import Construction
from known_unknowns_construction.jsonl import write_records
from known_unknowns_construction.scene_graph import SceneGraph, read_graphs


@dataclass(frozen=True)
class Workspace:
    """An entry of the section ``construction``, and where its files are below the project's folder ``root``."""

    params: Params
    name: str
    root: Path = Path()

    @property
    def entry(self) -> ConstructionEntry:
        """The settings. Raises ConfigError for an unknown name."""
        return self.params.construction(self.name)

    @property
    def folder(self) -> Path:
        return self.root / "construction" / self.name

    @property
    def benchmark(self) -> Benchmark:
        return registry.get(self.entry.benchmark)

    @property
    def construction(self) -> Construction:
        """The benchmark's part. Raises ConfigError if it has none."""
        part = construction_of(self.entry.benchmark)
        if part is None:
            raise ConfigError("the benchmark cannot be constructed", path=f"construction.{self.name}.benchmark")
        return part

    @property
    def graphs(self) -> Path:
        """The scene graphs that questions are made from."""
        return self.folder / ("described.jsonl" if self.entry.attributes else importing.GRAPHS)

    @property
    def filtered(self) -> Path:
        return self.folder / "filtered.jsonl"

    def candidates(self, generator: str) -> Path:
        return self.folder / f"candidates.{generator}.jsonl"

    def journal(self, step: str, model: str) -> Path:
        return self.root / "journal" / "construction" / self.name / f"{step}.{model}.jsonl"

    def made(self, path: Path, step: str, *arguments: str) -> Path:
        """Return a file that an earlier step makes. Raises DataError with the command if it is missing."""
        if not path.is_file():
            command = " ".join(["known-unknowns construct", step, self.name, *arguments])
            raise DataError(f"not made yet; run  {command}", file=path)
        return path

    def read_graphs(self) -> Iterator[SceneGraph]:
        """Yield the scene graphs that questions are made from."""
        return read_graphs(self.made(self.graphs, "attributes" if self.entry.attributes else "graphs"))

    def generators(self) -> dict[str, QuestionGenerator]:
        """Return the generators that the benchmark has."""
        found = dict(self.construction.generators)
        pocket = registry.pocket_of(self.entry.benchmark)
        if pocket is not None and pocket.templates is not None:
            found[TEMPLATES] = pocket.templates
        return found


def import_graphs(work: Workspace) -> int:
    """Write ``graphs.jsonl``, the images and the masks, and return the number of images."""
    entry, out = work.entry, work.folder
    if entry.psg is not None:
        source = Path(entry.psg.path).expanduser() / "psg.json"
        only = psg.sample(source, entry.psg.images, entry.psg.seed)
        return _write(work, psg.read_annotations(source), source.parent, entry.psg.images, only, entry.psg.licence)
    pocket = registry.pocket_of(entry.benchmark)
    assert entry.scenes is not None and pocket is not None and pocket.scenes is not None  # checked with params.yaml
    rendered = out / "rendered"
    with progress("rendering scenes", entry.scenes.images) as advance:
        source = pocket.scenes(rendered, seed=entry.scenes.seed, images=entry.scenes.images, advance=advance)
    licence = read_terms(pocket.folder, "scenes").licence
    return _write(work, psg.read_annotations(source), rendered, entry.scenes.images, None, licence)


def describe(work: Workspace) -> dict[str, Any]:
    """Write ``described.jsonl`` and ``attributes.json``, and return the counts."""
    model = work.entry.attributes
    if model is None:
        raise ConfigError("no model describes objects; name one", path=f"construction.{work.name}.attributes")
    described, counts = attributes.describe(
        list(read_graphs(work.made(work.folder / importing.GRAPHS, "graphs"))),
        model=model,
        entry=work.params.model(model),
        journal=work.journal("attributes", model),
        folder=work.folder,
    )
    write_records(work.folder / "described.jsonl", described)
    _write_json(work.folder / "attributes.json", counts)
    return counts


def generate(work: Workspace, generator: str) -> dict[str, Any]:
    """Write the candidates of a generator and its ``generation.<generator>.json``, and return the counts."""
    settings, known = work.entry.generators, work.generators()
    for names, path in ((settings, "GENERATOR"), (known, f"construction.{work.name}.generators")):
        if generator not in names:
            raise ConfigError(unknown_name(generator, names), path=path)
    model = settings[generator].model
    candidates, report = run_generator(
        generator,
        known[generator],
        list(work.read_graphs()),
        folder=work.folder,
        model=model,
        entry=None if model is None else work.params.model(model),
        journal=None if model is None else work.journal(f"generation.{generator}", model),
        questions=settings[generator].questions,
        seed=work.entry.seed,
    )
    write_records(work.candidates(generator), candidates)
    _write_json(work.folder / f"generation.{generator}.json", report)
    return {name: value for name, value in report.items() if name != "rejections"}


def filter_candidates(work: Workspace) -> dict[str, Any]:
    """Write ``filtered.jsonl``, ``dropped.jsonl`` and ``filters.json``, and return the counts."""
    settings, part = work.entry.filters, work.construction
    files = [work.made(work.candidates(name), "generate", name) for name in work.entry.generators]
    candidates = [each for file in files for each in read_candidates(file)]
    ask = None
    if settings.models:
        ask = asker(
            work.params,
            work.benchmark,
            settings.models,
            attempts=settings.attempts,
            folder=work.folder,
            journals=work.journal("answers", "x").parent / "answers",
            refusal=part.refusal is not None,
        )
    context = filters.Context(
        graphs={graph.id: graph for graph in work.read_graphs()},
        options=part.options,
        refusal=part.refusal,
        kinds=frozenset(part.kinds),
        ask=ask,
        seed=work.entry.seed,
    )
    found = filters.apply(candidates, context, without=settings.without, flag=settings.flag)
    write_records(work.filtered, found.kept)
    write_records(work.folder / "dropped.jsonl", found.dropped)
    counts = {
        "candidates": len(candidates),
        "kept": len(found.kept),
        "flagged": sum(bool(candidate.flags) for candidate in found.kept),
        "dropped": len(found.dropped),
        "filters": [asdict(count) for count in found.counts],
        "left_out": dict(found.left_out),
        "kept_by_generator": sorted_counts(str(candidate.source.get("generator")) for candidate in found.kept),
        "kept_by_kind": sorted_counts(candidate.kind for candidate in found.kept),
    }
    _write_json(work.folder / "filters.json", counts)
    return counts


def _write(
    work: Workspace,
    annotations: Iterator[psg.Annotation],
    source: Path,
    total: int | None,
    only: Any,
    licence: str | None,
) -> int:
    found = importing.import_graphs(annotations, source, work.folder, only=only, licence=licence)
    with progress("importing images", total or 0) as advance:
        return write_records(work.folder / importing.GRAPHS, _advancing(found, advance))


def _advancing(graphs: Iterator[SceneGraph], advance: Any) -> Iterator[SceneGraph]:
    for graph in graphs:
        yield graph
        advance()


def _write_json(path: Path, values: Any) -> None:
    write_text(path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")
