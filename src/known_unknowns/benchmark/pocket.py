"""Access to the package of rendered data and training. Besides this module, only a folder's ``pocket.py`` uses it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from known_unknowns.benchmark.interface import Pocket
from known_unknowns.errors import ConfigError

PACKAGE = "known_unknowns_pocket"


def pocket_package() -> ModuleType:
    """Import `PACKAGE`.

    Raises
    ------
    ConfigError
        If it is not installed.
    """
    try:
        return import_module(PACKAGE)
    except ModuleNotFoundError as error:
        if error.name != PACKAGE:
            raise
        raise ConfigError(
            f"the package {PACKAGE} is not installed: install the whole project (pip install -e .), "
            "or put the src folder of a checkout on PYTHONPATH"
        ) from error


def is_installed() -> bool:
    """Whether `PACKAGE` can be imported."""
    try:
        pocket_package()
    except ConfigError:
        return False
    return True


def pocket_of(benchmark: str, *, constructed: bool = False) -> Pocket:
    """Return the rendered edition whose module is in `PACKAGE`, because training uses its questions too.

    ``constructed`` is that of `Pocket.of`.
    """
    return Pocket.of(f"{PACKAGE}.benchmarks.{benchmark}", terms=f"{PACKAGE}.terms", constructed=constructed)


def scripted_endpoint() -> Callable[..., Any]:
    """Return the context manager of the scripted endpoint.

    Raises
    ------
    ConfigError
        If `PACKAGE` is not installed.
    """
    return pocket_package().ENDPOINT.get()


def train_command() -> Callable[..., Any]:
    """Return the function of the ``train`` command. If `PACKAGE` is not installed, calling it raises ConfigError."""
    try:
        return pocket_package().TRAIN.get()
    except ConfigError:
        return _train_without_package


def _train_without_package() -> None:
    """Train the pocket model. Its package is not installed."""
    pocket_package()
