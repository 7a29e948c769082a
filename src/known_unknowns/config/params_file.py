"""Add entries to params.yaml as a text, so that its comments and its layout stay."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import yaml

from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.yaml_reader import parse_yaml


def add_model(text: str, name: str, entry: Mapping[str, Any], *, comment: str = "") -> str:
    """Return the text of params.yaml with an entry at the end of ``models``.

    Parameters
    ----------
    text : str
    name : str
    entry : mapping
    comment : str
        A comment on the line of the name.

    Raises
    ------
    ConfigError
        If ``models`` has an entry of the name, or is not written as a block.
    """
    raw = _load(text)
    if name in (raw.get("models") or {}):
        raise ConfigError("there is an entry of this name; choose another one with --name", path=f"models.{name}")
    node = _find(text, "models")
    dumped = yaml.safe_dump({name: dict(entry)}, sort_keys=False, allow_unicode=True, width=10**6)
    if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
        raise ConfigError(f"models is not written as a block; add by hand:\n{dumped}", path="models")
    indent = node.value[0][0].start_mark.column
    first, *others = dumped.splitlines()
    block = [f"{first} # {comment}" if comment else first, *others]
    expected = deepcopy(raw)
    expected["models"][name] = dict(entry)
    return _insert(text, _line_after(text, node, indent), [" " * indent + line for line in block], expected)


def add_to_edition(text: str, edition: str, name: str) -> str:
    """Return the text of params.yaml with a model's name at the end of the ``models`` of an edition.

    Raises
    ------
    ConfigError
        If there is no such edition, or it has no list of models.
    """
    raw = _load(text)
    editions = raw.get("editions") or {}
    if edition not in editions:
        raise ConfigError(unknown_name(edition, editions), path="--edition")
    path = f"editions.{edition}.models"
    node = _find(text, "editions", edition, "models")
    expected = deepcopy(raw)
    expected["editions"][edition]["models"].append(name)
    if not isinstance(node, yaml.SequenceNode) or not node.value:
        raise ConfigError(f"not a list of models; add {name} by hand", path=path)
    if node.flow_style:
        last = node.value[-1].end_mark.index
        return _checked(f"{text[:last]}, {name}{text[last:]}", expected)
    indent = node.value[0].start_mark.column - 2
    return _insert(text, _line_after(text, node, indent), [f"{' ' * indent}- {name}"], expected)


def _load(text: str) -> dict[str, Any]:
    try:
        raw = parse_yaml(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"not valid YAML: {error}") from error
    if not isinstance(raw, dict):
        raise ConfigError("the file must be a mapping of keys to values")
    return raw


def _find(text: str, *keys: str) -> yaml.Node | None:
    node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    for key in keys:
        if not isinstance(node, yaml.MappingNode):
            return None
        node = next((value for name, value in node.value if name.value == key), None)
    return node


def _line_after(text: str, node: yaml.Node, indent: int) -> int:
    """Return the line after a block: comments that are indented as its keys belong to it."""
    last = node
    while isinstance(last, yaml.CollectionNode) and last.value and not last.flow_style:
        child = last.value[-1]
        last = child[1] if isinstance(child, tuple) else child
    mark = last.end_mark
    line = mark.line + (mark.column > 0)  # a block scalar ends at the start of the next line
    lines = text.splitlines()
    while line < len(lines) and (start := lines[line].lstrip()).startswith("#"):
        if len(lines[line]) - len(start) < indent:
            break
        line += 1
    while line > 0 and not lines[line - 1].strip():
        line -= 1  # empty lines stay below the new entry
    return line


def _insert(text: str, line: int, new: list[str], expected: Mapping[str, Any]) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    return _checked(end.join([*lines[:line], *new, *lines[line:]]) + end, expected)


def _checked(text: str, expected: Mapping[str, Any]) -> str:
    """Return the text if it says what is expected, and nothing else has changed."""
    if _load(text) != expected:
        raise ConfigError("the file's layout is not supported; add the entry by hand (--dry-run prints it)")
    return text
