"""The endpoint's settings in a model's entry, and the API key, which is never written to a file."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from known_unknowns.config import OpenAIModel
from known_unknowns.config.redaction import address_mistake
from known_unknowns.errors import ConfigError
from known_unknowns.records import Turn

OPENAI = "https://api.openai.com/v1"
LIMIT_NAMES = ("max_completion_tokens", "max_tokens")
"""The names of the length limit. Servers refuse or ignore one of them."""
KEY_VARIABLE = "OPENAI_API_KEY"
_OF_PROMPT: Mapping[str, Any] = {
    "prompt_logprobs": 0,
    "continue_final_message": True,
    "add_generation_prompt": False,
}
"""vLLM's parameters of a request whose last message is the beginning of a reply, and for the log-probabilities of its
tokens."""
_NO_KEY = "none"  # the client requires a key; local servers ignore it
_SHORTEST_PREFIX = 12  # "sk-proj-" is a beginning of many keys
_SHORTEST_SECRET = 8  # "none" or "EMPTY" is not secret, and removing it would alter replies


@dataclass(frozen=True, slots=True)
class ImageSettings:
    """How images are sent: "png" is lossless; "jpeg" is smaller, with ``quality`` from 1 to 100."""

    format: str = "png"
    quality: int = 95
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """A model's entry with its defaults. rules/schemas/params.schema.yaml and docs/models.md explain the keys.

    ``written`` are the fields that the entry sets; the others are defaults, which an endpoint may refuse
    (`known_unknowns.engines.endpoint.refused_defaults`): also the name of the length limit (``limit_name``), and
    whether a reply's JSON schema is sent (``structured``).

    Raises ConfigError if the address contains a user, a password or a query, which would be recorded.
    """

    name: str
    source: str
    revision: str | None = None
    base_url: str = OPENAI
    endpoint: str | None = None
    key_env: str | None = None
    answers_as: str | None = None
    system: str | None = None
    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int | None = 0
    max_new_tokens: int | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    stop: Sequence[str] | None = None
    processor: Mapping[str, Any] | None = None
    template: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] | None = None
    stream: bool = False
    reasoning: Mapping[str, Any] = field(default_factory=dict)
    top_logprobs: int = 20
    image: ImageSettings = field(default_factory=ImageSettings)
    concurrency: int = 8
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout: float = 120.0
    max_retries: int = 5
    patience: float = 600.0
    max_cost: Mapping[str, float] = field(default_factory=dict)
    check_served: bool = True
    limit_name: str = LIMIT_NAMES[0]
    structured: bool = True
    written: frozenset[str] = frozenset()
    launched_key: ApiKey | None = None

    @classmethod
    def from_entry(cls, name: str, entry: OpenAIModel) -> EndpointSettings:
        """Read the settings of the model ``name``. Only keys that were set are taken from the entry."""
        base_url = str(entry.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI)
        if mistake := address_mistake(base_url):  # the address in the environment is not checked with the configuration
            raise ConfigError(mistake, path=f"models.{name}.base_url")
        values = entry.plain()
        of_turns = ("images", "prompt", "order", "kept", "asked", "samples")  # they change the turns, or what is read
        if values.pop("launch", None) is not None:
            values["endpoint"] = "launch"
        for key in ("engine", "published", "card", "job", "base_url", "decoding", "image", *of_turns):
            values.pop(key, None)
        image, decoding = ImageSettings(**entry.image.plain()), entry.decoding.plain()
        if decoding.pop("sampling", None):
            decoding = {"temperature": None} | decoding  # the server's default, which vLLM reads from the checkpoint
        written = frozenset({*decoding, *values})
        return cls(name=name, base_url=base_url, image=image, written=written, **decoding, **values)

    @property
    def model(self) -> str:
        """The name to request. A revision is part of it (see docs/models.md: vllm serve)."""
        return f"{self.source}@{self.revision}" if self.revision else self.source

    def facts(self) -> dict[str, Any]:
        """Return everything that can change a reply (see `known_unknowns.engines.Engine`)."""
        return {
            "engine": "openai",
            "source": self.source,
            "revision": self.revision,
            "endpoint": self.endpoint or self.base_url,
            "system": self.system,
            "decoding": {
                "temperature": self.temperature,
                "top_p": self.top_p,
                "seed": self.seed,
                "max_new_tokens": self.max_new_tokens,
                **_set(top_k=self.top_k, repetition_penalty=self.repetition_penalty, stop=self.stop),
            },
            "reasoning": dict(self.reasoning),
            "top_logprobs": self.top_logprobs,
            "image": {"format": self.image.format, "detail": self.image.detail}
            | ({"quality": self.image.quality} if self.image.format == "jpeg" else {}),
            **_set(
                processor=self.processor,
                template=self.template,
                extra=self.extra,
                limit_name=None if self.limit_name == LIMIT_NAMES[0] else self.limit_name,
                structured=None if self.structured else False,
            ),
        }

    def limit(self, turn: Turn) -> int:
        """Return the maximum number of generated tokens, reasoning included."""
        if turn.continuations is not None:
            return 1
        return (self.max_new_tokens or turn.max_new_tokens) + int(self.reasoning.get("tokens", 0))

    def parameters(self, turn: Turn) -> dict[str, Any]:
        """Return a request's parameters except the model and the messages."""
        parameters: dict[str, Any] = {
            self.limit_name: self.limit(turn),
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": None if self.seed is None else self.seed + turn.sample,
            "top_k": self.top_k,
            "repetition_penalty": self.repetition_penalty,
            "stop": self.stop,
            "mm_processor_kwargs": self.processor,
            "chat_template_kwargs": self.template,
            "reasoning_effort": self.reasoning.get("effort"),
        }
        if self.stream:
            parameters |= {"stream": True, "stream_options": {"include_usage": True}}
        if turn.continuations is not None:
            parameters |= _OF_PROMPT
        elif turn.labels and self.top_logprobs:
            parameters |= {"top_logprobs": self.top_logprobs, "logprobs": True}
        if turn.json_schema and self.structured:
            schema = {"name": "reply", "schema": json.loads(turn.json_schema), "strict": True}
            parameters["response_format"] = {"type": "json_schema", "json_schema": schema}
        return {name: value for name, value in parameters.items() if value is not None} | dict(self.extra or {})

    def path(self, key: str) -> str:
        """Return the dotted path of one of the entry's keys, for errors."""
        return f"models.{self.name}.{key}"

    def key(self) -> ApiKey:
        """Return the API key, from the environment or from ./.env.

        Raises ConfigError if it is missing. Local endpoints need none unless the entry names a variable.
        """
        if self.launched_key is not None:
            return self.launched_key
        variable = self.key_env or KEY_VARIABLE
        value = (os.environ.get(variable) or _from_file(variable) or "").strip()
        if not (value.isascii() and value.isprintable()):
            raise ConfigError(
                f"the key in {variable} has a character that no key has, such as a typographic quote or a line break; "
                "copy it again",
                path=self.path("key_env"),
            )
        if value:
            return ApiKey(value)
        if self.key_env is None and self.base_url != OPENAI:
            return ApiKey(_NO_KEY)
        raise ConfigError(
            f"the environment variable {variable}, which holds the endpoint's key, is not set; set it, or write "
            f"{variable}=... into .env, which git ignores (never into params.yaml)",
            path=self.path("key_env"),
        )


