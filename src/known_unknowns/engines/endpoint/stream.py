"""A completion that came in parts, as server-sent events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from known_unknowns.engines.endpoint.replies import UnreadableReplyError

_LINE_END = re.compile(r"\r\n|\r|\n")  # of server-sent events; JSON's texts may contain other ones, such as U+2028
_TEXTS = ("reasoning", "reasoning_content", "refusal")
_WHOLE = ("error", "model", "prompt_logprobs", "system_fingerprint", "usage")


def completion(content: bytes) -> dict[str, Any]:
    """Return the completion that the events of a response make together, as if it had been sent whole.

    Its choice is that of index 0. It has no choices if the events do not end with a finish reason or [DONE], because
    the connection broke.

    Raises ValueError if an event is not JSON, UnreadableReplyError if it is no part of a completion.
    """
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant"}
    choice: dict[str, Any] = {"index": 0, "message": message}
    steps: list[Any] = []
    contents: list[Any] = []  # texts, and parts of a content that is a list of parts
    ended = False
    for event in _events(content):
        if event is None:
            ended = True
            continue
        whole |= {name: event[name] for name in _WHOLE if event.get(name)}
        choices = event.get("choices") or []
        if not isinstance(choices, list):
            raise UnreadableReplyError("an event of the reply is no part of a chat completion")
        for part in choices:
            if not isinstance(part, Mapping) or part.get("index", 0) != 0:
                continue
            delta = part.get("delta") or {}
            if not isinstance(delta, Mapping):
                raise UnreadableReplyError("an event of the reply is no part of a chat completion")
            content_of_delta = delta.get("content")
            if isinstance(content_of_delta, list):
                contents += content_of_delta
            elif content_of_delta is not None:
                contents.append(content_of_delta)
            for name in _TEXTS:
                if isinstance(delta.get(name), str):
                    message[name] = message.get(name, "") + delta[name]
            logprobs = part.get("logprobs")
            of_part = logprobs.get("content") if isinstance(logprobs, Mapping) else None
            steps += of_part if isinstance(of_part, list) else []
            choice |= {name: part[name] for name in ("error", "finish_reason") if part.get(name)}
    are_texts = all(isinstance(each, str) for each in contents)
    message["content"] = "".join(contents) if are_texts else contents
    if steps:
        choice["logprobs"] = {"content": steps}
    return whole | {"choices": [choice] if ended or "finish_reason" in choice else []}


def _events(content: bytes) -> Iterator[dict[str, Any] | None]:
    """Yield the events that are JSON objects, and None for the last one, [DONE]."""
    for line in _LINE_END.split(content.decode("utf-8", "replace")):
        name, _, data = line.partition(":")
        if name != "data":
            continue
        if data.strip() == "[DONE]":
            yield None
        elif isinstance(event := json.loads(data), dict):
            yield event
