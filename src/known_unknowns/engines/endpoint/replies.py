"""Parse a chat completion or an error, given as JSON values, into a `Reply`. Either may be malformed.

Empty replies, truncated replies and refusals are outcomes. ``Reply.finish`` distinguishes them:

| finish           | meaning                                                       | error                     |
|------------------|---------------------------------------------------------------|---------------------------|
| "stop"           | an answer                                                     | None                      |
| "empty"          | a choice without text                                         | None                      |
| "length"         | truncated at the limit; the text so far is kept, also if none | None                      |
| "refusal"        | the provider or the model declined in place of a reply        | the message               |
| "content_filter" | the provider blocked the question or the answer               | the provider's message    |
| "rejected"       | the endpoint rejects the question                             | the endpoint's message    |
| "error"          | no readable reply in any attempt                              | the last reason           |

`FINISH_REASONS` maps the endpoint's words to these. After a word of `FAULTS` the question is asked again. Any other
word is an "error" of the question, which is not asked again: the reply was paid for, and would end in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, TypeGuard

from known_unknowns import unusable
from known_unknowns.engines.prices import Usage
from known_unknowns.reasoning_marks import SplitReply, split_reply
from known_unknowns.records import MAX_TOKENS, Continuation, Reply, Turn, is_token_count

# The words of each provider are from its own documents or client:
# Anthropic   https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
# Bedrock     https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html
# Cohere      https://github.com/cohere-ai/cohere-python, types/finish_reason.py and types/chat_finish_reason.py
# DeepSeek    https://api-docs.deepseek.com/api/create-chat-completion
# Gemini      https://googleapis.github.io/js-genai/release_docs/enums/types.FinishReason.html
# Mistral     https://github.com/mistralai/client-python, models/chatcompletionchoice.py
# OpenAI      https://platform.openai.com/docs/api-reference/chat/object
# OpenRouter  https://openrouter.ai/docs/api-reference/overview
# TGI         https://github.com/huggingface/text-generation-inference, router/src/lib.rs
# Together    https://github.com/togethercomputer/together-python, types/common.py
# vLLM        https://github.com/vllm-project/vllm, vllm/v1/engine/__init__.py
# Zhipu       https://docs.z.ai/api-reference/llm/chat-completion
FINISH_REASONS: Mapping[str, str] = {
    "stop": unusable.STOP,
    "eos": unusable.STOP,  # Together
    "eos_token": unusable.STOP,  # TGI
    "stop_sequence": unusable.STOP,  # TGI, Anthropic, Bedrock, Cohere
    "end_turn": unusable.STOP,  # Anthropic, Bedrock
    "complete": unusable.STOP,  # Cohere
    "length": unusable.CUT_OFF,
    "max_tokens": unusable.CUT_OFF,  # Anthropic, Bedrock, Cohere, Gemini
    "model_length": unusable.CUT_OFF,  # Mistral
    "model_context_window_exceeded": unusable.CUT_OFF,  # Anthropic, Bedrock, Zhipu
    "content_filter": unusable.FILTERED,
    "content_filtered": unusable.FILTERED,  # Bedrock
    "guardrail_intervened": unusable.FILTERED,  # Bedrock
    "sensitive": unusable.FILTERED,  # Zhipu
    "error_toxic": unusable.FILTERED,  # Cohere
    "safety": unusable.FILTERED,  # Gemini, this and the following
    "image_safety": unusable.FILTERED,
    "image_prohibited_content": unusable.FILTERED,
    "image_recitation": unusable.FILTERED,
    "recitation": unusable.FILTERED,
    "language": unusable.FILTERED,
    "prohibited_content": unusable.FILTERED,
    "blocklist": unusable.FILTERED,
    "spii": unusable.FILTERED,
    "refusal": unusable.REFUSED,  # Anthropic
}
"""What the finish reasons of endpoints mean, in lower case."""

FAULTS = (
    "abort",  # vLLM
    "error",  # Cohere, Mistral, OpenRouter, vLLM
    "insufficient_system_resource",  # DeepSeek
    "network_error",  # Zhipu
)
"""Finish reasons of replies that the endpoint could not finish this time, in lower case."""

DECIMALS = 6
MAX_CHARACTERS = 1_000_000
"""A longer text is not an answer."""
_MAX_WORDS = 500
_MAX_NAME = 100
_MONTH, _DAY = "(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12]\d|3[01])"
_VERSION = re.compile(rf"[-@](?:20\d\d-?{_MONTH}-?{_DAY}|{_MONTH}-?{_DAY}|2\d{_MONTH}|00\d)")
"""A date ("-2024-08-06", "@20250514", "-0613") or a number ("-002"); not the "-5" or "-7b" of another model."""


class UnreadableReplyError(Exception):
    """The response is no reply of the requested model. The request may be repeated. ``usage`` is what it cost."""

    usage: Usage | None = None


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


@dataclass(frozen=True, slots=True)
class Reasoning:
    """How a model marks its reasoning.

    ``marks`` open and close it besides the known ones. ``opened`` says that the chat template opens it, so that the
    mark is no part of a reply.
    """

    marks: Sequence[str] | None = None
    opened: bool = False


def parse(
    body: Any, turn: Turn, *, model: str, answers_as: str | None = None, reasoning: Reasoning = Reasoning()
) -> ParsedCompletion:
    """Parse a completion.

    Raises
    ------
    UnreadableReplyError
        The body is not a chat completion.
    WrongModelError
        The completion names another model than ``model``.
    """
    if not isinstance(body, Mapping):
        raise UnreadableReplyError("the reply is not a chat completion")
    usage, details = _usage(body.get("usage"))
    try:
        echo = body.get("model")
        if isinstance(echo, str) and echo and not same_model(model, echo, answers_as):
            raise WrongModelError(model, echo)
        if isinstance(echo, str) and echo != model:
            details["model"] = echo[:_MAX_NAME]
        if (fingerprint := body.get("system_fingerprint")) and isinstance(fingerprint, str):
            details["fingerprint"] = fingerprint[:_MAX_NAME]
        reply = _parse_choice(body, turn, details, reasoning)
    except UnreadableReplyError as error:
        error.usage = usage
        raise
    tokens = (usage.input_tokens, usage.output_tokens) if usage else (None, None)
    return ParsedCompletion(replace(reply, input_tokens=tokens[0], output_tokens=tokens[1], details=details), usage)


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


def _is_logprob(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -MAX_TOKENS < value <= 0


def _parse_choice(body: Mapping[str, Any], turn: Turn, details: dict[str, Any], marked: Reasoning) -> Reply:
    """Return the reply in a completion, and add its reasoning to the details."""
    choice = _choice(body)
    for error in (body.get("error"), choice and choice.get("error")):
        if error:
            return _failed(parse_error({"error": error} if isinstance(error, str) else error))
    if choice is None:
        kind = "a completion without a choice" if isinstance(body.get("choices"), list) else "not a chat completion"
        raise UnreadableReplyError(f"the reply is {kind}")
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise UnreadableReplyError("the reply's choice has no message")
    finish = _finish(choice.get("finish_reason"))
    if finish == unusable.ERROR:
        return Reply("", finish=finish, error=f"the reply {_ended(choice['finish_reason'])}")
    # A server that removes the reasoning returns whole replies without marks. Only a cut reply may still be inside it.
    opened = marked.opened and finish == unusable.CUT_OFF
    (reasoning, text, is_open), refusal = _parts(message, marked.marks, opened=opened)
    finish = unusable.CUT_OFF if is_open and finish == unusable.STOP else finish
    if reasoning:
        details["reasoning"] = reasoning
    if max(len(text), len(reasoning)) > MAX_CHARACTERS:
        raise UnreadableReplyError(f"the reply's text is longer than {MAX_CHARACTERS:,} characters")
    if refusal:
        return Reply(text, finish=unusable.REFUSED, error=f"the model declined: {refusal[:_MAX_WORDS]}")
    if finish == unusable.REFUSED:
        return Reply(text, finish=finish, error="the provider refused to answer")
    if finish == unusable.FILTERED:
        return Reply(text, finish=finish, error=f"the content filter stopped the answer ({choice['finish_reason']})")
    content = _content(message.get("content"))[1]
    raw = content if reasoning and content != text else None  # the server left the reasoning in the text
    if not text.strip():
        return Reply(text, finish=finish if finish == unusable.CUT_OFF else unusable.EMPTY, raw=raw)
    logprobs = label_logprobs(choice.get("logprobs"), turn.labels, marked.marks) if turn.labels else None
    return Reply(text, logprobs, finish=finish, raw=raw)


def prompt_continuation(body: Any, text: str) -> Continuation | None:
    """Return the likelihood of the text that ends a prompt, from the log-probabilities of all tokens of the prompt.

    They are a list with an object for each token (vLLM), whose first value is that of the prompt's own token. None if
    there are none, or they do not end with the text. Spaces within the text do not count, because some tokenizers lose
    them; the spaces directly before it belong to it, as in process.

    A character of several tokens is at its last token, and the others are empty or U+FFFD (vLLM). Those of the text's
    first character are before the place where the text is complete.
    """
    rows = body.get("prompt_logprobs") if isinstance(body, Mapping) else None
    wanted, read = "".join(text.split()), ""
    values: list[float] = []
    for row in reversed(rows if isinstance(rows, list) else []):
        first = next(iter(row.values()), None) if isinstance(row, Mapping) else None
        is_complete = len(read) >= len(wanted)
        is_known = isinstance(first, Mapping) and _is_logprob(first.get("logprob"))
        decoded = str(first.get("decoded_token")).strip(" \ufffd") if isinstance(first, Mapping) else ""
        if is_complete and (decoded or not is_known):
            break
        if not isinstance(first, Mapping) or not is_known:
            return None
        read = "".join(decoded.split()) + read
        values.append(first["logprob"])
    return Continuation(round(sum(values), 6), len(values)) if values and read == wanted else None


def _choice(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the choice of the lowest index, wherever it is in the list; None if there is none."""
    choices = body.get("choices")
    found = [each for each in choices if isinstance(each, Mapping)] if isinstance(choices, list) else []
    return min(found, key=lambda each: each["index"] if is_token_count(each.get("index")) else 0, default=None)


