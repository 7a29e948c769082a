"""The official client. Every attempt, retries included, passes the rate limits, the circuit breaker and the budget."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from known_unknowns.engines.endpoint.budget import Budget
from known_unknowns.engines.endpoint.rate_limit import FailureRecord, RequestLimits
from known_unknowns.engines.endpoint.settings import ApiKey, EndpointSettings
from known_unknowns.engines.prices import Usage
from known_unknowns.errors import ConfigError

CONNECT_SECONDS = 10.0
MAX_REPLY_BYTES = 16 * 2**20
"""A longer reply is not read. A completion of 10,000 tokens with 20 log-probabilities each takes about 14 MB."""
MAX_REDIRECTS = 3


@dataclass(slots=True)
class RequestContext:
    """A question under way: the bound of an attempt, its expected tokens, and the attempts so far with their faults.

    ``limit_lowered`` tells whether its length limit was lowered because the endpoint refused the value.
    """

    bound: Usage
    expected: float = 0.0
    failure_record: FailureRecord = field(default_factory=FailureRecord)
    attempts: int = 0
    faults: list[str] = field(default_factory=list)
    limit_lowered: bool = False


KEY_HEADER = "authorization"
TOO_LONG = "x-known-unknowns-too-long"
_BODY_HEADERS = ("content-encoding", "content-length", "transfer-encoding", TOO_LONG)

CURRENT_REQUEST: ContextVar[RequestContext | None] = ContextVar("trip", default=None)
"""The question of the running task; None for other requests (the list of models)."""


class LimitedHttpClient(DefaultAsyncHttpxClient):
    """The client's HTTP. Its retries pass here one by one, so that the limits apply to each of them.

    An attempt ends ``deadline`` seconds after it began, even if the endpoint still sends bytes. The reservation of an
    attempt that was answered with status 200 is settled after the reply has been parsed. A redirect to another host is
    returned, not followed, because that host would receive the prompts and images. A reply longer than
    `MAX_REPLY_BYTES` is returned without its body, with the header `TOO_LONG`.
    """

    def __init__(self, *, request_limits: RequestLimits, budget: Budget, deadline: float, **options: Any) -> None:
        super().__init__(**options)
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
            async with self._request_limits.breaker.attempt():
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
            self._fault(context, f"no reply within {self._deadline:g} s")
            raise httpx2.ReadTimeout(f"no reply within {self._deadline:g} s", request=request) from None
        except httpx2.TimeoutException:
            self._fault(context, f"no reply within {self._deadline:g} s")
            raise
        except httpx2.RequestError as error:
            self._fault(context, f"the connection broke ({type(error).__name__})")
            raise
        status = response.status_code
        if status == httpx2.codes.TOO_MANY_REQUESTS or status >= httpx2.codes.INTERNAL_SERVER_ERROR:
            self._fault(context, f"status {status}")
        else:
            self._request_limits.breaker.succeeded()
        return response

    async def _bounded_send(self, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
        for _ in range(MAX_REDIRECTS):
            response = await super().send(request, **options | {"stream": True})
            target = response.next_request
            # The HTTP client drops the key from redirects to another host, port or to an unencrypted connection.
            if target is None or target.method != request.method or KEY_HEADER not in target.headers:
                break
            await response.aclose()
            request = target
        return response if options.get("stream") else await _read(response)

    def _fault(self, context: RequestContext, reason: str) -> None:
        context.faults.append(reason)
        self._request_limits.breaker.failed(reason, context.failure_record)


async def _read(response: httpx2.Response) -> httpx2.Response:
    """Return the response with its content, or without it if it is too long."""
    parts, size = [], 0
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

    Raises
    ------
    ConfigError
        The API key is not in the environment.
    """
    timeout = httpx2.Timeout(settings.timeout, connect=min(CONNECT_SECONDS, settings.timeout), pool=None)
    http = LimitedHttpClient(
        request_limits=request_limits,
        budget=budget,
        deadline=settings.timeout,
        follow_redirects=False,
        timeout=timeout,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=settings.concurrency),
    )
    return AsyncOpenAI(
        api_key=settings.key().reveal(),
        base_url=settings.base_url,
        timeout=timeout,
        max_retries=settings.max_retries,
        http_client=http,
    )
