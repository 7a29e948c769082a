"""Default settings that an endpoint refuses. They are found before the first question, and left out from then on.

A model that takes no temperature is asked without one, although the default is 0. This is found by requests, not from
the words of errors: the request with all settings, then one without any default, then the defaults one by one. What is
left out is written beside the journal, for the settings with which it was found, and is part of a reply's identity
(`stream` is not): `known-unknowns models probe MODEL --again` finds it anew. A value that the entry has is never left
out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from known_unknowns import json_files
from known_unknowns.engines.endpoint.replies import UnreadableReplyError
from known_unknowns.engines.endpoint.request import PendingTurn, RefusedError, Requester, RetryableError
from known_unknowns.engines.endpoint.settings import LIMIT_NAMES, EndpointSettings
from known_unknowns.errors import ConfigError, DataError, KnownUnknownsError, MachineError
from known_unknowns.records import Turn
from known_unknowns.unusable import REJECTED

FILE = "endpoint_settings.json"
"""The file's name, in the folder of a journal."""

DEFAULTS: Mapping[str, tuple[Any, ...]] = {
    "stream": (False, True),
    "temperature": (0.0, None),
    "seed": (0, None),
    "limit_name": LIMIT_NAMES,
    "top_logprobs": (20, 5, 0),
    "structured": (True, False),
}
"""The values of the defaults, in the order in which they are tried. None, 0 and False are not sent."""

_OF_RECORD = ("template", "extra")
"""Fields of the entry on which it depends what an endpoint refuses, besides the reasoning's effort."""

_WRITTEN: Mapping[str, Mapping[str, Any]] = {
    "decoding.temperature": {"temperature": None},
    "decoding.seed": {"seed": None},
    "decoding.top_p": {"top_p": None},
    "decoding.top_k": {"top_k": None},
    "decoding.repetition_penalty": {"repetition_penalty": None},
    "decoding.stop": {"stop": None},
    "decoding.max_new_tokens": {"max_new_tokens": None},
    "reasoning": {"reasoning": {}},
    "processor": {"processor": None},
    "template": {"template": None},
    "extra": {"extra": None},
    "stream": {"stream": False},
    "top_logprobs": {"top_logprobs": 0},
    "system": {"system": None},
}
"""The entry's keys by their path, and how a request is sent without each."""

_COUNT = Turn("probe", "probe", ("Count from 1 to 200, with a comma between the numbers.",), None, max_new_tokens=16)

LeftOut = Mapping[str, Mapping[str, Any]]
"""The settings that are left out: the value that is sent instead ("value"), and the endpoint's message ("message")."""


def apply(settings: EndpointSettings, left_out: LeftOut) -> EndpointSettings:
    """Return the settings without the defaults that are left out. Values that the entry has stay."""
    return replace(settings, **{name: row["value"] for name, row in left_out.items() if name not in settings.written})


async def find(requester: Requester, turn: Turn) -> LeftOut:
    """Return what an endpoint refuses of the settings, all of which are sent with the turn.

    Raises
    ------
    ConfigError
        The endpoint refuses a value that the entry has, or the turn however it is asked.
    MachineError
        The endpoint does not answer.
    """
    settings = requester.settings
    left_out: dict[str, dict[str, Any]] = {}
    refused = await _refusal(requester, settings, turn)
    if refused is not None:
        accepted = await _least(requester, turn, {})
        if accepted is None:
            raise await _refused_entry(requester, turn, refused)
        messages: dict[str, str] = {}
        for name, values in _defaults(settings).items():
            for value in values:
                candidate = replace(accepted, **{name: value})
                same = candidate.parameters(turn) == accepted.parameters(turn)
                refusal = None if same else await _refusal(requester, candidate, turn)
                if refusal is None:
                    accepted = candidate
                    break
                messages.setdefault(name, refusal.message)
        left_out = {name: {"value": getattr(accepted, name), "message": messages[name]} for name in messages}
        settings = accepted
    if settings.limit_name == LIMIT_NAMES[0] and (tokens := await _tokens_over_limit(requester, settings)):
        message = f"ignored: {tokens} tokens came where {_COUNT.max_new_tokens} were allowed"
        left_out["limit_name"] = {"value": LIMIT_NAMES[1], "message": message}
    return left_out


async def check(requester: Requester, turn: Turn) -> None:
    """Raise ConfigError if an endpoint refuses the settings, MachineError if it does not answer."""
    refused = await _refusal(requester, requester.settings, turn)
    if refused is None:
        return
    if await _least(requester, turn, {}) is not None:
        # It takes what the entry has, so that it refuses a default now which it took when it was probed.
        again = f"`known-unknowns models probe {requester.settings.name} --again` finds which defaults it refuses now"
        text = f"the endpoint refuses the settings that it took before ({refused.message}); {again}"
        raise ConfigError(text, path=requester.settings.path("source"))
    raise await _refused_entry(requester, turn, refused)


def _defaults(settings: EndpointSettings) -> dict[str, tuple[Any, ...]]:
    return {name: values for name, values in DEFAULTS.items() if name not in settings.written}