def _failed(error: ErrorMessage) -> Reply:
    """Return the reply to a question whose completion holds an error, although its status is 200."""
    if error.is_filter:
        return Reply("", finish=unusable.FILTERED, error=f"the content filter stopped the answer: {error.words}")
    raise UnreadableReplyError(f"the reply is an error: {error.words or error.code or 'no reason given'}")


def _finish(word: Any) -> str:
    """Return what a finish reason means. An endpoint that gives none has finished."""
    if word is None or word == "":
        return unusable.STOP
    if not isinstance(word, str) or word.casefold() in FAULTS:
        raise UnreadableReplyError(f"the reply {_ended(word)}")
    # Some endpoints write their own reason after the general one: "content_filter: PROHIBITED_CONTENT".
    general = word.partition(":")[0].strip()
    return FINISH_REASONS.get(general.casefold(), unusable.ERROR)


def _ended(word: Any) -> str:
    shown = repr(word[:_MAX_NAME]) if isinstance(word, str) else f"a {type(word).__name__}"
    return f"ended with {shown}, which is no end of an answer"


def _parts(message: Mapping[str, Any], marks: Sequence[str] | None, *, opened: bool) -> tuple[SplitReply, str]:
    """Return the reasoning and the answer of a message, and its refusal.

    Servers put the reasoning into a separate field or part, or leave it in the text.
    """
    reasoning, text, refusal = _content(message.get("content"))
    refusal = refusal or _optional_text(message, "refusal")
    reasoning = reasoning or _optional_text(message, "reasoning") or _optional_text(message, "reasoning_content")
    if reasoning:
        return SplitReply(reasoning, text, False), refusal
    split = split_reply(text, opened=opened, marks=marks)
    return (split._replace(text=split.text.lstrip()) if split.reasoning or split.open else split), refusal


