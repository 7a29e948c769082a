"""What an endpoint supports.

A parameter is sent until it is declined, and then omitted; this is reported and recorded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from known_unknowns.engines.endpoint.settings import EndpointSettings, print_message
from known_unknowns.records import MAX_TOKENS, Turn, sample_of

NEW_LIMIT, OLD_LIMIT = "max_completion_tokens", "max_tokens"
_FEW_LOGPROBS = 5  # the maximum of endpoints that do not support 20
_PATIENCE = 3
"""Number of replies without the requested log-probabilities after which they are requested no more."""
OF_PROMPT: Mapping[str, Any] = {
    "prompt_logprobs": 0,
    "continue_final_message": True,
    "add_generation_prompt": False,
}
"""vLLM's parameters of a request whose last message is the beginning of a reply, and for the log-probabilities of its
tokens."""


class Capabilities:
    """The optional parameters of a request. ``declined`` maps each declined parameter to the endpoint's message."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self._limit_name = NEW_LIMIT
        self._largest_limit = MAX_TOKENS
        self._top_logprobs = settings.top_logprobs
        self.declined: dict[str, str] = {}
        self._without_logprobs: int | None = 0
        self.scores_prompts = False  # until a reply had the log-probabilities of its prompt

    def limit(self, turn: Turn) -> int:
        """Return the maximum number of generated tokens, reasoning included, that the endpoint takes."""
        if turn.continuations is not None:
            return 1
        answer = self._settings.max_new_tokens or turn.max_new_tokens
        return min(answer + int(self._settings.reasoning.get("tokens", 0)), self._largest_limit)

    def parameters(self, turn: Turn) -> dict[str, Any]:
        """Return the request's parameters except the model and the messages."""
        settings = self._settings
        wanted: dict[str, Any] = {
            self._limit_name: self.limit(turn),
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "seed": None if settings.seed is None else settings.seed + sample_of(turn.seed),
            "top_k": settings.top_k,
            "repetition_penalty": settings.repetition_penalty,
            "stop": settings.stop,
            "mm_processor_kwargs": settings.processor,
            "reasoning_effort": settings.reasoning.get("effort"),
        }
        if turn.continuations is not None:
            wanted |= OF_PROMPT
        elif turn.labels and self._top_logprobs:
            wanted |= {"top_logprobs": self._top_logprobs, "logprobs": True}
        if turn.json_schema:
            schema = {"name": "reply", "schema": json.loads(turn.json_schema), "strict": True}
            wanted["response_format"] = {"type": "json_schema", "json_schema": schema}
        return {name: value for name, value in wanted.items() if value is not None and name not in self.declined}

    def adapt(self, sent: Mapping[str, Any], parameter: str, words: str) -> bool:
        """Return whether a rejection concerns a parameter that was sent; that parameter is then changed or omitted.

        ``parameter`` is the one that the endpoint names ("" if it names none), ``words`` its message.
        """
        names = [name for name in sent if name == parameter]
        names += [name for name in sent if _mentions(words, name, *_OTHER_NAMES.get(name, ()))]
        if not names:
            return False
        name = names[0]
        if name in (NEW_LIMIT, OLD_LIMIT):
            return self.rename_limit(name, words)
        if name == "top_logprobs" and sent[name] > _FEW_LOGPROBS:
            self._note(f"more than {_FEW_LOGPROBS} top_logprobs", words)
            self._top_logprobs = min(self._top_logprobs, _FEW_LOGPROBS)
        elif name in ("logprobs", "top_logprobs"):
            self._note("logprobs", words)
            self.declined.setdefault("top_logprobs", words)
        else:
            self._note(name, words)
        return True

    @property
    def no_prompt_logprobs(self) -> str | None:
        """Why the log-probabilities of a prompt are requested no more; None if they are."""
        return next((self.declined[name] for name in OF_PROMPT if name in self.declined), None)

    def decline_prompt_logprobs(self, words: str) -> None:
        """Request no log-probabilities of a prompt from now on."""
        self._note("prompt_logprobs", words, instead="the likelihood of options is left out")

    def observe(self, sent: Mapping[str, Any], *, returned: bool) -> None:
        """Note whether a usable completion has the log-probabilities that were requested.

        An endpoint that returns none with the first `_PATIENCE` completions declines them silently.
        """
        if "logprobs" not in sent or self._without_logprobs is None or "logprobs" in self.declined:
            return
        if returned:
            self._without_logprobs = None
            return
        self._without_logprobs += 1
        if self._without_logprobs == _PATIENCE:
            words = f"requested, and in none of the first {_PATIENCE} replies"
            self._note("logprobs", words)
            self.declined.setdefault("top_logprobs", words)

    def rename_limit(self, used: str, words: str) -> bool:
        """Send the length limit under its old name. Return False if that was refused: no limit is no alternative."""
        if used == OLD_LIMIT:
            return False
        self._note(NEW_LIMIT, words)
        self._limit_name = OLD_LIMIT
        return True

    def lower_limit(self, largest: int, words: str) -> None:
        """Send no higher length limit than ``largest`` from now on."""
        self._largest_limit = min(self._largest_limit, largest)
        self._note("the length limit", words, instead=f"asking for {largest:,} tokens at most")

    def _note(self, name: str, words: str, instead: str = "asking without it") -> None:
        if name not in self.declined:
            self.declined[name] = words
            print_message(self._settings.name, f"the endpoint does not take {name} ({words}); {instead}")


_OTHER_NAMES = {
    "logprobs": ("log probabilities", "log_probs"),
    "reasoning_effort": ("reasoning effort", "reasoning.effort"),
    "response_format": ("json_schema", "structured output", "structured outputs"),
}
"""Names of parameters in the messages of endpoints, besides their own."""


def _mentions(words: str, *names: str) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words, re.IGNORECASE) for name in names)
