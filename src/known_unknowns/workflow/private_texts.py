"""Texts that must not leave this machine: local paths, private addresses, keys. They are replaced in shared files."""

from __future__ import annotations

import html
import ipaddress
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import urlsplit

from known_unknowns import json_files
from known_unknowns.config import Params

_SHORTEST_KEY = 8
_ADDRESS = "(private address)"
_KEY = "(key)"
_FORMS: tuple[Callable[[str], str], ...] = (
    html.escape,
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    str,
)
"""How a text may be written in a file: in HTML, in JSON, and as it is."""
_LOCAL_SUFFIXES = (".local", ".internal", ".lan", ".localdomain", ".home", ".corp", ".intranet")


@dataclass(frozen=True)
class PrivateTexts:
    """Private texts and what replaces them."""

    replacements: Mapping[str, str]

    @classmethod
    def of(cls, params: Params, engines: Iterable[Path], root: Path) -> PrivateTexts:
        """Collect the texts of a configuration, of the facts of the engines, and of this machine.

        Parameters
        ----------
        params : Params
        engines : iterable of Path
            The files engine.json of the replies.
        root : Path
            The project's folder.
        """
        values = list(_texts(params.raw))
        for path in engines:
            values += _texts(json_files.read(path))
        found: dict[str, str] = {}
        for value in values:
            found |= _of_value(value)
        found |= {str(path): sign for path, sign in ((root.resolve(), "."), (Path.home(), "~")) if len(path.parts) > 1}
        names = {"OPENAI_API_KEY", "HF_TOKEN", *(str(entry.get("key_env")) for entry in params.raw["models"].values())}
        found |= dict.fromkeys(_keys(names, root / ".env"), _KEY)
        return cls({private: shown for private, shown in found.items() if private})

    def replaced(self, text: str) -> str:
        """Return a text without the private ones, also where they are escaped for HTML or JSON."""
        forms, pattern = self._forms
        return pattern.sub(lambda match: forms[match[0]], text) if forms else text

    def found(self, text: str) -> list[tuple[int, int, str]]:
        """Return start, end and replacement of each private text in a text."""
        forms, pattern = self._forms
        return [(*match.span(), forms[match[0]]) for match in pattern.finditer(text)] if forms else []

    @cached_property
    def _forms(self) -> tuple[dict[str, str], re.Pattern[str]]:
        """The forms of the private texts with those of their replacements, and the pattern that finds them."""
        forms = {form(private): form(shown) for private, shown in self.replacements.items() for form in _FORMS}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        return forms, re.compile("|".join(map(re.escape, longest_first)))


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _of_value(value: str) -> dict[str, str]:
    """Return the private texts of a value of the configuration: an absolute path, or an address of a private host."""
    if "://" in value:
        return _of_address(value)
    if value.startswith(("/", "~/")) and len(PurePosixPath(value).parts) > 2:
        return {value: PurePosixPath(value).name}
    if PureWindowsPath(value).drive and PureWindowsPath(value).is_absolute():
        return {value: PureWindowsPath(value).name}
    return {}


def _of_address(value: str) -> dict[str, str]:
    try:
        parts = urlsplit(value)
        host = parts.hostname or ""
    except ValueError:
        return {value: _ADDRESS}
    if parts.scheme.startswith("sqlite"):
        path = parts.path.removeprefix("/")
        return {path: PurePosixPath(path).name} if path.startswith("/") else {}
    if "@" in parts.netloc or _is_private(host):
        host_and_port = parts.netloc.rpartition("@")[2]
        hosts = [host_and_port] if set(host_and_port) & set(".:") else []  # "data" alone would be found in any text
        return dict.fromkeys([value, value.rstrip("/"), parts.netloc.rpartition("@")[0], *hosts], _ADDRESS)
    return {}


def _is_private(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(_LOCAL_SUFFIXES)


def _keys(names: Iterable[str], file: Path) -> set[str]:
    """Return the values of the variables that hold keys, from the environment and from a file .env."""
    values = {os.environ.get(name, "") for name in names}
    if file.is_file():
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        values |= {line.partition("=")[2].strip().strip("'\"") for line in lines if not line.lstrip().startswith("#")}
    return {value for value in values if len(value) >= _SHORTEST_KEY}
