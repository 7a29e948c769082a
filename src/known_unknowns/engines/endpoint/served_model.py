"""The check whether an endpoint serves the model that params.yaml names."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import openai

from known_unknowns.engines.endpoint import surroundings
from known_unknowns.engines.endpoint.client import redirect_error
from known_unknowns.engines.endpoint.settings import OPENAI, ApiKey, EndpointSettings, print_message
from known_unknowns.errors import ConfigError, MachineError

_SHOWN = 5


async def find_model(client: openai.AsyncOpenAI, settings: EndpointSettings, key: ApiKey) -> dict[str, Any]:
    """Return what the endpoint reports about the model.

    That is {"listed": True, "id": ...} and further fields (vLLM: "root", "max_model_len"), or {"listed": None} if the
    endpoint does not list models. Any other reply than a list is a warning, because the list may need another key than
    a question does: the first question decides.

    Raises
    ------
    ConfigError
        The endpoint serves other models only, or redirects to another one.
    MachineError
        The endpoint cannot be reached.
    """
    try:
        listed = await client.with_options(max_retries=0).models.list()
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
    if error.status_code not in (404, 405):  # these are of endpoints without a list
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
