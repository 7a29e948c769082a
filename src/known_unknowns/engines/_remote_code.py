"""Code that a checkpoint brings along: all of it must be pinned with the checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from known_unknowns.errors import ConfigError

FILES = ["*.py", "*.json"]
"""Patterns of the files that decide which code is executed."""


def modules(folder: Path) -> list[Path]:
    """Return the Python files of a folder and of the folders in it."""
    return sorted(folder.rglob("*.py"))


def check(folder: Path, *, path: str) -> None:
    """Raise ConfigError, for the key ``path``, if a checkpoint's configuration names code of another repository.

    transformers executes the class that ``auto_map`` of a configuration file names. In the form
    ``repository--module.Class``, it is one of another repository, at the present state of its main branch.
    """
    for file in sorted(folder.rglob("*.json")):
        try:
            names = list(_auto_map(json.loads(file.read_text(encoding="utf-8"))))
        except (OSError, ValueError, RecursionError):
            continue  # loading it gives the error
        for name in names:
            if "--" in name:
                raise ConfigError(
                    f"auto_map in {file.name} names code of another repository, {name}, which no revision pins; "
                    "copy its *.py files into a local folder with the checkpoint, and remove the part up to --",
                    path=path,
                )


def _auto_map(value: Any) -> Iterator[str]:
    """Yield the classes in every ``auto_map``, at any depth."""
    if isinstance(value, list):
        for each in value:
            yield from _auto_map(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _texts(each) if key == "auto_map" else _auto_map(each)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
