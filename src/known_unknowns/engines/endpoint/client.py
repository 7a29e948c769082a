"""The official client. Every attempt, retries included, passes the rate limits and the budget."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeVar

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from known_unknowns import stopping
from known_unknowns.engines.endpoint import surroundings
from known_unknowns.engines.endpoint.budget import Budget
from known_unknowns.engines.endpoint.settings import ApiKey, EndpointSettings
from known_unknowns.engines.prices import Usage
from known_unknowns.errors import ConfigError

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]

_MINUTE = 60.0
T = TypeVar("T")

CONNECT_SECONDS = 10.0
MAX_REPLY_BYTES = 16 * 2**20
"""A longer reply is not read. A completion of 10,000 tokens with 20 log-probabilities each takes about 14 MB."""
MAX_REDIRECTS = 3


class RateLimiter:
    """Spreads amounts (requests, tokens) evenly, at most ``per_minute`` of them in a minute.

    Each amount waits until the previous ones have used their time. A plain count per minute would allow bursts, which
    providers answer with status 429. None disables the limit.
    """

    def __init__(
        self, per_minute: float | None, *, clock: Clock = time.monotonic, sleep: Sleep = stopping.pause
    ) -> None:
        self._each = _MINUTE / per_minute if per_minute else 0.0
        self._clock, self._sleep = clock, sleep
        self._free = 0.0

    async def wait(self, amount: float = 1.0) -> None:
        """Wait until the amount may be sent."""
        if not self._each:
            return
        now = self._clock()
        start = max(now, self._free)
        self._free = start + amount * self._each
        if start > now:
            await self._sleep(start - now)

    def adjust(self, amount: float) -> None:
        """Count an additional amount (negative: a smaller one), because a reply's usage is known only afterwards."""
        self._free += amount * self._each


@dataclass(slots=True)
class RequestLimits:
    """The limits that apply to every attempt."""

    requests: RateLimiter
    tokens: RateLimiter


@dataclass(slots=True)
class RequestContext:
    """A question under way: the bound of an attempt, its expected tokens, and the attempts so far with their faults."""

    bound: Usage
    expected: float = 0.0
    attempts: int = 0
    faults: list[str] = field(default_factory=list)


KEY_HEADER = "authorization"
TOO_LONG = "x-known-unknowns-too-long"
_BODY_HEADERS = ("content-encoding", "content-length", "transfer-encoding", TOO_LONG)

CURRENT_REQUEST: ContextVar[RequestContext | None] = ContextVar("current_request", default=None)
"""The question of the running task; None for other requests (the list of models)."""


