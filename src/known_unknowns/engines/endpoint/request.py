"""One question's request: its messages, and its repetition until there is a reply or a reason to requeue it."""

from __future__ import annotations

import asyncio
import base64
import json
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

from known_unknowns.engines import stopping, unusable
from known_unknowns.engines.endpoint import replies
from known_unknowns.engines.endpoint.budget import Budget, UsageEstimator
from known_unknowns.engines.endpoint.capabilities import NEW_LIMIT, OLD_LIMIT, Capabilities
from known_unknowns.engines.endpoint.client import (
    CURRENT_REQUEST,
    MAX_REPLY_BYTES,
    TOO_LONG,
    FailureRecord,
    RequestContext,
    RequestLimits,
    redirect_error,
)
from known_unknowns.engines.endpoint.replies import fitting_limit, parse_error, rejected_reply
from known_unknowns.engines.endpoint.settings import ApiKey, EndpointSettings, ImageSettings
from known_unknowns.engines.prices import Usage
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.images import open_image
from known_unknowns.records import Continuation, Image, Reply, Turn

CACHE_SIZE = 8
"""Number of encoded images kept for later questions about them."""
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


class RetryableError(Exception):
    """No usable reply this time, for a reason that may be temporary."""

    def __init__(self, reason: str, *, rate_limited: bool = False) -> None:
        super().__init__(reason)
        self.rate_limited = rate_limited


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
    failure_record: FailureRecord = field(default_factory=FailureRecord)


