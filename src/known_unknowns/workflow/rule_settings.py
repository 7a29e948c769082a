"""Named settings in the ``params`` of a rule, and in the script of its job.

Snakemake runs a job again if the set of the values of its parameters changes. It compares no names, no objects of a
class, and mappings with the order of their keys. So `named` makes each value plain and puts it into a mapping with its
name. `uncompared` puts values that change no result, such as a timeout, into a namespace, which Snakemake passes on and
does not compare. Both take constants and functions of the wildcards.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any


def named(**settings: Any) -> dict[str, Any]:
    """Return parameters of a rule that are compared by their names and values."""
    return {name: _wrapped(name, value, dict) for name, value in settings.items()}


def uncompared(**settings: Any) -> dict[str, Any]:
    """Return parameters of a rule that are not compared."""
    return {name: _wrapped(name, value, SimpleNamespace) for name, value in settings.items()}


def of_job(parameters: Any) -> dict[str, Any]:
    """Return the settings among the parameters of a job, by name. The other parameters are paths."""
    settings: dict[str, Any] = {}
    for value in parameters:
        if isinstance(value, SimpleNamespace):
            settings |= vars(value)
        elif isinstance(value, Mapping):
            settings |= value
    return settings


def plain(value: Any) -> Any:
    """Return a value as JSON has it, with sorted keys. Entries of the configuration become mappings."""
    return json.loads(json.dumps(value, sort_keys=True, default=lambda entry: entry.plain()))


def _wrapped(name: str, value: Any, kind: Callable[..., Any]) -> Callable[[Any], Any]:
    # Always a function, because Snakemake takes {x} in the text of a constant for a wildcard.
    return lambda wildcards: kind(**{name: plain(value(wildcards) if callable(value) else value)})