def _optional_text(message: Mapping[str, Any], name: str) -> str:
    value = message.get(name)
    return value if isinstance(value, str) else ""


def _content(content: Any) -> tuple[str, str, str]:
    """Return the reasoning, the text and the refusal in a message's content.

    The content is a text, null, or a list of parts (OpenAI: text and refusal; Mistral: also thinking).
    """
    if content is None or isinstance(content, str):
        return "", content or "", ""
    if not isinstance(content, list):
        raise UnreadableReplyError(f"the reply's content is no text, but of the type {type(content).__name__}")
    texts = {"thinking": "", "text": "", "refusal": ""}
    for part in content:
        kind, value = ("text", part) if isinstance(part, str) else _typed_part(part)
        if kind not in texts or not isinstance(value, str):
            raise UnreadableReplyError("the reply's content has a part that is no text")
        texts[kind] += value
    return texts["thinking"], texts["text"], texts["refusal"]


def _typed_part(part: Any) -> tuple[str, Any]:
    """Return the type of a part of a message's content, and its text."""
    if not isinstance(part, Mapping):
        return "", None
    kind = part.get("type", "text")
    kind = {"output_text": "text", "reasoning": "thinking"}.get(kind, kind) if isinstance(kind, str) else ""
    value = part.get(kind, part.get("text"))
    if kind == "thinking" and isinstance(value, list):  # Mistral's has parts of its own
        value = "".join(str(each.get("text", "")) for each in value if isinstance(each, Mapping))
    return kind, value


