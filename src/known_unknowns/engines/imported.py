"""The engine of a model whose replies were imported. It cannot be asked."""

from __future__ import annotations

from typing import NoReturn

from known_unknowns.config import ImportedModel
from known_unknowns.errors import ConfigError


class ImportedEngine:
    """Raises ConfigError: the replies are there already (`known_unknowns.exchange.import_predictions`)."""

    def __new__(cls, name: str, entry: ImportedModel) -> NoReturn:
        message = "cannot be asked: its replies were imported (known-unknowns rescore --import)"
        raise ConfigError(message, path=f"models.{name}")
