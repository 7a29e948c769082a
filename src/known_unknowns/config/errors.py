"""Errors of the configuration: from pydantic's to ours, each with the dotted path of its key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from known_unknowns.config.base import FINAL, MISSING_KEY, NOT_A_TEXT, UNKNOWN_KEY
from known_unknowns.config.redaction import invalid
from known_unknowns.errors import ConfigError

Location = tuple[str | int, ...]
_WORD = re.compile(r"[\w./-]*\w")  # a path is one word


def raise_all(errors: Sequence[ConfigError]) -> None:
    """Raise one error for all of ``errors``, one line for each that is another; return if there are none."""
    distinct = {str(error): error for error in errors}
    if len(distinct) == 1:
        raise errors[0]
    if distinct:
        raise ConfigError("\n  ".join([f"{len(distinct)} mistakes:", *distinct]))


def explained(error: ValidationError, raw: Any) -> dict[Location, str]:
    """Return the location of each bad key in ``raw`` to what is wrong with it.

    Pydantic's locations also name the classes of a union. What several classes of a union reject is one mistake.
    """
    found: dict[Location, list[str]] = {}
    for each in error.errors(include_url=False):
        location = _location(each["loc"], raw, keep_last=each["type"] in (MISSING_KEY, UNKNOWN_KEY))
        texts = found.setdefault(location, [])
        text = each["msg"]
        if each["type"] not in FINAL:  # not of an entry, which explains its own
            text = invalid(each["loc"], each["input"], text)
        if text not in texts:
            texts.append(text)
    return {location: ", or ".join(texts) for location, texts in found.items()}


def not_texts(error: ValidationError, raw: Any) -> list[Location]:
    """Return the locations in ``raw`` of the values that are no texts, where a text is allowed."""
    found = [each["loc"] for each in error.errors(include_url=False) if each["type"] == NOT_A_TEXT]
    return [_location(location, raw, keep_last=False) for location in found]


def _location(location: Location, raw: Any, *, keep_last: bool) -> Location:
    path: list[str | int] = []
    for index, part in enumerate(location):
        inside = (isinstance(raw, Mapping) and part in raw) or (isinstance(raw, list) and isinstance(part, int))
        if inside:
            raw = raw[part]
        if inside or (keep_last and index == len(location) - 1):
            path.append(part)
    return tuple(path)


def dotted(location: Location) -> str:
    """Return the dotted path of a key: ``editions.full.models[0]``."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


@contextmanager
def as_config_error(raw: Any, path: str) -> Iterator[None]:
    """Turn a ValidationError of ``raw``, which stands at ``path``, into a ConfigError."""
    found: dict[Location, str] = {}
    try:
        yield
    except ValidationError as error:
        found = explained(error, raw)
    # Raised here, so that a traceback does not also show pydantic's error with the bad values.
    raise_all([ConfigError(text, path=".".join(filter(None, [path, dotted(at)]))) for at, text in found.items()])


class Mistakes:
    """All mistakes in a configuration.

    Wrong keys are removed, so that the others are checked as well. A mistake that may follow from a removed key is left
    out: a name that nothing defines may be one that the removed key defined.

    Attributes
    ----------
    errors : list of ConfigError
    """

    def __init__(self) -> None:
        self.errors: list[ConfigError] = []
        self._removed: list[str] = []  # dotted paths
        self._names: set[str] = set()  # of entries that lost a key, and in what was removed

    def add(self, errors: Iterable[ConfigError]) -> None:
        """Add mistakes."""
        self.errors += [error for error in errors if not self._may_follow(error)]

    def remove(self, raw: Any, wrong: Mapping[Location, str]) -> bool:
        """Add the mistakes at these locations, and remove their keys from ``raw``. False if it has none of them.

        Where a key is missing, the entry that needs it is removed.
        """
        self.add([ConfigError(text, path=dotted(location)) for location, text in wrong.items()])
        removed = 0
        for location in reversed(list(wrong)):  # so that the other items of a list keep their places
            removed += self._remove(raw, location)
        return removed > 0

    def _remove(self, raw: Any, location: Location) -> bool:
        parents = [raw]
        for part in location[:-1]:
            if not _has(parents[-1], part):
                return True  # an entry that another mistake has removed
            parents.append(parents[-1][part])
        if location and not _has(parents[-1], location[-1]):
            location = location[:-1]
            parents.pop()
        if not location:
            return False
        removed = parents[-1].pop(location[-1])
        in_list = isinstance(parents[-1], list)
        # The numbers of the later items are now others, so that mistakes in them are left out.
        self._removed.append(dotted(location[:-1] if in_list else location))
        self._names.update(_texts(removed), map(str, location[-1:]), map(str, location[1:2]))
        return True

    def _may_follow(self, error: ConfigError) -> bool:
        if any(_is_in(error.path, path) or _is_in(path, error.path) for path in self._removed):
            return True
        # The reason, without the names and the advice behind it.
        reason = str(error).removeprefix(f"{error.path}: ").partition(";")[0]
        return not self._names.isdisjoint(_WORD.findall(reason))


def _has(entry: Any, part: str | int) -> bool:
    return part < len(entry) if isinstance(part, int) and isinstance(entry, list) else part in entry


def _is_in(path: str, entry: str) -> bool:
    """Whether a dotted path is that of an entry or of a key in it."""
    return path == entry or path.startswith((f"{entry}.", f"{entry}["))


def _texts(value: Any) -> Iterator[str]:
    """Yield the keys and the texts in a value."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
