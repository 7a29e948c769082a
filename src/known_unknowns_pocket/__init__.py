"""Rendered data of the pocket edition, and training of the pocket model.

`ENDPOINT`, `TRAIN` and the modules of ``benchmarks`` are all that generic code of the package ``known_unknowns`` uses
(`known_unknowns.benchmark.pocket`). The ``pocket.py`` of a benchmark may use the scenes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from known_unknowns.benchmark.interface import Lazy

ENDPOINT: Lazy[Callable[..., Any]] = Lazy(f"{__name__}.scripted_endpoint:running")
"""The context manager of the scripted endpoint: it serves in a thread and yields the address."""

TRAIN: Lazy[Callable[..., Any]] = Lazy(f"{__name__}.cli:train")
"""The function of the ``train`` command."""
