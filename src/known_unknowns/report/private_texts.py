"""Remove keys from every text of the report, and paths and private addresses from those that the project wrote.

Texts of data and models (questions, options, replies) pass `PrivateTexts.keys_removed` before they are written, all
others `PrivateTexts.removed`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from markupsafe import Markup

from known_unknowns.records import FAILED

if TYPE_CHECKING:
    from known_unknowns.config import Params

ADDRESS, KEY = "[private address]", "[key]"
"""What stands in place of a private address, and of a key."""
_SHORTEST_KEY = 8
_KEY_VARIABLE = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD)$")
_KEY_PARAMETER = re.compile(r"key|token|secret|passw|pwd|auth|credential|signature|sig$|code$", re.IGNORECASE)
_LOCAL_SUFFIXES = (".local", ".internal", ".lan", ".localdomain", ".home", ".corp", ".intranet")
_USUAL_PORTS = (None, 80, 443)
_AFTER_AN_ADDRESS = ".,;:!?)]}"
"""Punctuation at the end of an address belongs to the sentence."""
_MARKS_OF_KEYS = ("://", "sk-", "hf_", "gsk_", "ghp_", "AIza", "Bearer")
_MARKS = ("/", "\\", "localhost:", *_MARKS_OF_KEYS)
_IP_ADDRESS = re.compile(r"\d\.\d+\.\d+\.\d")
"""The patterns find nothing in a text without any of these. Most are such texts, and looking for these is a hundred
times as fast."""
_KEYS = r"""
    (?P<key> \b(?:sk-|hf_|gsk_|ghp_|AIza)[\w-]{16,} | (?<=\bBearer\s)[\w.~+/=-]{8,} )
  | (?P<address> \b[A-Za-z][\w+.-]*://[^\s"'<>`\\]+ )
"""
_PLACES = r"""
    (?P<path> (?<![\w/.~]) (?:/[^\s/"'<>|:;,()\[\]{}=]+){2,} /? )
  | (?P<windows> \b[A-Za-z]:\\[^\s"'<>|]+ )
  | (?P<host> (?<![\w.]) (?: localhost:\d+ | \d{1,3}(?:\.\d{1,3}){3}(?::\d+)? ) (?!\w|\.\d) )
"""


class PrivateTexts:
    """What is private in the texts of a run, and what is shown in its place.

    | private | shown |
    |---|---|
    | a key of the environment or of .env, and what looks like a key | [key] |
    | a key in the query of an address | the address with [key] in its place |

    In texts that the project wrote, also:

    | private | shown |
    |---|---|
    | a path of the project, of the home folder | the path from ``.``, from ``~`` |
    | another absolute path | its last part |
    | an address with a password, or of a host that is not public | [private address] |
    """

    def __init__(self, known: Mapping[str, str]) -> None:
        """``known`` has private texts, and what is shown in their place."""
        self._known = {text: shown for text, shown in known.items() if text}
        keys = [text for text, shown in self._known.items() if shown == KEY]
        self._marks = (*_MARKS, *(text for text in self._known if not set(text) & {"/", "\\"}))
        self._marks_of_keys = (*_MARKS_OF_KEYS, *keys)
        self._keys = _pattern(keys, _KEYS)
        self._all = _pattern(self._known, f"{_KEYS} | {_PLACES}")

    @classmethod
    def of(cls, params: Params, root: Path) -> PrivateTexts:
        """Collect the private texts of a configuration, of the environment, and of the project's folder ``root``."""
        known: dict[str, str] = {}
        for value in [*_texts(params.file.plain()), os.environ.get("OPENAI_BASE_URL", "")]:
            known |= _of_setting(value)
        known |= {str(path): "~" for path in (Path.home(), Path.home().resolve()) if len(path.parts) > 1}
        known |= {str(path): "." for path in (root.absolute(), root.resolve()) if len(path.parts) > 1}
        return cls(known | dict.fromkeys(_keys(params, root / ".env"), KEY))

    def removed(self, text: str) -> str:
        """Return a text that the project wrote without what is private."""
        if not any(mark in text for mark in self._marks) and not _IP_ADDRESS.search(text):
            return text
        return self._all.sub(self._shown, text)

    def removed_from(self, value: Any) -> Any:
        """Return a value of lists and mappings that the project wrote without what is private in its texts.

        Markup is left as it is.
        """
        return _replaced(value, self.removed)

    def keys_removed(self, text: str) -> str:
        """Return a text of the data or of a model without keys."""
        if not any(mark in text for mark in self._marks_of_keys):
            return text
        return self._keys.sub(_without_keys, text)

    def keys_removed_from(self, value: Any) -> Any:
        """Return a value of lists and mappings of the data or of a model without keys in its texts."""
        return _replaced(value, self.keys_removed)

    def removed_from_outcomes(self, outcomes: Iterable[tuple[str | None, str]]) -> list[tuple[str | None, str]]:
        """Return the outcomes of replies (`unusable_replies.outcomes`) without what is private.

        Of failed replies the text is an error, of others it is the model's.
        """
        return [
            (outcome, self.removed(text) if outcome == FAILED else self.keys_removed(text))
            for outcome, text in outcomes
        ]

    def _shown(self, found: re.Match[str]) -> str:
        text = found[0]
        match found.lastgroup:
            case "known":
                return self._known[text]
            case "key":
                return KEY
            case "address":
                return _in_sentence(text, _shown_address)
            case "path":
                return PurePosixPath(text).name
            case "windows":
                return PureWindowsPath(text).name
            case _:
                return ADDRESS if _is_private(text.partition(":")[0]) else text


def _pattern(known: Iterable[str], unknown: str) -> re.Pattern[str]:
    """Return the pattern of known texts, the longest first, and of unknown ones."""
    longest_first = sorted(known, key=lambda text: (-len(text), text))
    # A path is known only as a whole: /data/a is not the start of /data/ab.
    literals = "|".join(f"{re.escape(text)}(?![\\w-])" for text in longest_first)
    return re.compile(f"(?P<known>{literals})|{unknown}" if literals else unknown, re.VERBOSE)


def _replaced(value: Any, replace: Callable[[str], str]) -> Any:
    """Return a value of lists and mappings with its texts replaced, except Markup."""
    if isinstance(value, str):
        return value if isinstance(value, Markup) else replace(value)
    if isinstance(value, Mapping):
        return {_replaced(key, replace): _replaced(part, replace) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(part, replace) for part in value]
    return value


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a configuration."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _of_setting(value: str) -> dict[str, str]:
    """Return what is private in a setting: a path, which may have spaces, or the host of an address by itself."""
    if "://" in value:
        host = value.partition("://")[2].partition("/")[0].rpartition("@")[2]
        # A name like "data" alone would be found in any text.
        return {host: ADDRESS} if _is_private_address(value) and set(host) & set(".:") else {}
    if value.startswith("/") and len(PurePosixPath(value).parts) > 2:
        return {value: PurePosixPath(value).name}
    if PureWindowsPath(value).drive and PureWindowsPath(value).is_absolute():
        return {value: PureWindowsPath(value).name}
    return {}


def _without_keys(found: re.Match[str]) -> str:
    return _in_sentence(found[0], _without_key_parameters) if found.lastgroup == "address" else KEY


def _in_sentence(text: str, shown: Callable[[str], str]) -> str:
    """Return an address as it is ``shown``, with the punctuation after it."""
    address = text.rstrip(_AFTER_AN_ADDRESS)
    return shown(address) + text[len(address) :]


def _shown_address(address: str) -> str:
    if _is_private_address(address):
        return ADDRESS
    rest = address.partition("://")[2]
    if rest.startswith("/"):  # of a file, or of a database in a file
        return PurePosixPath(rest).name
    return _without_key_parameters(address)


def _without_key_parameters(address: str) -> str:
    return re.sub(
        r"(?<=[?&#])([^=&#]+)=(?!\[key)[^&#]+",
        lambda found: f"{found[1]}={KEY}" if _KEY_PARAMETER.search(found[1]) else found[0],
        address,
    )


def _is_private_address(address: str) -> bool:
    """Whether an address has a user or a password, or a host that is not public. That of a file has no host."""
    try:
        parts = urlsplit(address)
        if not parts.netloc:
            return False
        return "@" in parts.netloc or parts.port not in _USUAL_PORTS or _is_private(parts.hostname or "")
    except ValueError:  # not an address, such as one with a port that is no number
        return True


def _is_private(host: str) -> bool:
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith(_LOCAL_SUFFIXES)


def _keys(params: Params, file: Path) -> set[str]:
    """Return the values of the variables that hold keys, in the environment and in the file .env."""
    named = {getattr(entry, "key_env", None) for entry in params.file.models.values()}
    values = {value for name, value in os.environ.items() if name in named or _KEY_VARIABLE.search(name)}
    if file.is_file():
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        values |= {line.partition("=")[2].strip().strip("'\"") for line in lines if not line.lstrip().startswith("#")}
    return {value for value in values if len(value) >= _SHORTEST_KEY}