def label_logprobs(raw: Any, labels: tuple[str, ...], marks: Sequence[str] | None = None) -> dict[str, float] | None:
    """Return the labels' natural log-probabilities at the reply's first bare label, else at its first step.

    Labels that are not among the endpoint's most likely tokens are left out. The result is None if there are none. It
    is also None if a label may be only the first token of another one ("1" of "10", where "10" is not reported as one
    token): its number would include the other label's.
    """
    steps = raw.get("content") if isinstance(raw, Mapping) else None
    steps = [step for step in steps if isinstance(step, Mapping)] if isinstance(steps, list) else []
    steps = _after_reasoning(steps, marks)
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


def _after_reasoning(steps: list[Mapping[str, Any]], marks: Sequence[str] | None) -> list[Mapping[str, Any]]:
    """Return the steps of the answer, for servers that leave the reasoning in the text."""
    tokens = [str(step.get("token", "")) for step in steps]
    text = "".join(tokens)
    split = split_reply(text, marks=marks)
    if split.open or not split.reasoning or not text.endswith(split.text):
        return steps
    start = len(text) - len(split.text)
    ends = accumulate(map(len, tokens))
    return [step for step, token, end in zip(steps, tokens, ends, strict=True) if end > start and token.strip()]


def _label_step(tokens: list[str], labels: tuple[str, ...]) -> int:
    """Return the step of the first bare label, as `known_unknowns.engines._reply_builder.label_step` does."""
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


# What error messages mean

_FILTER_WORDS = (
    "content_filter",
    "content_policy",
    "content management policy",
    "data_inspection_failed",
    "responsibleai",
    "safety system",
    "input was flagged",
)


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """An error of an endpoint: its code and its message ("" for missing parts)."""

    code: str
    words: str

    @property
    def is_filter(self) -> bool:
        """Whether the provider's content filter is the reason."""
        return any(word in f"{self.code} {self.words}".casefold() for word in _FILTER_WORDS)


def parse_error(body: Any) -> ErrorMessage:
    """Return what an error's body says."""
    if not isinstance(body, Mapping):
        return ErrorMessage("", str(body or "")[:_MAX_WORDS])
    error = body.get("error", body)
    if isinstance(error, str):
        return ErrorMessage("", error[:_MAX_WORDS])
    if not isinstance(error, Mapping):
        return ErrorMessage("", "")
    code = " ".join(str(error[name]) for name in ("code", "type") if error.get(name))
    words = error.get("message") or error.get("detail") or ""
    if isinstance(words, list):  # as pydantic reports it: [{"loc": ["body", "seed"], "msg": "Extra inputs ..."}]
        rows = [row for row in words if isinstance(row, Mapping)]
        words = "; ".join(f"{_place(row.get('loc'))}: {row.get('msg', '')}" for row in rows)
    return ErrorMessage(code[:_MAX_WORDS], str(words)[:_MAX_WORDS])


def _place(location: Any) -> str:
    return " ".join(map(str, location)) if isinstance(location, list) else ""


def rejected_reply(status: int, error: ErrorMessage) -> Reply:
    """Return the reply to a question that the endpoint will never answer."""
    if error.is_filter:
        reason = f"the provider's content filter stopped the question: {error.words}"
        return Reply("", finish=unusable.FILTERED, error=reason)
    if _UNFINISHED.search(error.words):
        return Reply("", finish=unusable.CUT_OFF)
    return Reply("", finish=unusable.REJECTED, error=f"status {status}: {error.words}")


_UNFINISHED = re.compile(r"could not finish the message because|output limit was reached", re.IGNORECASE)
"""OpenAI's status 400 for a model that used all its tokens for reasoning."""
