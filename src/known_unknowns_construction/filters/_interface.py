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
    """What filters know besides the candidates.

    Attributes
    ----------
    graphs : mapping
        Scene graphs by id; empty if there are none.
    options : int, optional
        The number of options that every question must have.
    refusal : str, optional
        The text of the last option of every question.
    kinds : collection of str
        The kinds that can be released; empty for any.
    ask : Ask, optional
        Asks models; None if no model is configured.
    seed : int
        The seed of filters that draw.
    """

    graphs: Mapping[str, SceneGraph] = field(default_factory=dict)
    options: int | None = None
    refusal: str | None = None
    kinds: frozenset[str] = frozenset()
    ask: Ask | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Filter:
    """A check of candidates.

    Attributes
    ----------
    find : callable
        Returns the findings of candidates, at most one for each.
    description : str
        One line for ``--help`` and the datasheet.
    drops : bool
        Whether candidates with a finding are dropped by default. Else they are flagged for the reviewer.
    needs : str
        "graphs" or "models" if the filter is left out without them.
    """

    find: Callable[[Sequence[Candidate], Context], Iterable[Finding]]
    description: str
    drops: bool
    needs: str = ""


def refusal_index(candidate: Candidate, context: Context) -> int | None:
    """Return the index of the refusal option, which is the last one, or None if there is none."""
    return None if context.refusal is None else len(candidate.options) - 1