@dataclass(frozen=True, slots=True)
class Requester:
    """Sends one question. Holds the state of the endpoint, which the questions of a run share."""

    settings: EndpointSettings
    client: openai.AsyncOpenAI
    key: ApiKey
    capabilities: Capabilities
    encoder: ImageEncoder
    estimator: UsageEstimator
    budget: Budget
    request_limits: RequestLimits
    model: str

    async def ask(self, pending: PendingTurn) -> Reply:
        """Return the reply.

        Raises
        ------
        RetryableError, UnreadableReplyError
            There is no usable reply this time.
        ConfigError, MachineError, DataError
            The run must stop.
        """
        turn = pending.turn
        sent, hashes = await self.messages(turn)
        bound = self.bound(turn)
        context = RequestContext(bound, self.estimator.expected(bound), pending.failure_record)
        CURRENT_REQUEST.set(context)
        started = time.perf_counter()
        try:
            ask = self._request_with_fallbacks if turn.continuations is None else self._likelihoods
            reply = await ask(turn, sent, context)
        finally:
            pending.attempts += context.attempts
            pending.faults += context.faults
        details = dict(reply.details or {}) | {
            "seconds": round(time.perf_counter() - started, 3),
            "images": hashes,
            "attempts": pending.attempts,
            "faults": pending.faults,
            "declined": sorted(self.capabilities.declined),
        }
        return self.with_details(reply, details)

    async def messages(self, turn: Turn) -> tuple[list[dict[str, Any]], list[str]]:
        """Return the turn as chat messages, and the sha256 of its images as sent."""
        return await messages(turn, self.encoder, system=self.settings.system, detail=self.settings.image.detail)

    def bound(self, turn: Turn) -> Usage:
        """Return the upper bound of the turn's usage."""
        return self.estimator.bound(turn, self.capabilities.limit(turn))

    def with_details(self, reply: Reply, details: Mapping[str, Any]) -> Reply:
        """Return the reply with the non-empty details, and without the API key."""
        return replace(
            reply,
            text=self.key.redact(reply.text),
            error=self.key.redact(reply.error),
            details=self.key.redact({name: value for name, value in details.items() if value}),
        )

    async def _request_with_fallbacks(self, turn: Turn, sent: list[dict[str, Any]], context: RequestContext) -> Reply:
        """Send the question, omit the parameters that the endpoint declines, and lower a length limit once."""
        while True:
            parameters = self.capabilities.parameters(turn)
            try:
                response = await self._request(sent, parameters)
            except openai.APIStatusError as error:
                if (outcome := self._handle_status_error(error, parameters, context)) is not None:
                    return outcome
                continue
            reply = self._read(response, turn, context).reply
            if reply.error is None:
                returned = reply.logprobs is not None or replies.has_logprobs(_parsed(response))
                self.capabilities.observe(parameters, returned=returned)
            if not self._exceeded_limit(reply, parameters):
                return reply

    async def _likelihoods(self, turn: Turn, sent: list[dict[str, Any]], context: RequestContext) -> Reply:
        """Return the likelihood of each option's text, by one request with the text as the beginning of the reply."""
        found: dict[str, Continuation] = {}
        tokens, usd = 0, 0.0
        for label, text in zip(turn.labels or (), turn.continuations or (), strict=True):
            received = await self._continued(turn, [*sent, {"role": "assistant", "content": text}], context)
            if isinstance(received, Reply):
                return received
            body, reply = received
            value = replies.prompt_continuation(body, text)
            if value is None and not self.capabilities.scores_prompts:
                self.capabilities.decline_prompt_logprobs("requested, and not in the reply")
                return self._unsupported()
            if value is None:
                error = f"the log-probabilities of the prompt do not end with the option {text!r}"
                return Reply("", finish=unusable.UNSUPPORTED, error=error)
            self.capabilities.scores_prompts = True
            found[label] = value
            tokens += reply.input_tokens or 0
            usd += (reply.details or {}).get("usd", 0.0)
        return Reply("", continuations=found, input_tokens=tokens or None, details={"usd": round(usd, 9)})

    async def _continued(
        self, turn: Turn, sent: list[dict[str, Any]], context: RequestContext
    ) -> tuple[Any, Reply] | Reply:
        """Return a completion and its reply, or the reply that says why there is no likelihood."""
        while self.capabilities.no_prompt_logprobs is None:
            parameters = self.capabilities.parameters(turn)
            try:
                response = await self._request(sent, parameters)
            except openai.APIStatusError as error:
                outcome = self._handle_status_error(error, parameters, context)
                if outcome is None:
                    continue
                if outcome.finish == unusable.REJECTED and not self.capabilities.scores_prompts:
                    self.capabilities.decline_prompt_logprobs(outcome.error or "")
                    break
                return outcome
            reply = self._read(response, turn, context).reply
            return (_parsed(response), reply) if reply.error is None else reply
        return self._unsupported()

    def _unsupported(self) -> Reply:
        why = self.capabilities.no_prompt_logprobs
        error = f"the endpoint does not return the log-probabilities of a prompt ({why})"
        return Reply("", finish=unusable.UNSUPPORTED, error=error)

    def _exceeded_limit(self, reply: Reply, parameters: Mapping[str, Any]) -> bool:
        """Return whether the length limit was ignored, as by servers that know its old name only."""
        limit, came = parameters.get(NEW_LIMIT), reply.output_tokens or 0
        words = f"{came} tokens came where {limit} were asked for"
        return limit is not None and came > limit and self.capabilities.rename_limit(NEW_LIMIT, words)

    async def _request(self, sent: list[dict[str, Any]], parameters: Mapping[str, Any]) -> httpx2.Response:
        """Return a completion.

        This uses the client's generic method. The typed method would build objects from possibly malformed replies.
        """
        try:
            response = await self.client.post(
                "/chat/completions",
                cast_to=httpx2.Response,
                body={"model": self.model, "messages": sent, **parameters},
                options={"security": {"bearer_auth": True}},
            )
        except stopping.PauseEnded:
            raise stopping.StoppedError from None
        except openai.APITimeoutError:
            raise RetryableError(f"no reply within {self.settings.timeout:g} s") from None
        except openai.APIConnectionError as error:
            cause = error.__cause__
            raise RetryableError(
                f"no connection, or it broke ({type(cause).__name__ if cause else 'unknown'})"
            ) from None
        return response

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
        settings = self.settings
        marks = settings.reasoning.get("marks")
        received = replies.parse(body, turn, model=self.model, answers_as=settings.answers_as, marks=marks)
        if received.usage is None or not self.budget.priced:
            return received
        usd = round(self.budget.cost(received.usage)["usd"], 9)
        details = dict(received.reply.details or {}) | {"usd": usd}
        return replies.ParsedCompletion(replace(received.reply, details=details), received.usage)

    def _handle_status_error(
        self, error: openai.APIStatusError, parameters: Mapping[str, Any], context: RequestContext
    ) -> Reply | None:
        """Return the outcome of an error status; None if the question is to be repeated with other parameters."""
        status, told = error.status_code, parse_error(error.body)
        if error.response.has_redirect_location:
            raise redirect_error(error.response, self.key, self.path("base_url")) from None
        words = self.key.redact(told.words) or f"status {status}"
        if status == 429 and not any(quota in told.code for quota in _QUOTA_CODES):
            raise RetryableError(f"rate limit: {words}", rate_limited=True)
        outcome = rejected_reply(status, replace(told, words=words))
        limit = parameters.get(NEW_LIMIT, parameters.get(OLD_LIMIT, 0))
        if outcome.finish == unusable.REJECTED and (fits := fitting_limit(told, limit)) is not None:
            if context.limit_lowered or not 0 < fits < limit:
                return outcome
            context.limit_lowered = True
            self.capabilities.lower_limit(fits, words)
            return None
        if status in (408, 409) or status >= 500:
            raise RetryableError(f"status {status}: {words}")
        if status not in (401, 402, 429) and self.capabilities.adapt(parameters, told.parameter, words):
            return None
        if outcome.finish != unusable.FILTERED:  # gateways report a flagged question with status 403
            self.raise_if_fatal(status, words)
        return outcome

    def raise_if_fatal(self, status: int, words: str) -> None:
        """Raise an error if the status means that no question can be answered.

        The client's error is not chained, because it may quote the API key.
        """
        if status in (402, 429):
            raise MachineError(f"the account's quota is spent ({words}); the replies so far are kept") from None
        if status in (401, 403):
            variable = self.settings.key_env or "OPENAI_API_KEY"
            message = f"the endpoint does not take the key in {variable} ({words})"
            raise ConfigError(message, path=self.path("key_env")) from None
        if status == 404 and ("model" in words.casefold() or self.model in words):
            raise ConfigError(f"the endpoint does not know the model ({words})", path=self.path("source")) from None
        if status == 404:
            message = f"{self.settings.base_url}/chat/completions is not found ({words}); most addresses end with /v1"
            raise ConfigError(message, path=self.path("base_url")) from None

    def path(self, key: str) -> str:
        return self.settings.path(key)


def _parsed(response: httpx2.Response) -> Any:
    if TOO_LONG in response.headers:
        raise replies.UnreadableReplyError(f"the reply is longer than {MAX_REPLY_BYTES:,} bytes")
    try:
        return json.loads(response.content)
    except ValueError:
        content = response.content
        kind = "a page; is base_url right?" if content.lstrip().startswith(b"<") else "cut off?"
        raise replies.UnreadableReplyError(f"the reply is not JSON ({len(content)} bytes; {kind})") from None
    except RecursionError:
        raise replies.UnreadableReplyError("the reply is JSON with too many levels") from None
