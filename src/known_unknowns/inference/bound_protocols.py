"""How the questions of a benchmark are asked: generic protocols and the benchmark's own, bound to its prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from known_unknowns import protocols
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.interface import Benchmark
from known_unknowns.benchmark.protocol import MANY, Context, Dialogue, Protocol
from known_unknowns.config import ResolvedProtocol
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.records import AnswerKey, Question, Turn
from known_unknowns.scoring.refusal import may_have_refused
from known_unknowns.variants.of_benchmark import variants_of


def protocols_of(benchmark: Benchmark) -> dict[str, Protocol]:
    """Return the protocols that the benchmark's questions can be asked by: the generic ones and its own."""
    return {**protocols.PROTOCOLS, **benchmark.protocols()}


def every_protocol() -> dict[str, Protocol]:
    """Return the protocols of all registered benchmarks."""
    found = dict(protocols.PROTOCOLS)
    for name in registry.names():
        found |= protocols_of(registry.get(name))
    return found


def context_of(benchmark: Benchmark, parsers: Sequence[str]) -> Context:
    """Return what protocols need of a benchmark. The configured ``parsers`` decide whether a reply is a refusal."""
    return Context(
        prompt=benchmark.prompt,
        refused=partial(may_have_refused, parsers=tuple(parsers)),
        refusal_prompt=benchmark.refusal_prompt if benchmark.has("refusal_prompt") else None,
        forced_choice_applies=benchmark.forced_choice_applies,
    )


def bound(
    benchmark: Benchmark, entry: ResolvedProtocol, *, parsers: Sequence[str], images: str = MANY
) -> Callable[[Question], Dialogue]:
    """Return a protocol as a function of the question alone.

    Parameters
    ----------
    benchmark : Benchmark
        The questions' benchmark.
    entry : ResolvedProtocol
        The protocol.
    parsers : sequence of str
        The configured parsers.
    images : str
        The model's image support, for protocols that show several images at once.

    Raises
    ------
    ConfigError
        If the benchmark has no such protocol.
    """
    known = protocols_of(benchmark)
    if entry.name not in known:
        raise ConfigError(unknown_name(entry.name, known), path=f"benchmarks.{benchmark.name}.protocol")
    return known[entry.name].bind(entry, context=context_of(benchmark, parsers), images=images)


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


def answer_key(question: Question, turn: Turn) -> AnswerKey:
    """Return what a scripted respondent may know of a turn: the expected reply, and the label of the refusal."""
    if turn.labels is not None:
        return AnswerKey(
            _offered(question, question.answer, turn.labels), _offered(question, question.refusal, turn.labels)
        )
    return AnswerKey(registry.get(question.benchmark).expected_reply(question, turn))


def _offered(question: Question, index: int | None, labels: tuple[str, ...]) -> str:
    """The label of an option if it is one of these, else an empty text."""
    label = "" if index is None else question.options[index].label
    return label if label in labels else ""
