"""A completion that came in parts, as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_TEXTS = ("content", "reasoning", "reasoning_content", "refusal")
_WHOLE = ("error", "model", "prompt_logprobs", "system_fingerprint", "usage")


def completion(content: bytes) -> dict[str, Any]:
    """Return the completion that the events of a response make together, as if it had been sent whole.

    Its choice is that of index 0. It has no choices if the events do not end with a finish reason or [DONE], because
    the connection broke. Raises ValueError if an event is not JSON.
    """
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    choice: dict[str, Any] = {"index": 0, "message": message}
    steps: list[Any] = []
    ended = False
    for event in _events(content):
        if event is None:
            ended = True
            continue
        whole |= {name: event[name] for name in _WHOLE if event.get(name)}
        for part in event.get("choices") or ():
            if not isinstance(part, Mapping) or part.get("index", 0) != 0:
                continue
            delta = part.get("delta") or {}
            for name in _TEXTS:
                if isinstance(delta.get(name), str):
                    message[name] = message.get(name, "") + delta[name]
            steps += (part.get("logprobs") or {}).get("content") or []
            choice |= {name: part[name] for name in ("error", "finish_reason") if part.get(name)}
    if steps:
        choice["logprobs"] = {"content": steps}
    return whole | {"choices": [choice] if ended or "finish_reason" in choice else []}


def _events(content: bytes) -> Iterator[dict[str, Any] | None]:
    """Yield the events that are JSON objects, and None for the last one, [DONE]."""
    for line in content.decode("utf-8", "replace").splitlines():
        name, _, data = line.partition(":")
        if name != "data":
            continue
        if data.strip() == "[DONE]":
            yield None
        elif isinstance(event := json.loads(data), dict):
            yield event