def _set(**settings: Any) -> dict[str, Any]:
    """Return the settings that are given. The others are no part of a reply's key."""
    return {name: value for name, value in settings.items() if value is not None}


class ApiKey:
    """A secret. Only the client can read it, and `redact` removes it from texts that are kept."""

    def __init__(self, value: str) -> None:
        self._value = value
        self._pattern = _secret_pattern(value)

    def __repr__(self) -> str:
        return "ApiKey(...)"

    def reveal(self) -> str:
        """Return the key itself."""
        return self._value

    def redact(self, value: Any) -> Any:
        """Return a JSON value that is safe to keep.

        The key, its beginnings and its usual encodings are removed from all its texts, because endpoints repeat it in
        their errors. Unpaired surrogates, which JSON can hold and tables cannot, are replaced.
        """
        if isinstance(value, str):
            text = value.encode("utf-8", "replace").decode("utf-8")
            return self._pattern.sub("[key]", text) if self._pattern else text
        if isinstance(value, Mapping):
            return {self.redact(key): self.redact(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.redact(item) for item in value]
        return value


def _secret_pattern(key: str) -> re.Pattern[str] | None:
    """Return a pattern of the key, its beginnings of `_SHORTEST_PREFIX` and more characters, and its encodings."""
    if len(key) < _SHORTEST_SECRET:
        return None
    data = key.encode()
    forms = {key, quote(key, safe=""), data.hex(), data.hex().upper(), json.dumps(key)[1:-1], html.escape(key)}
    for offset in range(3):  # the key may stand anywhere in the encoded bytes, as in "Bearer <key>"
        whole = base64.b64encode(bytes(offset) + data).decode("ascii").rstrip("=")
        part = whole[-(-offset * 8 // 6) : (offset + len(data)) * 8 // 6]
        forms |= {part, part.replace("+", "-").replace("/", "_")}
    longest = sorted(forms, key=len, reverse=True)
    beginning = ""
    for character in reversed(key[_SHORTEST_PREFIX:]):
        beginning = f"(?:{re.escape(character)}{beginning})?"
    beginning = re.escape(key[:_SHORTEST_PREFIX]) + beginning
    return re.compile("|".join([*map(re.escape, longest), *([beginning] if len(key) > _SHORTEST_PREFIX else [])]))


def _from_file(variable: str) -> str | None:
    """Return the variable from ./.env, without changing the environment of other programs."""
    from dotenv import dotenv_values

    return dotenv_values(Path(".env")).get(variable) if Path(".env").is_file() else None


def print_message(name: str, text: str) -> None:
    """Print a message about the model ``name`` to stderr."""
    print(f"{name}: {text}", file=sys.stderr, flush=True)
