"""What a server makes of the reference question, as far as it tells (`known_unknowns.engines.RendersReference`).

vLLM and llama.cpp's server report their version, and render a prompt as text without answering it. Others have neither:
the text sent is then all that is known.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from io import BytesIO
from typing import Any

import httpx2
import numpy as np
import openai
from PIL import Image as Pillow

from known_unknowns.engines.endpoint.request import Requester
from known_unknowns.engines.endpoint.settings import OPENAI
from known_unknowns.engines.reference_prompt import REFERENCE, coarse

_SECONDS = 10.0
_API = "/v1"
_IMAGE = "<image>"


async def record(requester: Requester) -> dict[str, Any]:
    """Return the record of the reference question. Nothing is asked of the model."""
    sent, _ = await requester.messages(REFERENCE)
    image = await requester.encoder.get(REFERENCE.images[0])
    file = base64.b64decode(image.url.partition(",")[2])
    with Pillow.open(BytesIO(file)) as pixels:
        found = coarse(np.asarray(pixels) / 255)
    server = _Server(requester)
    name = await server.version()
    recorded: dict[str, Any] = {
        "text": _text_of(sent),
        "rendered": await server.render() if name else None,
        "tokens": None,
        "image_tokens": None,
        "pixels": {"image as sent": found | {"sha256": image.sha256}},
        "versions": {"server": name, "pillow": version("pillow")},
    }
    redacted: dict[str, Any] = requester.key.redact(recorded)
    return redacted


def _text_of(sent: list[dict[str, Any]]) -> str:
    """Return the texts of messages with their roles, and a mark for each image."""
    lines = []
    for message in sent:
        content = message["content"]
        parts = [content] if isinstance(content, str) else [part.get("text", _IMAGE) for part in content]
        lines += [message["role"], *parts]
    return "\n".join(lines)


class _Server:
    """What stands beside the interface of OpenAI, at the address without "/v1"."""

    def __init__(self, requester: Requester) -> None:
        self._requester = requester
        self._client = requester.client.with_options(max_retries=0)
        base_url = requester.settings.base_url.rstrip("/")
        self._root: str | None = base_url.removesuffix(_API) if base_url.endswith(_API) and base_url != OPENAI else None

    async def version(self) -> str | None:
        """Return the version of vLLM or of llama.cpp's server; None if the server tells none."""
        found = (await self._ask("/version")).get("version") or (await self._ask("/props")).get("build_info")
        return found if isinstance(found, str) else None

    async def render(self) -> str | None:
        """Return the prompt of the reference question without its image; None if the server renders none."""
        sent, _ = await self._requester.messages(replace(REFERENCE, content=(REFERENCE.text,)))
        asked: dict[str, Any] = {"model": self._requester.model, "messages": sent}
        if template := self._requester.settings.template:
            asked["chat_template_kwargs"] = dict(template)
        tokens = (await self._ask("/tokenize", asked | {"add_generation_prompt": True})).get("tokens")
        if tokens:
            found = (await self._ask("/detokenize", {"model": asked["model"], "tokens": tokens})).get("prompt")
        else:
            found = (await self._ask("/apply-template", asked)).get("prompt")
        return found if isinstance(found, str) else None

    async def _ask(self, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Return the object with which a server answers; {} if it does not."""
        if self._root is None:
            return {}
        url = self._root + path
        options: Any = {"security": {"bearer_auth": True}}
        try:
            async with asyncio.timeout(_SECONDS):  # a server may send bytes without an end
                if body is None:
                    response = await self._client.get(url, cast_to=httpx2.Response, options=options)
                else:
                    response = await self._client.post(url, cast_to=httpx2.Response, body=body, options=options)
            found = response.json()
        except (openai.APIConnectionError, TimeoutError):
            self._root = None  # the first question says why
            return {}
        except (openai.OpenAIError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, Mapping) else {}
