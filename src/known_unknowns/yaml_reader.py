"""YAML files, in which a key that is given twice, nesting without end, and values that are no values are errors.

Keys are texts as they are written.
"""

from __future__ import annotations

from typing import Any

import yaml

_TEXT, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"
MAX_LEVELS = 50
MAX_VALUES = 1_000_000
"""Largest number of values of a document whose aliases are written out."""


def parse_yaml(text: str, *, as_written: bool = False) -> Any:
    """Return the value of a YAML document. ``as_written`` takes every plain value as a text.

    Raises
    ------
    yaml.MarkedYAMLError
        If ``text`` has a key twice in the same mapping, more than `MAX_LEVELS` levels, more than `MAX_VALUES` values, a
        collection that contains itself, or a value that is not of the type that it seems to have, such as the date
        2025-02-30.
    yaml.YAMLError
        If ``text`` is not YAML.
    """
    return yaml.load(text, Loader=_TextLoader if as_written else _StrictLoader)  # noqa: S506 -- safe loaders


class _StrictLoader(yaml.SafeLoader):
    """Refuses keys that are given twice, of which YAML's own loaders keep the last one, and deep nesting.

    The loaders' own errors about values are errors of Python without a place.
    """

    _level = 0

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._open_anchors: list[str | None] = []
        self._values: dict[yaml.Node, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        anchor, place = event.anchor, event.start_mark
        if isinstance(event, yaml.AliasEvent) and anchor in self._open_anchors:
            raise yaml.MarkedYAMLError(problem="a collection contains itself", problem_mark=place)
        self._open_anchors.append(anchor)
        self._level += 1
        if self._level > MAX_LEVELS and self.check_event(yaml.CollectionStartEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem=f"more than {MAX_LEVELS} levels", problem_mark=event.start_mark)
        node = super().compose_node(parent, index)
        self._level -= 1
        self._open_anchors.pop()
        if isinstance(node, yaml.CollectionNode) and node not in self._values:
            parts = (part for entry in node.value for part in (entry if isinstance(entry, tuple) else (entry,)))
            self._values[node] = 1 + sum(self._values.get(part, 1) for part in parts)
            if self._values[node] > MAX_VALUES:
                raise yaml.MarkedYAMLError(problem=f"more than {MAX_VALUES:,} values", problem_mark=node.start_mark)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, KeyError, AttributeError, TypeError, OverflowError) as error:
            kind = node.tag.rpartition(":")[2]
            problem = f"a value is not a valid {kind}; put it in quotes if it is a text"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                if key.value in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"the key {key.value!r} is given twice", problem_mark=key.start_mark
                    )
                seen.add(key.value)
                key.tag = _TEXT
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


class _TextLoader(_StrictLoader):
    """Takes every plain value as a text."""


_TextLoader.yaml_implicit_resolvers = {"<": yaml.SafeLoader.yaml_implicit_resolvers["<"]}
