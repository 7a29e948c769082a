"""Rendered data of the pocket edition, and training of the pocket model.

`POCKETS`, `ENDPOINT` and `TRAIN` are all that the package ``known_unknowns`` uses
(`known_unknowns.benchmarks._pocket`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from known_unknowns.benchmarks._interface import Lazy, Pocket


def _pocket(benchmark: str) -> Pocket:
    module = f"{__name__}.benchmarks.{benchmark}"
    return Pocket(
        render=Lazy(f"{module}:build"), digest=Lazy(f"{module}:content_digest"), terms=Lazy(f"{__name__}.terms:TERMS")
    )


def _constructed(benchmark: str) -> Pocket:
    """Return an edition whose questions come from the construction's template generator."""
    module = f"{__name__}.benchmarks.{benchmark}"
    return replace(
        _pocket(benchmark), scenes=Lazy(f"{module}:write_scene_folder"), templates=Lazy(f"{module}:TEMPLATES")
    )


POCKETS = {
    "humblebench": _constructed("humblebench"),
    **{name: _pocket(name) for name in ("mmsap", "actiview", "mm_upd")},
}
"""The rendered edition of each benchmark."""

ENDPOINT: Lazy[Callable[..., Any]] = Lazy(f"{__name__}.scripted_endpoint:running")
"""The context manager of the scripted endpoint: it serves in a thread and yields the address."""

TRAIN: Lazy[Callable[..., Any]] = Lazy(f"{__name__}.cli:train")
"""The function of the ``train`` command."""
