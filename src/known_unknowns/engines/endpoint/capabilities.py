"""What an endpoint supports: asked for until it is declined, then left out for good, said once and recorded."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any

from known_unknowns.engines.endpoint.settings import Settings
from known_unknowns.records import Turn

NEW_LIMIT, OLD_LIMIT = "max_completion_tokens", "max_tokens"
_FEW_LOGPROBS = 5  # what endpoints give that do not give 20


class Capabilities:
    """The optional parameters of a request. ``declined`` maps each that the endpoint would not take to its words."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._limit = NEW_LIMIT
        self._top_logprobs = settings.top_logprobs
        self.declined: dict[str, str] = {}

    def limit(self, turn: Turn) -> int:
        """The most tokens that may be written, those of reasoning among them."""
        answer = self._settings.max_new_tokens or turn.max_new_tokens
        return answer + int(self._settings.reasoning.get("tokens", 0))

    def parameters(self, turn: Turn) -> dict[str, Any]:
        """Everything but the model and the messages."""
        settings = self._settings
        wanted: dict[str, Any] = {
            self._limit: self.limit(turn),
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "seed": settings.seed,
            "reasoning_effort": settings.reasoning.get("effort"),
        }
        if turn.labels and self._top_logprobs:
            wanted |= {"logprobs": True, "top_logprobs": self._top_logprobs}
        if turn.json_schema:
            schema = {"name": "reply", "schema": json.loads(turn.json_schema), "strict": True}
            wanted["response_format"] = {"type": "json_schema", "json_schema": schema}
        return {name: value for name, value in wanted.items() if value is not None and name not in self.declined}

    def adapt(self, sent: Mapping[str, Any], parameter: str, words: str) -> bool:
        """Whether a rejection was about one of the parameters that were sent, which is then not sent so again.

        ``parameter`` is the one that the endpoint names ("" where it names none), ``words`` its message.
        """
        names = [name for name in sent if name == parameter]
        names += [name for name in _ALIASES if name in sent and _mentions(words, *_ALIASES[name])]
        if not names:
            return False
        name = names[0]
        if name in (NEW_LIMIT, OLD_LIMIT):
            self.rename_limit(name, words)
        elif name == "top_logprobs" and sent[name] > _FEW_LOGPROBS:
            self._note(f"more than {_FEW_LOGPROBS} top_logprobs", words)
            self._top_logprobs = min(self._top_logprobs, _FEW_LOGPROBS)
        elif name in ("logprobs", "top_logprobs"):
            self._note("logprobs", words)
            self.declined.setdefault("top_logprobs", words)
        else:
            self._note(name, words)
        return True

    def rename_limit(self, used: str, words: str) -> bool:
        """Put the length limit under its other name; False where that has been tried before."""
        other = OLD_LIMIT if used == NEW_LIMIT else NEW_LIMIT
        if self._limit == used and other in self.declined:
            return False
        self._note(used, words)
        self._limit = other
        return True

    def _note(self, name: str, words: str) -> None:
        if name not in self.declined:
            self.declined[name] = words
            say(self._settings.name, f"the endpoint does not take {name} ({words}); asking without it")


def say(name: str, text: str) -> None:
    """Tell the user something about the model ``name``."""
    print(f"{name}: {text}", file=sys.stderr, flush=True)


_ALIASES = {
    NEW_LIMIT: (NEW_LIMIT,),
    OLD_LIMIT: (OLD_LIMIT,),
    "top_logprobs": ("top_logprobs",),
    "logprobs": ("logprobs", "log probabilities", "log_probs"),
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "seed": ("seed",),
    "reasoning_effort": ("reasoning_effort", "reasoning effort", "reasoning.effort"),
    "response_format": ("response_format", "json_schema", "structured output", "structured outputs"),
}
"""What endpoints call each parameter in their messages."""


def _mentions(words: str, *names: str) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words, re.IGNORECASE) for name in names)
