"""How a model is asked a benchmark's questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from known_unknowns.benchmark import registry
from known_unknowns.config import ModelEntry, Params, typed_model
from known_unknowns.config.locked_commits import commits
from known_unknowns.inference.bound_protocols import protocols_of
from known_unknowns.records import JUDGE, Cell, ResolvedProtocol


@dataclass(frozen=True)
class Asking:
    """What decides the replies of a model to a benchmark, besides the questions.

    Attributes
    ----------
    model : ModelEntry
        Its entry, for this benchmark.
    commits : mapping of str to str
        The locked commits of the model and of its adapter.
    cells : sequence of Cell
        The variants, seeds and samples.
    variants : mapping of str to str
        The function of each variant.
    protocols : mapping of str to ResolvedProtocol
        The protocol of each variant.
    refusal_parsers : sequence of str
        The parsers that decide whether a question is asked again.
    confidence : sequence of str
        The sources of a confidence that the model is asked for.
    """

    model: ModelEntry
    commits: Mapping[str, str | None]
    cells: Sequence[Cell]
    variants: Mapping[str, str]
    protocols: Mapping[str, ResolvedProtocol]
    refusal_parsers: Sequence[str]
    confidence: Sequence[str]

    @classmethod
    def of(cls, params: Params, model: str, benchmark: str) -> Asking:
        """Return that of a model and a benchmark of the configuration."""
        entry = params.model(model)
        return cls(
            model=entry.asked_in(benchmark),
            commits=commits(entry),
            cells=params.cells(benchmark, model),
            variants=params.functions(benchmark),
            protocols=params.protocols(benchmark),
            refusal_parsers=refusal_parsers(params, benchmark),
            confidence=params.confidence,
        )

    @classmethod
    def of_settings(cls, name: str, settings: Mapping[str, Any]) -> Asking:
        """Return that of the settings of a job. Their ``pace`` has the keys of the model that change no reply."""
        given = {field.name: settings[field.name] for field in fields(cls)}
        given["model"] = typed_model(name, settings["pace"] | settings["model"])
        given["cells"] = [Cell(*cell) for cell in settings["cells"]]
        given["protocols"] = {of: ResolvedProtocol.of(**entry) for of, entry in settings["protocols"].items()}
        return cls(**given)

    @property
    def settings(self) -> dict[str, Any]:
        """What is recorded with the replies, as plain values: all but the keys of the model that change none."""
        return {
            "model": self.model.reply_keys(),
            "commits": dict(self.commits),
            "cells": [list(cell) for cell in self.cells],
            "variants": dict(self.variants),
            "protocols": {name: protocol.plain() for name, protocol in self.protocols.items()},
            "refusal_parsers": list(self.refusal_parsers),
            "confidence": list(self.confidence),
        }


def refusal_parsers(params: Params, benchmark: str) -> list[str]:
    """Return the parsers that decide whether a question is asked again; none if no protocol of the benchmark does."""
    known = protocols_of(registry.get(benchmark))
    if not any(known[protocol.name].parses_refusals for protocol in params.protocols(benchmark).values()):
        return []
    return sorted(name for name in params.parsers if name != JUDGE)  # the judge is asked after all replies
