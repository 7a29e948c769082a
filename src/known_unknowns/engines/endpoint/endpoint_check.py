"""Whether an endpoint serves the model that params.yaml names."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Mapping
from typing import Any

import openai

from known_unknowns.engines.endpoint.settings import OPENAI, Key, Settings
from known_unknowns.errors import ConfigError, MachineError

_SHOWN = 5


def check(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Whether the endpoint of the model ``name`` serves what its params.yaml entry says, asking it no question.

    Returns what `find_model` says, with the name that was looked for under "model"; raises as it does.
    """
    settings = Settings.read(name, entry)
    key = settings.key()

    async def ask() -> dict[str, Any]:
        async with openai.AsyncOpenAI(
            api_key=key.reveal(),
            base_url=settings.base_url,
            timeout=settings.timeout,
            max_retries=settings.max_retries,
        ) as client:
            return await find_model(client, settings, key)

    return {"model": settings.model, **asyncio.run(ask())}


async def find_model(client: openai.AsyncOpenAI, settings: Settings, key: Key) -> dict[str, Any]:
    """What the endpoint says of the model: {"listed": True, "id": ..., and what else it tells (vLLM: "root",
    "max_model_len")}, or {"listed": None} where it lists no models.

    Raises ConfigError where it serves others and not this one, or does not take the key; MachineError where it
    cannot be reached.
    """
    try:
        listed = await client.models.list()
        models = {model.id: model.model_dump(exclude_none=True) for model in listed.data or []}
    except openai.APIConnectionError as error:
        reason = type(error.__cause__ or error).__name__
        raise MachineError(
            f"models.{settings.name}: the endpoint {settings.base_url} cannot be reached ({reason}); start it, or mend "
            "base_url, and run the same command again"
        ) from None
    except openai.APIStatusError as error:
        return _unlisted(error, settings, key)
    except (openai.OpenAIError, ValueError, TypeError, AttributeError):
        return {"listed": None}
    found = next((models[name] for name in (settings.model, f"models/{settings.model}") if name in models), None)
    if found is not None:
        return {"listed": True, **key.scrub(_told(found))}
    if not models or await _retrieves(client, settings.model):
        return {"listed": None}
    raise ConfigError(key.scrub(_not_served(settings, list(models))), path=settings.path("source"))


def _unlisted(error: openai.APIStatusError, settings: Settings, key: Key) -> dict[str, Any]:
    if error.status_code in (401, 403):
        words = key.scrub(error.message)
        raise ConfigError(f"the endpoint does not take the key ({words})", path=settings.path("key_env")) from None
    if error.status_code >= 500 or error.status_code == 429:
        raise MachineError(
            f"models.{settings.name}: the endpoint is not well (status {error.status_code}); run the same command "
            "again later"
        ) from None
    return {"listed": None}


async def _retrieves(client: openai.AsyncOpenAI, model: str) -> bool:
    """Gateways list a part of what they serve, but answer for the rest."""
    try:
        return (await client.models.retrieve(model)).id == model
    except (openai.OpenAIError, ValueError, AttributeError):
        return False


def _told(model: Mapping[str, Any]) -> dict[str, Any]:
    return {name: model[name] for name in ("id", "root", "max_model_len", "owned_by") if name in model}


def _not_served(settings: Settings, names: list[str]) -> str:
    close = difflib.get_close_matches(settings.model, names, n=_SHOWN, cutoff=0.4) or sorted(names)[:_SHOWN]
    message = f"the endpoint does not serve {settings.model!r}; it serves {', '.join(close)}"
    message += f" and {len(names) - len(close)} more" if len(names) > len(close) else ""
    if settings.revision and settings.base_url != OPENAI:
        message += (
            f". Serve it under a name that says its revision: vllm serve {settings.source} --revision "
            f"{settings.revision} --served-model-name {settings.model}"
        )
    return message
