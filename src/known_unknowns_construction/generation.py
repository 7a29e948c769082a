"""Generators of questions: their interface, and candidates from what they made.

A generator yields a dialogue for each image. The dialogue of a generator that uses a model yields turns, as a protocol
does; that of a template generator yields none. Both return `GenerationResult`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from known_unknowns.errors import ConfigError
from known_unknowns.records import Reply, Turn
from known_unknowns_construction.candidates import Candidate, Flag
from known_unknowns_construction.prompts import one_line
from known_unknowns_construction.scene_graph import Node, SceneGraph

if TYPE_CHECKING:
    from known_unknowns.benchmark.protocol import Dialogue

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
    """A way to make questions.

    Attributes
    ----------
    description : str
        One line for ``--help`` and the datasheet.
    generate : callable
        See `Generate`.
    needs_model : bool
        Whether its dialogues have turns.
    prompt : str
        The prompt's template; its digest is part of every candidate's source.
    """

    description: str
    generate: Generate
    needs_model: bool
    prompt: str = ""


def problem_of(reply: Reply) -> Rejection | None:
    """Return why a reply holds no questions: refused, empty or failed; None if it has text."""
    if reply.finish in ("refusal", "content_filter"):
        return Rejection("refused", one_line(reply.error or ""))
    if reply.error is not None:
        return Rejection("failed", one_line(reply.error))
    if not reply.text.strip():
        return Rejection("empty")
    return None


def collecting(
    key: str, start: Callable[[], GeneratorDialogue], results: dict[str, GenerationResult]
) -> Callable[[], Dialogue]:
    """Return a dialogue that stores what a generator's dialogue returns under a key of ``results``."""

    def dialogue() -> Dialogue:
        results[key] = yield from start()

    return dialogue


def without_model(
    name: str,
    generator: QuestionGenerator,
    graphs: Sequence[SceneGraph],
    *,
    questions: int | None,
    seed: int,
    benchmark: str = "",
) -> dict[str, GenerationResult]:
    """Run a generator that needs no model, and return what it made of each image.

    ``benchmark`` is named in the message of an error.

    Raises
    ------
    ConfigError
        If it yields a turn.
    """
    results: dict[str, GenerationResult] = {}
    for graph, start in generator.generate(graphs, questions=questions, seed=seed):
        for _ in collecting(graph.id, start, results)():
            raise ConfigError(
                "it yields a turn, but its needs_model is False; set needs_model=True in its QuestionGenerator",
                path=f"the generator {name!r}{f' of the benchmark {benchmark!r}' if benchmark else ''}",
            )
    return results


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
