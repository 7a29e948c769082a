"""Run a generator over scene graphs, with a model or without."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from known_unknowns.config import ModelEntry
from known_unknowns.errors import ConfigError
from known_unknowns_construction.candidates import Candidate
from known_unknowns_construction.generation import (
    GenerationResult,
    QuestionGenerator,
    Rejection,
    candidates_of,
    collecting,
    without_model,
)
from known_unknowns_construction.model_replies import ask
from known_unknowns_construction.scene_graph import SceneGraph


@dataclass(frozen=True, slots=True)
class GenerationSummary:
    """Counts of a run of a generator. ``rejected`` counts reasons."""

    generator: str
    model: str | None
    images: int
    images_without_questions: int
    candidates: int
    kinds: Mapping[str, int]
    answers: Mapping[str, int]
    rejected: Mapping[str, int]
    newly_asked: int

    def as_json(self) -> str:
        """Return the summary as JSON text."""
        return json.dumps(asdict(self), indent=2) + "\n"


def run_generator(
    name: str,
    generator: QuestionGenerator,
    graphs: Sequence[SceneGraph],
    *,
    folder: Path,
    model: str | None = None,
    entry: ModelEntry | None = None,
    journal: Path | None = None,
    questions: int | None = None,
    seed: int = 0,
    benchmark: str = "",
) -> tuple[list[Candidate], list[tuple[str, Rejection]], GenerationSummary]:
    """Generate questions about every image.

    Parameters
    ----------
    name : str
        The generator's name, which candidates record.
    generator : QuestionGenerator
    graphs : sequence of SceneGraph
    folder : Path
        The folder of the graph file, which paths of images are relative to.
    model, entry, journal : optional
        The model's name in params.yaml, its entry, and the journal of its replies. A generator that uses a model needs
        all three.
    questions : int, optional
        About how many questions an image should have.
    seed : int
        The seed of template generators.
    benchmark : str
        The benchmark's name, for messages.

    Returns
    -------
    candidates : list of Candidate
        In the order of the graphs.
    rejected : list of (str, Rejection)
        With the id of the image.
    summary : GenerationSummary

    Raises
    ------
    ConfigError
        If the model is missing, or a generator without a model yields a turn.
    """
    newly_asked = 0
    if generator.needs_model:
        if model is None or entry is None or journal is None:
            raise ConfigError("it asks a model; name one of the section models", path=f"generators.{name}.model")
        results: dict[str, GenerationResult] = {}
        starts = generator.generate(graphs, questions=questions, seed=seed)
        dialogues = {graph.id: collecting(graph.id, start, results) for graph, start in starts}
        asked = ask(model, entry, dialogues, journal=journal, folder=folder)
        newly_asked = asked.newly_asked
        source = {
            "model": asked.facts.get("source") or model,
            "revision": asked.facts.get("revision"),
            "prompt": sha256(generator.prompt.encode()).hexdigest(),
        }
    else:
        results = without_model(name, generator, graphs, questions=questions, seed=seed, benchmark=benchmark)
        source = {"model": None, "revision": None, "prompt": None}
    candidates = list(candidates_of(name, results, graphs, source))
    rejected = [(graph.id, each) for graph in graphs if graph.id in results for each in results[graph.id].rejected]
    with_questions = {candidate.group for candidate in candidates}
    summary = GenerationSummary(
        generator=name,
        model=model if generator.needs_model else None,
        images=len(graphs),
        images_without_questions=len(graphs) - len(with_questions),
        candidates=len(candidates),
        kinds=_sorted_counts(candidate.kind for candidate in candidates),
        answers=_sorted_counts(candidate.answer for candidate in candidates),
        rejected=_sorted_counts(each.reason for _, each in rejected),
        newly_asked=newly_asked,
    )
    return candidates, rejected, summary


def _sorted_counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
