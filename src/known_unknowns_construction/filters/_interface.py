"""The interface of a filter, and what filters may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from known_unknowns_construction.candidates import Candidate
from known_unknowns_construction.scene_graph import SceneGraph

Finding = tuple[str, str]
"""The id of a candidate, and the reason in words for a reviewer."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A model's answer to a candidate in one attempt: the index of the option, or None if it cannot be parsed."""

    model: str
    attempt: int
    option: int | None


Ask = Callable[[Sequence[Candidate], bool], Mapping[str, Sequence[ModelAnswer]]]
"""Ask every configured model for candidates, with their images or without; the answers by candidate id."""


@dataclass(frozen=True, slots=True)
class Context:
    """What filters know besides the candidates."""

    graphs: Mapping[str, SceneGraph] = field(default_factory=dict)  # scene graphs by id; empty if there are none
    options: int | None = None  # the number of options that every question must have
    refusal: str | None = None  # the text of the last option of every question
    kinds: frozenset[str] = frozenset()  # the kinds that can be released; empty for any
    ask: Ask | None = None  # asks models; None if no model is configured
    seed: int = 0  # the seed of filters that draw


@dataclass(frozen=True, slots=True)
class Filter:
    """A check of candidates."""

    # returns the findings of candidates, at most one for each
    find: Callable[[Sequence[Candidate], Context], Iterable[Finding]]
    description: str  # one line for ``--help`` and the datasheet
    drops: bool  # whether candidates with a finding are dropped by default. Else they are flagged for the reviewer.
    needs: str = ""  # "graphs" or "models" if the filter is left out without them


def refusal_index(candidate: Candidate, context: Context) -> int | None:
    """Return the index of the refusal option, which is the last one, or None if there is none."""
    return None if context.refusal is None else len(candidate.options) - 1
