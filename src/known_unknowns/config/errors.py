"""Errors of the configuration: from pydantic's to ours, each with the dotted path of its key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from known_unknowns.config.base import FINAL, MISSING_KEY, NOT_A_TEXT, UNKNOWN_KEY
from known_unknowns.config.redaction import invalid
from known_unknowns.errors import ConfigError

Location = tuple[str | int, ...]


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
