"""The official client, with every attempt of its own retries paced, guarded, bounded in time, and paid for."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from known_unknowns.engines.endpoint.budget import Budget
from known_unknowns.engines.endpoint.rate_limit import Blame, Traffic
from known_unknowns.engines.endpoint.settings import Settings
from known_unknowns.engines.prices import Usage

CONNECT_SECONDS = 10.0


@dataclass(slots=True)
class Trip:
    """One question on its way: what an attempt may take at most, how many tokens it is ``expected`` to take, and what
    became of the attempts so far."""

    bound: Usage
    expected: float = 0.0
    blame: Blame = field(default_factory=Blame)
    attempts: int = 0
    faults: list[str] = field(default_factory=list)


TRIP: ContextVar[Trip | None] = ContextVar("trip", default=None)
"""The question that the running task asks; None for requests that are no question (the list of models)."""


class GuardedHttp(DefaultAsyncHttpxClient):
    """The client's HTTP. Its retries pass here one by one, which is where pace, breaker and budget belong.

    An attempt ends ``timeout`` seconds after it began, even if the endpoint sends a byte now and then. A reservation
    of an attempt that was answered with 200 is left for the reader of the reply to settle.
    """

    def __init__(self, *, traffic: Traffic, budget: Budget, deadline: float, **options: Any) -> None:
        super().__init__(**options)
        self._traffic, self._budget, self._deadline = traffic, budget, deadline

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        trip = TRIP.get()
        if trip is None:
            return await super().send(request, **options)
        await self._budget.reserve(trip.bound)
        used: Usage | None = Usage()  # nothing, until the endpoint may charge for it
        try:
            await self._traffic.requests.wait()
            await self._traffic.tokens.wait(trip.expected)
            async with self._traffic.breaker.attempt():
                used = None
                response = await self._attempt(trip, request, options)
        except BaseException as error:
            unsent = isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout))
            self._budget.settle(trip.bound, Usage() if unsent else used)
            raise
        if response.status_code != httpx2.codes.OK:
            self._budget.settle(trip.bound, Usage())
            self._traffic.tokens.correct(-trip.expected)
        return response

    async def _attempt(self, trip: Trip, request: httpx2.Request, options: dict[str, Any]) -> httpx2.Response:
        trip.attempts += 1
        try:
            async with asyncio.timeout(self._deadline):
                response = await super().send(request, **options)
        except TimeoutError:
            self._fault(trip, f"no reply within {self._deadline:g} s")
            raise httpx2.ReadTimeout(f"no reply within {self._deadline:g} s", request=request) from None
        except httpx2.TimeoutException:
            self._fault(trip, f"no reply within {self._deadline:g} s")
            raise
        except httpx2.RequestError as error:
            self._fault(trip, f"the connection broke ({type(error).__name__})")
            raise
        status = response.status_code
        if status == httpx2.codes.TOO_MANY_REQUESTS or status >= httpx2.codes.INTERNAL_SERVER_ERROR:
            self._fault(trip, f"status {status}")
        else:
            self._traffic.breaker.succeeded()
        return response

    def _fault(self, trip: Trip, reason: str) -> None:
        trip.faults.append(reason)
        self._traffic.breaker.failed(reason, trip.blame)


def connect(settings: Settings, *, traffic: Traffic, budget: Budget) -> AsyncOpenAI:
    """The client of a model's endpoint. Must be called inside the event loop that will use it.

    Raises ConfigError where the key is not in the environment.
    """
    timeout = httpx2.Timeout(settings.timeout, connect=min(CONNECT_SECONDS, settings.timeout), pool=None)
    http = GuardedHttp(
        traffic=traffic,
        budget=budget,
        deadline=settings.timeout,
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
