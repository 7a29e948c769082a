"""Parse a chat completion, given as JSON values, into a `Reply`. The completion may be malformed.

Refusals, empty replies and truncated replies are outcomes. ``Reply.finish`` distinguishes them:

| finish           | meaning                                            | error                                       |
|------------------|----------------------------------------------------|---------------------------------------------|
| "stop"           | an answer                                          | None                                        |
| "empty"          | a choice without text                              | None                                        |
| "length"         | truncated at the limit; no text if in reasoning    | None                                        |
| "refusal"        | the model declined (the message's "refusal" field) | the model's message                         |
| "content_filter" | the provider blocked the question or the answer    | the provider's message                      |
| "no_choice"      | a completion without a choice                      | a message                                   |
| "rejected"       | the endpoint rejects the question                  | the endpoint's message                      |
| "error"          | no readable reply in any attempt                   | the last reason                             |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from known_unknowns.engines.prices import Usage
from known_unknowns.reasoning_marks import SplitReply, split_reply
from known_unknowns.records import MAX_TOKENS, Reply, Turn, is_token_count

DECIMALS = 6
MAX_CHARACTERS = 1_000_000
"""A longer text is not an answer."""
_MAX_WORDS = 500
_MAX_NAME = 100
_VERSION = re.compile(r"[-@:]\d[\d.-]*")  # "-2024-08-06", "-002"; not the "-7b" of another model


class UnreadableReplyError(Exception):
    """The response is not a chat completion of the requested model. The request may be repeated."""


class WrongModelError(UnreadableReplyError):
    """Another model answered. ``model`` is the name that it reports."""

    def __init__(self, asked: str, model: str) -> None:
        model = model[:_MAX_NAME]
        super().__init__(f"another model answered: {model!r} where {asked!r} was asked")
        self.model = model


@dataclass(frozen=True, slots=True)
class ParsedCompletion:
    """A reply and its usage (None if the endpoint does not report it)."""

    reply: Reply
    usage: Usage | None


def parse(body: Any, turn: Turn, *, model: str, answers_as: str | None = None) -> ParsedCompletion:
    """Parse a completion.

    Raises
    ------
    UnreadableReplyError
        The body is not a chat completion.
    WrongModelError
        The completion names another model than ``model``.
    """
    if not isinstance(body, Mapping) or not isinstance(body.get("choices"), list):
        raise UnreadableReplyError("the reply is not a chat completion")
    echo = body.get("model")
    if isinstance(echo, str) and echo and not same_model(model, echo, answers_as):
        raise WrongModelError(model, echo)
    usage, details = _usage(body.get("usage"))
    if isinstance(echo, str) and echo != model:
        details["model"] = echo[:_MAX_NAME]
    if (fingerprint := body.get("system_fingerprint")) and isinstance(fingerprint, str):
        details["fingerprint"] = fingerprint[:_MAX_NAME]
    choice = body["choices"][0] if body["choices"] else None
    reply = _parse_choice(choice, turn, details) if isinstance(choice, Mapping) else _no_choice()
    return ParsedCompletion(
        Reply(
            **reply,
            input_tokens=usage.input_tokens if usage else None,
            output_tokens=usage.output_tokens if usage else None,
            details=details,
        ),
        usage,
    )


def same_model(asked: str, echo: str, answers_as: str | None = None) -> bool:
    """Return whether the name in a completion denotes the requested model.

    It may be the name itself, a dated version of it ("gpt-4o" answers as "gpt-4o-2024-08-06"), with or without the
    provider's name before it, the name with a revision if none was requested (`transformers serve` answers as
    "NAME@main"), or the name that the entry expects (``answers_as``).
    """
    if answers_as is not None:
        return echo == answers_as
    if "@" not in asked:
        echo = echo.partition("@")[0]
    if not ("/" in asked and "/" in echo):
        asked, echo = asked.rpartition("/")[2], echo.rpartition("/")[2]
    return echo == asked or (echo.startswith(asked) and _VERSION.fullmatch(echo[len(asked) :]) is not None)


def _usage(raw: Any) -> tuple[Usage | None, dict[str, Any]]:
    if not isinstance(raw, Mapping) or not all(
        is_token_count(raw.get(name)) for name in ("prompt_tokens", "completion_tokens")
    ):
        return None, {}
    cached = _detail(raw, "prompt_tokens_details", "cached_tokens")
    reasoning = _detail(raw, "completion_tokens_details", "reasoning_tokens")
    details = {"cached_tokens": cached, "reasoning_tokens": reasoning}
    usage = Usage(raw["prompt_tokens"], raw["completion_tokens"], min(cached, raw["prompt_tokens"]))
    return usage, {name: value for name, value in details.items() if value}


def _detail(usage: Mapping[str, Any], group: str, name: str) -> int:
    value = (usage.get(group) or {}).get(name) if isinstance(usage.get(group), (Mapping, type(None))) else None
    return value if is_token_count(value) else 0


def _is_logprob(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -MAX_TOKENS < value <= 0


def _no_choice() -> dict[str, Any]:
    return {"text": "", "finish": "no_choice", "error": "the endpoint sent a completion without a choice"}


def _parse_choice(choice: Mapping[str, Any], turn: Turn, details: dict[str, Any]) -> dict[str, Any]:
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise UnreadableReplyError("the reply's choice has no message")
    reasoning, text, is_open = _split_reasoning(message)
    if reasoning:
        details["reasoning"] = reasoning
    if max(len(text), len(reasoning)) > MAX_CHARACTERS:
        raise UnreadableReplyError(f"the reply's text is longer than {MAX_CHARACTERS:,} characters")
    finish = choice.get("finish_reason")
    finish = finish[:_MAX_NAME] if finish and isinstance(finish, str) else "stop"
    error = None
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        finish, error = "refusal", f"the model declined: {message['refusal'][:_MAX_WORDS]}"
    elif finish == "content_filter":
        error = "the provider's content filter stopped the answer"
    elif is_open:
        finish = "length"
    elif finish != "length" and not text.strip():
        finish = "empty"
    logprobs = label_logprobs(choice.get("logprobs"), turn.labels) if turn.labels and error is None else None
    return {"text": text, "finish": finish, "error": error, "logprobs": logprobs}


def _split_reasoning(message: Mapping[str, Any]) -> SplitReply:
    """Split reasoning and answer. Servers put the reasoning into a separate field, or leave it in the text."""
    text = _text(message.get("content"))
    for name in ("reasoning", "reasoning_content"):
        if isinstance(message.get(name), str) and message[name]:
            return SplitReply(message[name], text, False)
    split = split_reply(text)
    return split._replace(text=split.text.lstrip()) if split.reasoning or split.open else split


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str))


def has_logprobs(body: Any) -> bool:
    """Whether a completion has log-probabilities at all, even if they are not those of the labels."""
    choices = body.get("choices") if isinstance(body, Mapping) else None
    raw = choices[0].get("logprobs") if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    return bool(isinstance(raw, Mapping) and raw.get("content"))


def label_logprobs(raw: Any, labels: tuple[str, ...]) -> dict[str, float] | None:
    """Return the labels' natural log-probabilities at the reply's first bare label, else at its first step.

    Labels that are not among the endpoint's most likely tokens are left out. The result is None if there are none. It
    is also None if a label may be only the first token of another one ("1" of "10", where "10" is not reported as one
    token): its number would include the other label's.
    """
    steps = raw.get("content") if isinstance(raw, Mapping) else None
    steps = [step for step in steps if isinstance(step, Mapping)] if isinstance(steps, list) else []
    steps = _after_reasoning(steps)
    if not steps:
        return None
    best: dict[str, float] = {}
    step = steps[_label_step([str(step.get("token", "")) for step in steps], labels)]
    told = step.get("top_logprobs")
    for token in [step, *(told if isinstance(told, list) else [])]:
        label = str(token.get("token", "")).strip() if isinstance(token, Mapping) else ""
        value = token.get("logprob") if label in labels else None
        if _is_logprob(value):
            best[label] = max(best.get(label, float(value)), float(value))
    if any(longer.startswith(label) for longer in set(labels) - best.keys() for label in best):
        return None
    return {label: round(best[label], DECIMALS) for label in labels if label in best} or None


def _after_reasoning(steps: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the steps of the answer, for servers that leave the reasoning in the text."""
    tokens = [str(step.get("token", "")) for step in steps]
    text = "".join(tokens)
    split = split_reply(text)
    if split.open or not split.reasoning or not text.endswith(split.text):
        return steps
    start = len(text) - len(split.text)
    ends = accumulate(map(len, tokens))
    return [step for step, token, end in zip(steps, tokens, ends, strict=True) if end > start and token.strip()]


def _label_step(tokens: list[str], labels: tuple[str, ...]) -> int:
    """Return the step of the first bare label, as `known_unknowns.engines._option_labels.label_step` does."""
    for place, token in enumerate(tokens):
        if token.strip() not in labels:
            continue
        before = "".join(tokens[:place])[-1:]
        after = "".join(tokens[place + 1 :])[:1]
        joined_before = before.isalnum() and not token[:1].isspace()
        joined_after = after.isalnum() and not token[-1:].isspace()
        if not joined_before and not joined_after:
            return place
    return 0
