"""Add entries to params.yaml as a text, so that its comments and its layout stay."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import yaml

from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.yaml_reader import parse_yaml


def add_model(text: str, name: str, entry: Mapping[str, Any], *, comment: str = "") -> str:
    """Return the text of params.yaml with an entry at the beginning of ``models``.

    Raises ConfigError if ``models`` has an entry of the name, or is not written as a block. ``comment`` stands on the
    line of the name.
    """
    expected = deepcopy(_load(text))
    if name in (expected.get("models") or {}):
        raise ConfigError("there is an entry of this name; choose another one with --name", path=f"models.{name}")
    key, node = _find(text, "models")
    dumped = yaml.safe_dump({name: dict(entry)}, sort_keys=False, allow_unicode=True, width=10**6)
    if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
        raise ConfigError(f"models is not written as a block; add by hand:\n{dumped}", path="models")
    indent = " " * node.value[0][0].start_mark.column
    first, *others = dumped.splitlines()
    block = [f"{first} # {comment}" if comment else first, *others]
    expected["models"][name] = dict(entry)
    return _insert(text, key.end_mark.line + 1, [indent + line for line in block], expected)


def add_to_edition(text: str, edition: str, name: str) -> str:
    """Return the text of params.yaml with a model's name at the end of the ``models`` of an edition.

    Raises ConfigError if there is no such edition, or it has no list of models.
    """
    expected = deepcopy(_load(text))
    editions = expected.get("editions") or {}
    if edition not in editions:
        raise ConfigError(unknown_name(edition, editions), path="--edition")
    _, node = _find(text, "editions", edition, "models")
    if not isinstance(node, yaml.SequenceNode) or not node.value:
        raise ConfigError(f"not a list of models; add {name} by hand", path=f"editions.{edition}.models")
    expected["editions"][edition]["models"].append(name)
    last = node.value[-1]
    if node.flow_style:
        end = last.end_mark.index
        return _checked(f"{text[:end]}, {name}{text[end:]}", expected)
    indent = " " * (last.start_mark.column - 2)
    return _insert(text, last.end_mark.line + 1, [f"{indent}- {name}"], expected)


def _load(text: str) -> dict[str, Any]:
    try:
        raw = parse_yaml(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"not valid YAML: {error}") from error
    if not isinstance(raw, dict):
        raise ConfigError("the file must be a mapping of keys to values")
    return raw


def _find(text: str, *keys: str) -> tuple[Any, yaml.Node | None]:
    """Return the nodes of a key and of its value, with their places in the text."""
    found: Any = None
    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    for key in keys:
        pairs = node.value if isinstance(node, yaml.MappingNode) else ()
        found, node = next(((name, value) for name, value in pairs if name.value == key), (None, None))
    return found, node


def _insert(text: str, line: int, new: list[str], expected: Mapping[str, Any]) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    return _checked(end.join([*lines[:line], *new, *lines[line:]]) + end, expected)


def _checked(text: str, expected: Mapping[str, Any]) -> str:
    """Return the text if it says what is expected, and nothing else has changed."""
    if _load(text) != expected:
        raise ConfigError("the file's layout is not supported; add the entry by hand (--dry-run prints it)")
    return text
