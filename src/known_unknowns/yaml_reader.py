"""Read YAML with the C parser of libyaml where PyYAML has it: the same values, ten times as fast."""

from __future__ import annotations

from typing import Any

import yaml

MAX_LEVELS = 50
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML document.

    Raises
    ------
    yaml.YAMLError
        If ``text`` is not YAML, or has more than `MAX_LEVELS` levels.
    """
    return _parse(text, _LOADER)


def parse_strict_yaml(text: str) -> Any:
    """Return the value of a YAML document that a person wrote.

    Raises
    ------
    yaml.YAMLError
        If ``text`` is not YAML, has more than `MAX_LEVELS` levels, or has a key twice in the same mapping.
    """
    return _parse(text, _StrictLoader)


def _parse(text: str, loader: Any) -> Any:
    """Count the levels first: the loaders are recursive, and the one of libyaml would end the process."""
    level = 0
    for event in yaml.parse(text, Loader=_LOADER):
        level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if level > MAX_LEVELS:
            raise yaml.MarkedYAMLError(problem=f"more than {MAX_LEVELS} levels", problem_mark=event.start_mark)
    return yaml.load(text, Loader=loader)  # noqa: S506 -- a safe loader


class _StrictLoader(_LOADER):  # type: ignore[misc, valid-type]
    """Refuses keys that are given twice; YAML's own loaders keep the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if (name := (key.tag, key.value)) in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"the key {key.value!r} is given twice", problem_mark=key.start_mark
                    )
                seen.add(name)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping
