"""Prompts of answers from files, which do not hold them: those of the variant's own protocol."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace

from known_unknowns.benchmark import registry
from known_unknowns.config import ResolvedProtocol
from known_unknowns.exchange.formats import QuestionTurns
from known_unknowns.inference.bound_protocols import bound


def with_prompts(pairs: Sequence[QuestionTurns], benchmark: str, protocol: str) -> list[QuestionTurns]:
    """Return the turns with the prompts of one of the benchmark's own protocols, as far as these are known.

    A benchmark can parse a reply by the prompt. A dialogue with several requests, or a
    protocol that needs arguments, is left without prompts.
    """
    own = registry.get(benchmark).protocols().get(protocol)
    if own is None:
        return list(pairs)
    parameters = inspect.signature(own.function).parameters.values()
    if any(p.default is p.empty and p.name != "question" for p in parameters):
        return list(pairs)
    ask = bound(registry.get(benchmark), ResolvedProtocol(name=protocol), parsers=())
    found = []
    for question, turns in pairs:
        text = next(ask(question)).text if len(turns) == 1 else ""
        found.append((question, [replace(turn, text=text) for turn in turns]))
    return found
