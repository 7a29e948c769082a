"""Read YAML with the C parser of libyaml where PyYAML has it: the same values, ten times as fast."""

from __future__ import annotations

from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML document.

    Raises
    ------
    yaml.YAMLError
        If ``text`` is not YAML.
    """
    return yaml.load(text, Loader=_LOADER)  # noqa: S506 -- both are safe loaders
