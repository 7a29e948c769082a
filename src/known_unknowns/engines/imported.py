"""The engine of a model whose replies were imported. It cannot be asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from known_unknowns.errors import ConfigError


class ImportedEngine:
    """Raises ConfigError: the replies are there already (`known_unknowns.exchange.import_predictions`)."""

    def __new__(cls, name: str, entry: Mapping[str, Any]) -> NoReturn:
        message = "cannot be asked: its replies were imported (known-unknowns rescore --import)"
        raise ConfigError(message, path=f"models.{name}")
