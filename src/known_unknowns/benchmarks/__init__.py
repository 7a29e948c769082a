"""The benchmarks, by name. A benchmark is a module with five things, and a mention here:

- ``read(raw, folder, *, settings=None, advance=None, workers=1) -> Iterator[Question]``: read the published files under
  ``raw``, write the pictures under ``folder``/images (named by their sha256), in so many processes, and yield the
  questions in published order; ``settings`` is the data's entry in params.yaml, for formats that it must describe;
  ``load``, with the same arguments, is the list of them;
- ``prompt(question) -> str``: the text that is sent, word for word;
- ``official(text, question) -> Reading``: the released code's rule, bug for bug;
- ``PUBLISHED``: the file of published numbers beside it (see `known_unknowns.published`).

It may have two more, for the protocols of the same names: ``refusal_prompt(question) -> str``, and
``forces(question) -> bool``, which says of which questions a forced choice is asked (of all, where it is absent).

What it counts besides the metrics of all benchmarks stands in a module of its own, so that asking needs no NumPy: see
`known_unknowns.metrics.own`, and `METRICS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Item = TypeVar("Item")

BENCHMARKS: dict[str, str] = {
    "humblebench": "known_unknowns.benchmarks.humblebench",
    "mmsap": "known_unknowns.benchmarks.mmsap",
    "actiview": "known_unknowns.benchmarks.actiview",
}
METRICS: dict[str, str] = {
    "humblebench": "known_unknowns.benchmarks.humblebench_metrics",
    "mmsap": "known_unknowns.benchmarks.mmsap_metrics",
    "actiview": "known_unknowns.benchmarks.actiview_metrics",
}
"""The modules of the metrics that only one benchmark has."""


def get(name: str) -> ModuleType:
    """The benchmark's module. KeyError for a name that is not in `BENCHMARKS`."""
    return import_module(BENCHMARKS[name])


def metrics(name: str) -> ModuleType | None:
    """The module of the benchmark's own metrics; None where it has none."""
    return import_module(METRICS[name]) if name in METRICS else None


def listed(read: Callable[Arguments, Iterator[Item]]) -> Callable[Arguments, list[Item]]:
    """A benchmark's ``load`` of its ``read``: all of it at once."""

    @wraps(read)
    def load(*args: Arguments.args, **kwargs: Arguments.kwargs) -> list[Item]:
        return list(read(*args, **kwargs))

    return load
