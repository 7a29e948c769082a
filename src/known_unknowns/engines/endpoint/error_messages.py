"""What the error messages of endpoints mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from known_unknowns.engines import unusable
from known_unknowns.records import Reply

_MAX_WORDS = 500

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
    """An error of an endpoint: its code, the parameter it names, and its message ("" for missing parts)."""

    code: str
    parameter: str
    words: str

    @property
    def is_filter(self) -> bool:
        """Whether the provider's content filter is the reason."""
        return any(word in f"{self.code} {self.words}".casefold() for word in _FILTER_WORDS)


def parse_error(body: Any) -> ErrorMessage:
    """Return what an error's body says."""
    if not isinstance(body, Mapping):
        return ErrorMessage("", "", str(body or "")[:_MAX_WORDS])
    error = body.get("error", body)
    if isinstance(error, str):
        return ErrorMessage("", "", error[:_MAX_WORDS])
    if not isinstance(error, Mapping):
        return ErrorMessage("", "", "")
    code = " ".join(str(error[name]) for name in ("code", "type") if error.get(name))
    parameter, words = str(error.get("param") or ""), error.get("message") or error.get("detail") or ""
    if isinstance(words, list):  # as pydantic reports it: [{"loc": ["body", "seed"], "msg": "Extra inputs ..."}]
        rows = [row for row in words if isinstance(row, Mapping)]
        places = [[str(place) for place in row["loc"]] if isinstance(row.get("loc"), list) else [] for row in rows]
        parameter = parameter or next((place[-1] for place in reversed(places) if place), "")
        words = "; ".join(f"{' '.join(place)}: {row.get('msg', '')}" for place, row in zip(places, rows, strict=True))
    return ErrorMessage(code[:_MAX_WORDS], parameter[:_MAX_WORDS], str(words)[:_MAX_WORDS])


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

_NUMBER = r"([0-9][0-9,_]*)"


def _patterns(*patterns: str) -> list[re.Pattern[str]]:
    return [re.compile(pattern.replace("N", _NUMBER), re.IGNORECASE) for pattern in patterns]


_ABOUT_LENGTH = re.compile(
    r"context[ _](?:length|size|window)|max_model_len|maximum model length|maximum allowed length|`inputs`",
    re.IGNORECASE,
)
_LIMIT_NAME = re.compile(r"max_(?:completion_|new_|output_)?tokens", re.IGNORECASE)
_TOO_LARGE = re.compile(r"too (?:large|high|big|long)", re.IGNORECASE)

_WINDOW = _patterns(
    r"context (?:length|size|window) (?:is|of)(?: only)? N",  # OpenAI, vLLM, SGLang, LM Studio
    r"context (?:length|size|window) \(N",  # llama.cpp, SGLang
    r"`max_new_tokens` must be <= N",  # TGI
    r"max_model_len=N",  # vLLM
    r"maximum (?:model length of|allowed length \()\s?N",  # vLLM, SGLang
)
"""The number of tokens of the prompt and the reply together."""
_PROMPT = _patterns(
    r"N (?:tokens )?in (?:the messages|(?:your|the) prompt)",  # OpenAI
    r"(?:contains|has|passed)(?: at least)? N input tokens",  # vLLM
    r"N tokens from the input messages",  # SGLang
    r"Given: N `inputs` tokens",  # TGI
    r"(?:request|input|input length|prompt) \((?:length )?N",  # llama.cpp, SGLang, vLLM
    r"first N tokens",  # LM Studio
)
"""The number of tokens of the prompt."""
_LARGEST = _patterns(
    r"supports at most N",  # OpenAI
    r"> N, which is the maximum",  # Anthropic
    r"(?:less than or equal to|at most|must be <=|no more than|cannot exceed) N",  # pydantic, gateways
    r"range of max_tokens (?:is|should be) \[1, ?N\]",  # DeepSeek, DashScope
)
"""The largest length limit."""


def fitting_limit(error: ErrorMessage, sent: int) -> int | None:
    """Return the length limit that an endpoint would take, if it refuses the value ``sent``.

    Returns
    -------
    int or None
        0 if the prompt alone does not fit, or if the message does not say what would fit. None if the message is not
        about the value of the length limit: the endpoint may not know the parameter.
    """
    window = _first_number(_WINDOW, error.words)
    if window is not None:
        prompt = _first_number(_PROMPT, error.words)
        room = window - (prompt or 0)
        if prompt is None or room == sent - 1:  # vLLM counts a prompt only until it exceeds the window
            room = min(room, window // 2)
        return max(room, 0)
    if _LIMIT_NAME.search(f"{error.parameter} {error.words}"):
        if (largest := _first_number(_LARGEST, error.words)) is not None:
            return largest
        if _TOO_LARGE.search(error.words):
            return 0
    return 0 if _ABOUT_LENGTH.search(f"{error.code} {error.words}") else None


def _first_number(patterns: Iterable[re.Pattern[str]], words: str) -> int | None:
    found = next(filter(None, (pattern.search(words) for pattern in patterns)), None)
    return int(re.sub("[,_]", "", found[1])) if found else None
