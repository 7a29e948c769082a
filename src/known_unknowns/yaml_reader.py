"""YAML files, in which a key that is given twice and nesting without end are errors."""

from __future__ import annotations

from typing import Any

import yaml


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML document.

    Raises
    ------
    yaml.YAMLError
        If ``text`` is not YAML, is nested too deeply, or has a key twice in the same mapping.
    """
    try:
        return yaml.load(text, Loader=_StrictLoader)  # noqa: S506 -- a safe loader
    except RecursionError:
        raise yaml.YAMLError("the document is nested too deeply") from None


class _StrictLoader(yaml.SafeLoader):
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
