"""Generators of questions: their interface, and candidates from what they made.

A generator yields a dialogue for each image. The dialogue of a generator that uses a model yields turns, as a protocol
does; that of a template generator yields none. Both return `GenerationResult`.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from known_unknowns.benchmark.protocol import Dialogue
from known_unknowns.config import ModelEntry
from known_unknowns.errors import ConfigError
from known_unknowns.records import Reply, Turn
from known_unknowns_construction.candidates import Candidate, Flag
from known_unknowns_construction.model_replies import ask
from known_unknowns_construction.prompts import one_line
from known_unknowns_construction.scene_graph import Node, SceneGraph

TEMPLATES = "scenes"
"""Name of the template generator of rendered scenes (`known_unknowns.benchmark.pocket.Pocket.templates`)."""

MAX_TEXT = 1000
"""Longer questions and options are rejected."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question before it has an id, an image and a source. ``objects`` are ids of nodes; None finds them by name."""

    question: str
    options: tuple[str, ...]
    answer: str
    kind: str
    objects: tuple[str, ...] | None = None
    flags: tuple[Flag, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rejection:
    """A reply, or an entry of a reply, that is not a question: the reason and the beginning of its text."""

    reason: str
    detail: str = ""


@dataclass(slots=True)
class GenerationResult:
    """What one dialogue made: drafts, and what was rejected."""

    drafts: list[Draft] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)


GeneratorDialogue = Generator[Turn, Reply, GenerationResult]
Generate = Callable[..., Iterator[tuple[SceneGraph, Callable[[], GeneratorDialogue]]]]
"""From scene graphs, ``questions`` (about how many for an image; None for the generator's own number) and ``seed`` to a
function for each image that starts its dialogue."""


@dataclass(frozen=True, slots=True)
class QuestionGenerator:
    """A way to make questions."""

    description: str  # one line for ``--help`` and the datasheet
    generate: Generate
    needs_model: bool  # whether its dialogues have turns
    prompt: str = ""  # the prompt's template; its digest is part of every candidate's source


def problem_of(reply: Reply) -> Rejection | None:
    """Return why a reply holds no questions: refused, empty or failed; None if it has text."""
    if reply.finish in ("refusal", "content_filter"):
        return Rejection("refused", one_line(reply.error or ""))
    if reply.error is not None:
        return Rejection("failed", one_line(reply.error))
    if not reply.text.strip():
        return Rejection("empty")
    return None


def finished(drafts: Iterable[Draft]) -> GeneratorDialogue:
    """Dialogue without turns: that of a template generator."""
    yield from ()
    return GenerationResult(list(drafts))


def balanced_places(rng: random.Random) -> Iterator[int]:
    """Yield places of the right option without end, each of the five once in every five."""
    while True:
        yield from rng.sample(range(5), 5)


def without_model(
    generator: QuestionGenerator, graphs: Sequence[SceneGraph], *, questions: int | None, seed: int
) -> dict[str, GenerationResult]:
    """Run a generator whose dialogues have no turns, and return what it made of each image."""
    results: dict[str, GenerationResult] = {}
    for graph, start in generator.generate(graphs, questions=questions, seed=seed):
        try:
            turn = next(start())
        except StopIteration as done:
            results[graph.id] = done.value
        else:
            raise ValueError(f"it yields the turn {turn.step!r}; set needs_model=True in its QuestionGenerator")
    return results


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
) -> tuple[list[Candidate], dict[str, Any]]:
    """Return the questions about every image in order, and a report.

    ``folder`` is that of the graph file, which paths of images are relative to. A generator that uses a model needs its
    name in params.yaml, its entry there, and the journal of its replies; ConfigError is raised if the model is missing.
    ``questions`` is about how many an image should have, ``seed`` that of template generators. The report has counts;
    its ``rejections`` are the reason and the image of each reply, or entry of a reply, that is no question.
    """
    source: dict[str, Any] = {"model": None, "revision": None, "prompt": None}
    newly_asked = 0
    if not generator.needs_model:
        results = without_model(generator, graphs, questions=questions, seed=seed)
    elif model is None or entry is None or journal is None:
        raise ConfigError("it asks a model; name one of the section models", path=f"generators.{name}.model")
    else:
        results = {}

        def collected(key: str, start: Callable[[], GeneratorDialogue]) -> Dialogue:
            results[key] = yield from start()

        starts = generator.generate(graphs, questions=questions, seed=seed)
        dialogues = {graph.id: partial(collected, graph.id, start) for graph, start in starts}
        asked = ask(model, entry, dialogues, journal=journal, folder=folder)
        newly_asked = asked.newly_asked
        source = {
            "model": asked.facts.get("source") or model,
            "revision": asked.facts.get("revision"),
            "prompt": sha256(generator.prompt.encode()).hexdigest(),
        }
    candidates = list(candidates_of(name, results, graphs, source))
    rejected = [(graph.id, each) for graph in graphs if graph.id in results for each in results[graph.id].rejected]
    return candidates, {
        "generator": name,
        "model": model if generator.needs_model else None,
        "images": len(graphs),
        "images_without_questions": len(graphs) - len({candidate.group for candidate in candidates}),
        "candidates": len(candidates),
        "kinds": sorted_counts(candidate.kind for candidate in candidates),
        "answers": sorted_counts(candidate.answer for candidate in candidates),
        "rejected": sorted_counts(each.reason for _, each in rejected),
        "newly_asked": newly_asked,
        "rejections": [{"image": image, **asdict(each)} for image, each in rejected],
    }


def sorted_counts(values: Iterable[str]) -> dict[str, int]:
    """Return how often each value occurs, sorted by value."""
    return dict(sorted(Counter(values).items()))


def candidates_of(
    name: str, results: Mapping[str, GenerationResult], graphs: Iterable[SceneGraph], source: Mapping[str, Any]
) -> Iterator[Candidate]:
    """Yield the drafts as candidates, in the order of the graphs. ``source`` says what generated them."""
    for graph in graphs:
        for number, draft in enumerate(results[graph.id].drafts if graph.id in results else ()):
            yield _candidate(f"{name}-{graph.id}-{number}", draft, graph, {"generator": name, **source})


def mentioned(nodes: Iterable[Node], *texts: str) -> tuple[str, ...]:
    """Return the ids of the objects whose name, or its plural, is a part of a text."""
    joined = " ".join(texts).casefold()
    return tuple(
        node.id for node in nodes if re.search(rf"(?<!\w){re.escape(node.spoken.casefold())}(?:e?s)?(?!\w)", joined)
    )


def _candidate(identifier: str, draft: Draft, graph: SceneGraph, source: Mapping[str, Any]) -> Candidate:
    if draft.objects is None:
        right = draft.options[ord(draft.answer) - ord("A")]
        ids: tuple[str, ...] = mentioned(graph.objects, draft.question, right)
    else:
        ids = draft.objects
    return Candidate(
        id=identifier,
        image=graph.image,
        question=draft.question,
        options=draft.options,
        answer=draft.answer,
        kind=draft.kind,
        group=graph.id,
        objects=tuple(graph.node(each).as_scene_object() for each in ids),
        flags=draft.flags,
        source={**source, **draft.extra},
    )