class LimitedHttpClient(DefaultAsyncHttpxClient):
    """The client's HTTP. Its retries pass here one by one, so that the limits apply to each of them.

    An attempt ends ``deadline`` seconds after it began, even if the endpoint still sends bytes. The reservation of an
    attempt that was answered with status 200 is settled after the reply has been parsed. A redirect to another host is
    returned, not followed, because that host would receive the prompts and images. A reply longer than
    `MAX_REPLY_BYTES` is returned without its body, with the header `TOO_LONG`.
    """

    def __init__(
        self, *, request_limits: RequestLimits, budget: Budget, deadline: float, base_url_path: str, **options: Any
    ) -> None:
        super().__init__(**options)
        self._base_url_path = base_url_path
        self._request_limits, self._budget, self._deadline = request_limits, budget, deadline

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        context = CURRENT_REQUEST.get()
        if context is None:
            return await self._bounded_send(request, options)
        await self._budget.reserve(context.bound)
        used: Usage | None = Usage()  # nothing is charged before the request is sent
        try:
            await self._request_limits.requests.wait()
            await self._request_limits.tokens.wait(context.expected)
            used = None
            response = await self._attempt(context, request, options)
        except BaseException as error:
            unsent = isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout))
            self._budget.settle(context.bound, Usage() if unsent else used)
            raise
        if response.status_code != httpx2.codes.OK:
            self._budget.settle(context.bound, Usage())
            self._request_limits.tokens.adjust(-context.expected)
        return response

    async def _attempt(
        self, context: RequestContext, request: httpx2.Request, options: dict[str, Any]
    ) -> httpx2.Response:
        context.attempts += 1
        try:
            async with asyncio.timeout(self._deadline):
                response = await self._bounded_send(request, options)
        except TimeoutError:
            context.faults.append(f"no reply within {self._deadline:g} s")
            raise httpx2.ReadTimeout(f"no reply within {self._deadline:g} s", request=request) from None
        except httpx2.TimeoutException:
            context.faults.append(f"no reply within {self._deadline:g} s")
            raise
        except httpx2.RequestError as error:
            context.faults.append(f"the connection broke ({type(error).__name__})")
            raise
        status = response.status_code
        if status == httpx2.codes.TOO_MANY_REQUESTS or status >= httpx2.codes.INTERNAL_SERVER_ERROR:
            context.faults.append(f"status {status}")
        return response

    async def _bounded_send(self, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
        try:
            response = await super().send(request, **options | {"stream": True})
        except httpx2.ConnectError as error:
            surroundings.raise_for_certificate(error, self._base_url_path)
            raise
        for _ in range(MAX_REDIRECTS):
            target = response.next_request
            # The HTTP client drops the key from redirects to another host, port or to an unencrypted connection.
            if target is None or target.method != request.method or KEY_HEADER not in target.headers:
                break
            await response.aclose()
            request = target
            response = await super().send(request, **options | {"stream": True})
        return response if options.get("stream") else await _read(response)


async def _read(response: httpx2.Response) -> httpx2.Response:
    """Return the response with its content, or without it if it is too long."""
    parts: list[bytes] = []
    size = 0
    headers = [(name, value) for name, value in response.headers.multi_items() if name not in _BODY_HEADERS]
    try:
        async for part in response.aiter_bytes():
            size += len(part)
            if size > MAX_REPLY_BYTES:
                parts, headers = [], [*headers, (TOO_LONG, "true")]
                break
            parts.append(part)
    finally:
        await response.aclose()
    return httpx2.Response(
        response.status_code,
        headers=headers,
        content=b"".join(parts),
        request=response.request,
        extensions=response.extensions,
    )


def redirect_error(response: httpx2.Response, key: ApiKey, path: str) -> ConfigError:
    """Return the error for a redirect that is not followed."""
    target = key.redact(response.headers.get("location", "another address"))[:500]
    return ConfigError(
        f"the endpoint redirects to {target}, where no prompt is sent; if the address is right, set base_url to it",
        path=path,
    )


def connect(settings: EndpointSettings, *, request_limits: RequestLimits, budget: Budget) -> AsyncOpenAI:
    """Create the client of a model's endpoint. Call it inside the event loop that uses it.

    Raises ConfigError if the API key is not in the environment, or a proxy or a certificate file there is not valid.
    """
    key = settings.key().reveal()
    timeout = httpx2.Timeout(settings.timeout, connect=min(CONNECT_SECONDS, settings.timeout), pool=None)
    with surroundings.named(settings.path("base_url")):
        http = LimitedHttpClient(
            request_limits=request_limits,
            budget=budget,
            deadline=settings.timeout,
            base_url_path=settings.path("base_url"),
            follow_redirects=False,
            trust_env=not surroundings.is_loopback(settings.base_url),  # no proxy reaches a server of this machine
            timeout=timeout,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=settings.concurrency),
        )
    return AsyncOpenAI(
        api_key=key,
        base_url=settings.base_url,
        timeout=timeout,
        max_retries=settings.max_retries,
        http_client=http,
    )


class LoopThread:
    """A context manager with an event loop in a daemon thread, which never keeps a program alive."""

    def __enter__(self) -> LoopThread:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="endpoint", daemon=True)
        self._thread.start()
        return self

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop, wait for it, and return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run(self._loop.shutdown_asyncgens())
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
