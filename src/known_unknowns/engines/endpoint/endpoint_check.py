"""The check whether an endpoint serves the model that params.yaml names."""

from __future__ import annotations

import asyncio
import difflib
import re
from collections.abc import Mapping
from typing import Any

import openai

from known_unknowns.config import OpenAIModel
from known_unknowns.engines.endpoint import surroundings
from known_unknowns.engines.endpoint.budget import Budget
from known_unknowns.engines.endpoint.client import connect, redirect_error, without_limits
from known_unknowns.engines.endpoint.settings import OPENAI, ApiKey, EndpointSettings, print_message
from known_unknowns.errors import ConfigError, MachineError

_SHOWN = 5
_DOWN = frozenset({429, 502, 503, 504})
"""Statuses of an endpoint that answers nothing at present. With any other error, only the list of models fails."""
_KEY_WORDS = re.compile(r"\bauth(?:entication|orization)?\b|api[ _-]?key|no connected db|invalid token", re.IGNORECASE)


def check_endpoint(name: str, entry: OpenAIModel) -> dict[str, Any]:
    """Check whether the endpoint of the model ``name`` serves it and accepts the key, without asking a question.

    Returns the result of `find_model`, with the requested name under "model", and raises its errors.
    """
    settings = EndpointSettings.from_entry(name, entry)
    key = settings.key()

    async def ask() -> dict[str, Any]:
        async with connect(settings, request_limits=without_limits(), budget=Budget({}, None)) as client:
            found = await find_model(client, settings, key)
            await _check_key(client, settings, key)
            return found

    return {"model": settings.model, **asyncio.run(ask())}


async def _check_key(client: openai.AsyncOpenAI, settings: EndpointSettings, key: ApiKey) -> None:
    """Raise ConfigError if the endpoint rejects the key.

    Gateways show their list of models without a key, or answer it with another status than 401. The request has no
    messages, so that no model is asked: an endpoint checks the key first, and rejects such a request then.
    """
    try:
        await client.with_options(max_retries=0).chat.completions.create(
            model=settings.model, messages=[], max_tokens=1
        )
    except openai.APIStatusError as error:
        if error.status_code in (401, 403) or _is_about_the_key(error):
            raise _wrong_key(error, settings, key) from None
    except (openai.OpenAIError, ValueError, TypeError, AttributeError, RecursionError):
        pass  # the first question shows what is wrong


def _is_about_the_key(error: openai.APIStatusError) -> bool:
    """Whether an endpoint rejects a key with another status than 401 or 403, as LiteLLM without a database does."""
    return error.status_code in (400, 500) and _KEY_WORDS.search(error.message) is not None


def _wrong_key(error: openai.APIStatusError, settings: EndpointSettings, key: ApiKey) -> ConfigError:
    words = key.redact(error.message)
    return ConfigError(f"the endpoint does not take the key ({words})", path=settings.path("key_env"))


async def find_model(client: openai.AsyncOpenAI, settings: EndpointSettings, key: ApiKey) -> dict[str, Any]:
    """Return what the endpoint reports about the model.

    That is {"listed": True, "id": ...} and further fields (vLLM: "root", "max_model_len"), or {"listed": None} if the
    endpoint does not list models.

    Raises
    ------
    ConfigError
        The endpoint serves other models only, or rejects the key.
    MachineError
        The endpoint cannot be reached, or is down. If only its list of models fails, a warning is printed.
    """
    try:
        listed = await client.models.list()
        models = {model.id: model.model_dump(exclude_none=True) for model in listed.data or []}
    except openai.APIConnectionError as error:
        reason = type(error.__cause__ or error).__name__
        raise MachineError(
            f"models.{settings.name}: the endpoint {settings.base_url} cannot be reached"
            f"{surroundings.through(settings.base_url)} ({reason}); start it, or fix base_url, and run the same "
            "command again"
        ) from None
    except openai.APIStatusError as error:
        return _unlisted(error, settings, key)
    except (openai.OpenAIError, ValueError, TypeError, AttributeError, RecursionError):
        _warn(settings, "its reply is no such list; is base_url right?")
        return {"listed": None}
    found = next((models[name] for name in (settings.model, f"models/{settings.model}") if name in models), None)
    if found is not None:
        return {"listed": True, **key.redact(_public_fields(found))}
    if not models or await _can_retrieve(client, settings.model):
        return {"listed": None}
    raise ConfigError(key.redact(_not_served(settings, list(models))), path=settings.path("source"))


def _unlisted(error: openai.APIStatusError, settings: EndpointSettings, key: ApiKey) -> dict[str, Any]:
    if error.response.has_redirect_location:
        raise redirect_error(error.response, key, settings.path("base_url")) from None
    if error.status_code in (401, 403):
        raise _wrong_key(error, settings, key) from None
    if error.status_code in _DOWN:
        raise MachineError(
            f"models.{settings.name}: the endpoint fails (status {error.status_code}); run the same command again later"
        ) from None
    if error.status_code >= 500:
        _warn(settings, f"status {error.status_code}")
    return {"listed": None}


def _warn(settings: EndpointSettings, reason: str) -> None:
    print_message(
        settings.name,
        f"warning: the endpoint cannot list its models ({reason}), so that it is not known whether it serves "
        f"{settings.model}; check_served: false skips this check",
    )


async def _can_retrieve(client: openai.AsyncOpenAI, model: str) -> bool:
    """Return whether the endpoint knows a model that it does not list. Gateways list a part of their models only."""
    try:
        return (await client.models.retrieve(model)).id == model
    except (openai.OpenAIError, ValueError, AttributeError, RecursionError):
        return False


def _public_fields(model: Mapping[str, Any]) -> dict[str, Any]:
    return {name: model[name] for name in ("id", "root", "max_model_len", "owned_by") if name in model}


def _not_served(settings: EndpointSettings, names: list[str]) -> str:
    close = difflib.get_close_matches(settings.model, names, n=_SHOWN, cutoff=0.4) or sorted(names)[:_SHOWN]
    message = f"the endpoint does not serve {settings.model!r}; it serves {', '.join(close)}"
    message += f" and {len(names) - len(close)} more" if len(names) > len(close) else ""
    if settings.revision and settings.base_url != OPENAI:
        message += (
            f". Serve it under a name that contains its revision: vllm serve {settings.source} --revision "
            f"{settings.revision} --served-model-name {settings.model}"
        )
    return message
