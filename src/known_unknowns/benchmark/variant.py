"""The type of a variant: a pure function from a question to a question, and what it needs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from known_unknowns.records import Question

REFUSAL, IMAGE = "a refusal option", "an image"
"""What a variant may need (`Variant`)."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant's function, and what it needs.

    Parameters
    ----------
    function : callable
        A function of a question. It may take ``seed``, and settings of params.yaml, as keyword arguments.
    needs : str, optional
        `REFUSAL` or `IMAGE`: what the function changes, so that it is of no use for a question without it.
    keeps_meaning : callable, optional
        For a function that moves or removes options: whether a question's options that speak of others ("Both A and
        B", "None of the above") keep their meaning (`known_unknowns.benchmark.option_references`). If not, the question
        is left out, as is one with images of which it is unknown whose they are.
    removes : frozenset of str
        What it removes that a protocol may require (`known_unknowns.benchmark.protocol.Protocol.requires`).
    corrects : bool
        Whether it corrects published answers, so that another answer can be right without another turn.
    content_free : bool
        Whether no image with content is left, so that nothing can be answered. Such variants have no ranking and no
        test by accuracy, only the share of questions for which this was recognised (docs/metrics.md).
    """

    function: Callable[..., Question]
    needs: str | None = None
    keeps_meaning: Callable[[Question], bool] | None = None
    removes: frozenset[str] = field(default=frozenset())
    corrects: bool = False
    content_free: bool = False

    @property
    def name(self) -> str:
        """The function's name, under which params.yaml refers to it."""
        return self.function.__name__

    @property
    def draws(self) -> bool:
        """Whether the changed question depends on the seed."""
        return "seed" in parameters_of(self.function)

    def __call__(self, question: Question, *, seed: int = 0, **arguments: Any) -> Question:
        """Return the changed question."""
        if self.draws:
            arguments["seed"] = seed
        return self.function(question, **arguments)

    def fits(self, question: Question) -> bool:
        """Whether the question has what the variant needs."""
        return {REFUSAL: question.refusal is not None, IMAGE: bool(question.images), None: True}[self.needs]


@cache
def parameters_of(function: Callable[..., Question]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a variant's function by name."""
    return inspect.signature(function).parameters


def by_name(variants: Iterable[Variant]) -> dict[str, Variant]:
    """Return variants by the names of their functions."""
    return {variant.name: variant for variant in variants}
