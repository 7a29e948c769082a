"""YAML files, in which a key that is given twice and nesting without end are errors."""

from __future__ import annotations

from typing import Any

import yaml

MAX_LEVELS = 50


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML document.

    Raises
    ------
    yaml.MarkedYAMLError
        If ``text`` has a key twice in the same mapping, or more than `MAX_LEVELS` levels.
    yaml.YAMLError
        If ``text`` is not YAML.
    """
    return yaml.load(text, Loader=_StrictLoader)  # noqa: S506 -- a safe loader


class _StrictLoader(yaml.SafeLoader):
    """Refuses keys that are given twice, of which YAML's own loaders keep the last one, and deep nesting."""

    _level = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._level += 1
        if self._level > MAX_LEVELS and self.check_event(yaml.CollectionStartEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem=f"more than {MAX_LEVELS} levels", problem_mark=event.start_mark)
        node = super().compose_node(parent, index)
        self._level -= 1
        return node

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
