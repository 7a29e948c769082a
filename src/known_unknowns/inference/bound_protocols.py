"""How the questions of a benchmark are asked: generic protocols and the benchmark's own, bound to its prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from known_unknowns import protocols
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.interface import Benchmark
from known_unknowns.benchmark.protocol import CONFIDENCE, MANY, Context, Dialogue, Protocol
from known_unknowns.config import InferenceSettings, ModelEntry
from known_unknowns.config.models import QUESTION
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.records import AnswerKey, Question, ResolvedProtocol, Turn
from known_unknowns.scoring.refusal import may_have_refused
from known_unknowns.variants.of_benchmark import variants_of

_BY_PROTOCOL = InferenceSettings()
"""Questions are asked as the protocol says."""


def protocols_of(benchmark: Benchmark) -> dict[str, Protocol]:
    """Return the protocols that the benchmark's questions can be asked by: the generic ones and its own."""
    return {**protocols.PROTOCOLS, **benchmark.protocols()}


def every_protocol() -> dict[str, Protocol]:
    """Return the protocols of all registered benchmarks."""
    every = dict(protocols.PROTOCOLS)
    for name in registry.names():
        every |= protocols_of(registry.get(name))
    return every


def context_of(benchmark: Benchmark, parsers: Sequence[str], settings: InferenceSettings = _BY_PROTOCOL) -> Context:
    """Return what protocols need of a benchmark. The configured ``parsers`` decide whether a reply is a refusal."""
    template = settings.prompt
    return Context(
        prompt=benchmark.prompt if template is None else lambda q: template.replace(QUESTION, q.rendered),
        refused=partial(may_have_refused, parsers=tuple(parsers), kept=settings.kept),
        refusal_prompt=benchmark.refusal_prompt if benchmark.has("refusal_prompt") else None,
        forced_choice_applies=benchmark.forced_choice_applies,
    )


def bound(
    benchmark: Benchmark,
    entry: ResolvedProtocol,
    *,
    parsers: Sequence[str],
    model: ModelEntry | None = None,
    confidence: Sequence[str] = (),
) -> Callable[[Question], Dialogue]:
    """Return a protocol as a function of the question alone.

    Every question of every model is asked through this function, so that ``prompt`` and ``order`` of a model's entry
    apply to all protocols of all benchmarks (`ignored_prompt` tells which have texts of their own).

    ``parsers`` are the configured ones, ``model`` is the model's entry for this benchmark (``asked_in``): its image
    support, prompt, order, and what is kept. ``confidence`` has the edition's sources of a confidence.

    Raises ConfigError if the benchmark has no such protocol.
    """
    known = protocols_of(benchmark)
    if entry.name not in known:
        raise ConfigError(unknown_name(entry.name, known), path=f"benchmarks.{benchmark.name}.protocol")
    settings = model if isinstance(model, InferenceSettings) else _BY_PROTOCOL
    return known[entry.name].bind(
        entry,
        context=context_of(benchmark, parsers, settings),
        images=MANY if model is None else model.images,
        order=settings.order,
        confidence=confidence,
    )


def impossible_combination(benchmark: Benchmark, variant: str, protocol: str) -> str | None:
    """Return why a protocol cannot ask the benchmark's questions in a variant, or None if it can.

    ``variant`` and ``protocol`` are the names of functions. ``variant`` must be one of the benchmark's. An unknown
    protocol is not a problem of the combination; `protocols.check_arguments` reports it.
    """
    known = protocols_of(benchmark)
    if protocol not in known:
        return f"{protocol!r} is a protocol of another benchmark; {benchmark.name} has {', '.join(known)}"
    return protocols.impossible(
        known[protocol],
        variant=variants_of(benchmark.name)[variant],
        has_refusal_prompt=benchmark.has("refusal_prompt"),
    )


def ignored_prompt(benchmark: Benchmark, protocols: Iterable[str], model: ModelEntry) -> str | None:
    """Return the first of some protocols whose turns would not use the prompt of a model's entry; None if all do."""
    if not isinstance(model, InferenceSettings) or model.asked_in(benchmark.name).prompt is None:
        return None
    known = protocols_of(benchmark)
    return next((name for name in protocols if name in known and not known[name].uses_prompt), None)


def answer_key(question: Question, turn: Turn) -> AnswerKey:
    """Return what a scripted respondent may know of a turn: the expected reply, and the label of the refusal."""
    if turn.step == CONFIDENCE:
        return AnswerKey("100", "0")
    if turn.labels is not None:
        return AnswerKey(
            _offered(question, question.answer, turn.labels), _offered(question, question.refusal, turn.labels)
        )
    return AnswerKey(registry.get(question.benchmark).expected_reply(question, turn))


def _offered(question: Question, index: int | None, labels: tuple[str, ...]) -> str:
    """The label of an option if it is one of these, else an empty text."""
    label = "" if index is None else question.options[index].label
    return label if label in labels else ""