async def _least(requester: Requester, turn: Turn, changes: Mapping[str, Any]) -> EndpointSettings | None:
    """Return the settings without any default, and with the changes, that an endpoint takes; None if it takes none."""
    settings = requester.settings
    defaults = _defaults(settings)
    without = {name: values[-1] for name, values in defaults.items()} | dict(changes)
    # Without any default, a whole reply is requested before one in parts.
    streams = defaults.get("stream", (without.get("stream", settings.stream),))
    for stream, limit_name in product(streams, LIMIT_NAMES):
        least = replace(settings, **without | {"stream": stream, "limit_name": limit_name})
        if await _refusal(requester, least, turn) is None:
            return least
    return None


async def _refused_entry(requester: Requester, turn: Turn, refused: _Refusal) -> KnownUnknownsError:
    """Return the error for settings that are refused: it names the entry's key, if one is at fault."""
    settings = requester.settings
    given = {path: each for path, each in _WRITTEN.items() if settings.written & each.keys()}
    bare: dict[str, Any] = {}
    for each in given.values():
        bare |= each
    least = await _least(requester, turn, bare) if given else None
    if least is not None:
        for path, each in given.items():
            with_one = replace(least, **{name: getattr(settings, name) for name in each})
            if (refusal := await _refusal(requester, with_one, turn)) is not None:
                text = f"the endpoint refuses this value ({refusal.message}); change it, or remove it"
                return ConfigError(text, path=settings.path(path))
    elif refused.error is not None:
        return refused.error
    asked = "a question with an image" if turn.images else "a question"
    return ConfigError(f"the endpoint rejects {asked} ({refused.message})", path=settings.path("source"))


@dataclass(frozen=True, slots=True)
class _Refusal:
    """What an endpoint says when it rejects a turn. ``error`` is that of an endpoint that takes no question at all."""

    message: str
    error: KnownUnknownsError | None = None


async def _refusal(requester: Requester, settings: EndpointSettings, turn: Turn) -> _Refusal | None:
    """Return the refusal with which an endpoint rejects a turn; None if it does not.

    A status such as 403 may concern the key or one of the settings (OpenAI's models that reason answer it to
    ``logprobs``). If the endpoint takes another request of this probe, it concerns the settings.
    """
    try:
        reply = await replace(requester, settings=settings).ask(PendingTurn(0, turn))
    except UnreadableReplyError:
        return None  # the first question shows what is wrong
    except RefusedError as refused:
        if isinstance(refused.error, MachineError):
            raise refused.error from None
        return _Refusal(refused.reply.error or "", refused.error)
    except RetryableError as error:
        raise MachineError(f"models.{settings.name}: the endpoint does not answer the first request: {error}") from None
    return _Refusal(reply.error or "") if reply.finish == REJECTED else None


async def _tokens_over_limit(requester: Requester, settings: EndpointSettings) -> int:
    """Return the number of tokens of a reply that is longer than its limit; 0 if it is not."""
    brief = replace(settings, max_new_tokens=None, reasoning={**settings.reasoning, "tokens": 0})
    try:
        reply = await replace(requester, settings=brief).ask(PendingTurn(0, _COUNT))
    except (UnreadableReplyError, RefusedError, RetryableError):
        return 0
    tokens = reply.output_tokens or 0
    return tokens if tokens > _COUNT.max_new_tokens else 0


def read(folder: Path, settings: EndpointSettings, *, of_any_settings: bool = False) -> LeftOut | None:
    """Return what an endpoint was found to refuse of these settings; None if that is not known.

    A record of an earlier version belongs to the model alone, whatever its settings were. It is read only if
    ``of_any_settings``: recorded replies have it in their keys, but the probe asks anew.
    """
    content = _content(folder)
    found = content.get(record_name(settings))
    if found is None and of_any_settings:
        found = content.get(_model_name(settings))
    if found is None:
        return None
    sound = isinstance(found, dict) and all(
        name in DEFAULTS and isinstance(row, dict) and row.get("value", row) in DEFAULTS[name]
        for name, row in found.items()
    )
    if not sound:
        raise DataError(
            "not written by `models probe`; remove this file, and run the same command again", file=folder / FILE
        )
    return found


def is_unlisted(folder: Path, settings: EndpointSettings) -> bool:
    """Return whether the list of models was found to fail, or to lack the model: it is then not asked for again."""
    return _list_name(settings) in _content(folder)


def write(folder: Path, records: Mapping[str, LeftOut], settings: EndpointSettings, *, unlisted: bool) -> None:
    """Write what an endpoint refuses, by `record_name`, and whether the model was found in no list of models."""
    content = _content(folder)
    for name, left_out in records.items():
        content[name] = {key: dict(row) for key, row in left_out.items()}
    content.pop(_list_name(settings), None)
    if unlisted:
        content[_list_name(settings)] = "not found"
    folder.mkdir(parents=True, exist_ok=True)
    json_files.write(folder / FILE, content)


def _content(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    return json_files.read(path) if path.is_file() else {}


def record_name(settings: EndpointSettings) -> str:
    """Return the name of a record: the model, and the settings on which it depends what the endpoint refuses."""
    values = {name: getattr(settings, name) for name in _OF_RECORD} | {"effort": settings.reasoning.get("effort")}
    given = {name: value for name, value in values.items() if value is not None}
    return f"{_model_name(settings)} with {json.dumps(given, sort_keys=True)}"


def _list_name(settings: EndpointSettings) -> str:
    return f"{_model_name(settings)} in the list of models"


def _model_name(settings: EndpointSettings) -> str:
    return f"{settings.model} at {settings.endpoint or settings.base_url}"
