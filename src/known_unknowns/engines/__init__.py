"""The engines. The key "engine" of a model's entry in params.yaml names one, by the class of its settings.

Engines are imported when a model needs them. Heavy imports belong inside their modules.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from known_unknowns.config import ModelEntry
from known_unknowns.errors import ConfigError


def create(name: str, entry: ModelEntry) -> Any:
    """Create the `known_unknowns.engine.Engine` or `ScriptedEngine` of a model. This loads its weights.

    Raises ConfigError if the module has no such class, or the class lacks an attribute of `Engine`.
    """
    module, _, attribute = entry.implementation.partition(":")
    kind = getattr(import_module(module), attribute, None)
    if kind is None:
        raise ConfigError(f"the module {module} has no {attribute!r}", path=f"models.{name}.engine")
    engine = kind(name, entry)
    answers = "answer_with_keys" if getattr(engine, "scripted", False) else "answer"
    if missing := [
        each for each in ("facts", "about", "scripted", answers) if not (hasattr(kind, each) or hasattr(engine, each))
    ]:
        lacks = f"{entry.implementation} has no attribute {', '.join(missing)}"
        raise ConfigError(f"{lacks}; known_unknowns.engine.Engine describes them", path=f"models.{name}.engine")
    return engine
