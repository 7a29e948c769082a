"""The benchmarks, by name. A benchmark is a module with four things, and a mention here:

- ``load(raw, folder, progress=None) -> list[Question]``: read the published files under ``raw``, write the pictures
  under ``folder``/images (named by their sha256), and return the questions in published order;
- ``prompt(question) -> str``: the text that is sent, word for word;
- ``official(text, question) -> Reading``: the released code's rule, bug for bug;
- ``PUBLISHED``: the file of published numbers beside it (see `known_unknowns.published`).
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

BENCHMARKS: dict[str, str] = {"humblebench": "known_unknowns.benchmarks.humblebench"}


def get(name: str) -> ModuleType:
    """The benchmark's module. KeyError for a name that is not in `BENCHMARKS`."""
    return import_module(BENCHMARKS[name])
