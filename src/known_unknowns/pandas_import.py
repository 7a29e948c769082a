"""Keep pyarrow from importing pandas, which takes as long as everything else that a short command does.

pyarrow imports pandas before it converts its first Python value, to recognise the types of pandas. It tries this once,
and works without pandas if the import fails. Conversions between the two libraries import pandas when they need it.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

import pyarrow as pa


class _Absent(MetaPathFinder):
    """Fails the import of pandas."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def prevent() -> None:
    """Let pyarrow try to import pandas, and fail. This does nothing if pandas is already imported."""
    if "pandas" in sys.modules:
        return
    finder = _Absent()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(finder)
