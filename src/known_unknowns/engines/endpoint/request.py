"""One question's request: its messages, and its reply or the reason why there is none.

The status of a response, and whether the endpoint has answered a question before, decide what an error means:

| status                       | before the first answer | afterwards                                                |
|------------------------------|-------------------------|-----------------------------------------------------------|
| 408, 409, 429, 5xx, no reply | asked again             | asked again, in the end recorded as "error"               |
| 401, 402, 403, 404, no quota | the run stops           | an answered question is asked again: if it is answered,   |
|                              |                         | this one is recorded as "rejected", else the run stops    |
| 400 and any other 4xx        | held; after eight of    | recorded as "rejected", in a series after the same check  |
|                              | them the run stops      |                                                           |

The client repeats a request of the first row (``max_retries``), and waits as long as ``Retry-After`` says.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx2
import openai

from known_unknowns import stopping, unusable
from known_unknowns.engines.endpoint import replies, stream, surroundings
from known_unknowns.engines.endpoint.budget import Budget, UsageEstimator
from known_unknowns.engines.endpoint.client import (
    CURRENT_REQUEST,
    MAX_REPLY_BYTES,
    TOO_LONG,
    RequestContext,
    RequestLimits,
    redirect_error,
)
from known_unknowns.engines.endpoint.replies import parse_error, rejected_reply
from known_unknowns.engines.endpoint.settings import KEY_VARIABLE, ApiKey, EndpointSettings, ImageSettings
from known_unknowns.errors import ConfigError, KnownUnknownsError, MachineError
from known_unknowns.images import open_image
from known_unknowns.records import Continuation, Image, Reply, Turn

CACHE_SIZE = 8
"""Number of encoded images kept for later questions about them."""
_NO_PROMPT_LOGPROBS = "the endpoint does not return the log-probabilities of a prompt ({})"
_OTHER_API = re.compile(r"\bv1/responses\b")
"""In the message of a model without chat completions (OpenAI's status 404)."""
_RESPONSES_ONLY = (
    "the endpoint answers this model through its Responses API only, which this engine does not have. Questions of one "
    "turn can be asked with inspect_ai's own client, and its log imported (docs/models.md: Models with the Responses "
    "API only); dialogues cannot be asked"
)
_QUOTA_CODES = ("insufficient_quota", "billing_hard_limit_reached")


@dataclass(frozen=True, slots=True)
class SentImage:
    """An image as sent. ``sha256`` is that of the encoded file, which the endpoint decodes."""

    url: str
    sha256: str


class ImageEncoder:
    """Encodes images outside the event loop, each once for all questions that need it meanwhile.

    At most `CACHE_SIZE` images, and those of the questions under way, are in memory. Raises DataError for an unreadable
    image.
    """

    def __init__(self, folder: Path, settings: ImageSettings) -> None:
        self._folder, self._settings = folder, settings
        self._encoded: OrderedDict[Image, asyncio.Task[SentImage]] = OrderedDict()

    async def get(self, image: Image) -> SentImage:
        task = self._encoded.get(image)
        if task is None:
            task = asyncio.create_task(asyncio.to_thread(encode, image, self._folder, self._settings))
            self._encoded[image] = task
        self._encoded.move_to_end(image)
        while len(self._encoded) > CACHE_SIZE:
            self._encoded.popitem(last=False)
        return await asyncio.shield(task)  # other questions may wait for the same image


def encode(image: Image, folder: Path, settings: ImageSettings) -> SentImage:
    """Return an image's RGB pixels, which are the same for every engine, as a PNG or JPEG file without metadata."""
    file = BytesIO()
    pixels = open_image(image, folder)
    if settings.format == "jpeg":
        pixels.save(file, "JPEG", quality=settings.quality, subsampling=0)
    else:
        pixels.save(file, "PNG")
    data = file.getvalue()
    url = f"data:image/{settings.format};base64,{base64.b64encode(data).decode('ascii')}"
    return SentImage(url, sha256(data).hexdigest())


async def messages(
    turn: Turn, encoder: ImageEncoder, *, system: str | None, detail: str | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the messages of a chat request, and the sha256 of each image as sent, in order."""
    parts: list[dict[str, Any]] = []
    hashes: list[str] = []
    for part in turn.content:
        if isinstance(part, str):
            parts.append({"type": "text", "text": part})
        else:
            sent = await encoder.get(part)
            hashes.append(sent.sha256)
            url = {"url": sent.url} | ({"detail": detail} if detail else {})
            parts.append({"type": "image_url", "image_url": url})
    # Text alone is sent as a string, which text-only endpoints accept too.
    content = parts if hashes else "\n".join(part["text"] for part in parts)
    user = {"role": "user", "content": content}
    return [*([{"role": "system", "content": system}] if system else []), user], hashes


def request_body(settings: EndpointSettings, model: str, turn: Turn, sent: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the body of a chat request: the turn's messages as ``sent``, and its parameters."""
    return {"model": model, "messages": sent, **settings.parameters(turn)}


def parse_body(
    settings: EndpointSettings, model: str, turn: Turn, body: Any, *, opens_reasoning: bool = False
) -> replies.ParsedCompletion:
    """Parse the body of a response to such a request. Raises the errors of `replies.parse`.

    ``opens_reasoning`` says that the server's chat template was found to open the reasoning.
    """
    opened = settings.reasoning.get("opened", opens_reasoning)
    reasoning = replies.Reasoning(settings.reasoning.get("marks"), opened)
    return replies.parse(body, turn, model=model, answers_as=settings.answers_as, reasoning=reasoning)


class RetryableError(Exception):
    """No usable reply this time, for a reason that may be temporary."""

    def __init__(self, reason: str, *, rate_limited: bool = False) -> None:
        super().__init__(reason)
        self.rate_limited = rate_limited


class RefusedError(Exception):
    """A status of `_refusal`: the endpoint takes no question, or not this one.

    ``error`` stops the run in the first case; ``reply`` is recorded in the second.
    """

    def __init__(self, error: KnownUnknownsError, reply: Reply) -> None:
        super().__init__(reply.error)
        self.error, self.reply = error, reply


@dataclass(slots=True)
class PendingTurn:
    """A turn that waits for its reply.

    It was ``asked`` last at this time, in so many failed ``rounds``, some because of the rate limit, and with so many
    requests (``attempts``). ``checked`` tells whether the endpoint was found to work after this question had failed.
    """

    index: int
    turn: Turn
    asked: float = 0.0
    checked: bool = False
    rounds: int = 0
    rate_limited: int = 0
    attempts: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Requester:
    """Sends one question. Holds what the questions of a run share.

    ``scores_prompts`` is False once a reply lacked the log-probabilities of its prompt: each request for them is paid.
    ``opens_reasoning`` says that the server's chat template was found to open the reasoning.
    """

    settings: EndpointSettings
    client: openai.AsyncOpenAI
    key: ApiKey
    encoder: ImageEncoder
    estimator: UsageEstimator
    budget: Budget
    request_limits: RequestLimits
    model: str
    scores_prompts: bool = True
    opens_reasoning: bool = False

    async def ask(self, pending: PendingTurn) -> Reply:
        """Return the reply.

        Raises
        ------
        RetryableError, UnreadableReplyError, RefusedError
            There is no usable reply this time.
        ConfigError, MachineError, DataError
            The run must stop.
        """
        turn = pending.turn
        sent, hashes = await self.messages(turn)
        bound = self.estimator.bound(turn, self.settings.limit(turn))
        context = RequestContext(bound, self.estimator.expected(bound))
        CURRENT_REQUEST.set(context)
        started = time.perf_counter()
        try:
            ask = self._answer if turn.continuations is None else self._likelihoods
            reply = await ask(turn, sent, context)
        finally:
            pending.attempts += context.attempts
            pending.faults += context.faults
        details = dict(reply.details or {}) | {
            "seconds": round(time.perf_counter() - started, 3),
            "images": hashes,
            "attempts": pending.attempts,
            "faults": pending.faults,
        }
        return self.with_details(reply, details)

    async def messages(self, turn: Turn) -> tuple[list[dict[str, Any]], list[str]]:
        """Return the turn as chat messages, and the sha256 of its images as sent."""
        return await messages(turn, self.encoder, system=self.settings.system, detail=self.settings.image.detail)

    def with_details(self, reply: Reply, details: Mapping[str, Any]) -> Reply:
        """Return the reply with the non-empty details, and without the API key."""
        return replace(
            reply,
            text=self.key.redact(reply.text),
            error=self.key.redact(reply.error),
            details=self.key.redact({name: value for name, value in details.items() if value}),
        )

    async def _answer(self, turn: Turn, sent: list[dict[str, Any]], context: RequestContext) -> Reply:
        response = await self._request(turn, sent)
        return response if isinstance(response, Reply) else self._read(response, turn, context).reply

    async def _likelihoods(self, turn: Turn, sent: list[dict[str, Any]], context: RequestContext) -> Reply:
        """Return the likelihood of each option's text, by one request with the text as the beginning of the reply."""
        likelihoods: dict[str, Continuation] = {}
        tokens, usd = 0, 0.0
        for label, text in zip(turn.labels or (), turn.continuations or (), strict=True):
            if not self.scores_prompts:
                return _unsupported(_NO_PROMPT_LOGPROBS.format("they are not in its replies"))
            response = await self._request(turn, [*sent, {"role": "assistant", "content": text}])
            if isinstance(response, Reply):
                if response.finish == unusable.REJECTED:
                    return _unsupported(_NO_PROMPT_LOGPROBS.format(response.error))
                return response
            reply = self._read(response, turn, context).reply
            if reply.error is not None:
                return reply
            body = _parsed(response)
            if body.get("prompt_logprobs") is None:
                self.scores_prompts = False
                return _unsupported(_NO_PROMPT_LOGPROBS.format("they are not in its replies"))
            value = replies.prompt_continuation(body, text)
            if value is None:
                return _unsupported(f"the log-probabilities of the prompt do not end with the option {text!r}")
            likelihoods[label] = value
            tokens += reply.input_tokens or 0
            usd += (reply.details or {}).get("usd", 0.0)
        return Reply("", continuations=likelihoods, input_tokens=tokens or None, details={"usd": round(usd, 9)})

    async def _request(self, turn: Turn, sent: list[dict[str, Any]]) -> httpx2.Response | Reply:
        """Return a completion, or the reply to a question that the endpoint rejects.

        This uses the client's generic method. The typed method would build objects from possibly malformed replies.
        """
        try:
            return await self.client.post(
                "/chat/completions",
                cast_to=httpx2.Response,
                body=request_body(self.settings, self.model, turn, sent),
                options={"security": {"bearer_auth": True}},
            )
        except stopping.PauseEnded:
            raise stopping.StoppedError from None
        except openai.APITimeoutError:
            raise RetryableError(f"no reply within {self.settings.timeout:g} s") from None
        except openai.APIConnectionError as error:
            reason = type(error.__cause__ or error).__name__
            through = surroundings.through(self.settings.base_url)
            raise RetryableError(f"no connection{through}, or it broke ({reason})") from None
        except openai.APIStatusError as error:
            return self._without_answer(error)

    def _read(self, response: httpx2.Response, turn: Turn, context: RequestContext) -> replies.ParsedCompletion:
        used = None
        try:
            received = self.parse_completion(_parsed(response), turn)
            used = received.usage
        except replies.UnreadableReplyError as error:
            used = error.usage
            raise
        finally:
            self.budget.settle(context.bound, used)
            if used is not None:
                self.estimator.learn(turn, used)
                self.request_limits.tokens.adjust(used.tokens - context.expected)
        return received

    def parse_completion(self, body: Any, turn: Turn) -> replies.ParsedCompletion:
        """Parse a completion, and add its price to the details."""
        received = parse_body(self.settings, self.model, turn, body, opens_reasoning=self.opens_reasoning)
        if received.usage is None or not self.budget.priced:
            return received
        usd = round(self.budget.cost(received.usage)["usd"], 9)
        details = dict(received.reply.details or {}) | {"usd": usd}
        return replies.ParsedCompletion(replace(received.reply, details=details), received.usage)

    def _without_answer(self, error: openai.APIStatusError) -> Reply:
        """Return the reply to a question that is answered with an error status, by the table of this module.

        Raises its errors. The client's error is not chained, because it may quote the API key.
        """
        status, message = error.status_code, parse_error(error.body)
        if error.response.has_redirect_location:
            raise redirect_error(error.response, self.key, self.settings.path("base_url")) from None
        words = self.key.redact(message.words) or "without a message"
        reply = rejected_reply(status, replace(message, words=words))
        quota = status == 429 and any(code in message.code for code in _QUOTA_CODES)
        if status == 429 and not quota:
            raise RetryableError(f"rate limit: {words}", rate_limited=True) from None
        if status in (408, 409) or status >= 500:
            raise RetryableError(f"status {status}: {words}") from None
        if reply.finish == unusable.REJECTED and (quota or status in (401, 402, 403, 404)):
            raise RefusedError(self._refusal(status, words, error.body), reply) from None
        return reply

    def _refusal(self, status: int, words: str, body: Any) -> KnownUnknownsError:
        """Return the error for an endpoint that answers its first question with this status."""
        said = f"status {status}: {words}"
        if status in (402, 429):
            return MachineError(f"the account's quota is spent ({said}); the replies so far are kept")
        if status in (401, 403):
            variable = self.settings.key_env or KEY_VARIABLE
            does = "does not take" if status == 401 else "refuses access with"
            text = f"the endpoint {does} the key in {variable} ({said})"
            return ConfigError(text, path=self.settings.path("key_env"))
        if _OTHER_API.search(words):
            return ConfigError(f"{_RESPONSES_ONLY} ({said})", path=self.settings.path("source"))
        if isinstance(body, Mapping) and words.casefold() != "not found":
            text = f"the endpoint does not know the model, or not for this use ({said})"
            return ConfigError(text, path=self.settings.path("source"))
        text = f"{self.settings.base_url}/chat/completions is not found ({said}); most addresses end with /v1"
        return ConfigError(text, path=self.settings.path("base_url"))


def _unsupported(reason: str) -> Reply:
    return Reply("", finish=unusable.UNSUPPORTED, error=reason)


def _parsed(response: httpx2.Response) -> Any:
    if TOO_LONG in response.headers:
        raise replies.UnreadableReplyError(f"the reply is longer than {MAX_REPLY_BYTES:,} bytes")
    try:
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            return stream.completion(response.content)
        return json.loads(response.content)
    except ValueError:
        content = response.content
        kind = "a page; is base_url right?" if content.lstrip().startswith(b"<") else "cut off?"
        raise replies.UnreadableReplyError(f"the reply is not JSON ({len(content)} bytes; {kind})") from None
    except RecursionError:
        raise replies.UnreadableReplyError("the reply is JSON with too many levels") from None
