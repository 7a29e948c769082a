"""Asking one question: until there is an outcome to record, or a reason to come back to it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import openai

from known_unknowns.engines.endpoint import replies
from known_unknowns.engines.endpoint.budget import Budget, Estimator
from known_unknowns.engines.endpoint.capabilities import NEW_LIMIT, Capabilities
from known_unknowns.engines.endpoint.client import TRIP, Trip
from known_unknowns.engines.endpoint.payload import Pictures, messages
from known_unknowns.engines.endpoint.rate_limit import Blame, Traffic
from known_unknowns.engines.endpoint.settings import Key, Settings
from known_unknowns.engines.prices import Usage
from known_unknowns.errors import ConfigError, MachineError
from known_unknowns.records import Reply, Turn

_ADAPTATIONS = 12  # more than there are parameters to leave out

_FILTER_WORDS = (
    "content_filter",
    "content_policy",
    "content management policy",
    "responsibleai",
    "safety system",
    "input was flagged",
)
_QUOTA_CODES = ("insufficient_quota", "billing_hard_limit_reached")


class Again(Exception):
    """No usable reply this time, for a reason that may pass."""

    def __init__(self, reason: str, *, rate_limited: bool = False) -> None:
        super().__init__(reason)
        self.rate_limited = rate_limited


@dataclass(slots=True)
class Pending:
    """A turn that waits to be asked. ``rounds`` counts how often it was asked in vain, retries and all, of these
    ``rate_limited`` for the rate limit; ``attempts`` and ``faults`` are of all its requests."""

    index: int
    turn: Turn
    rounds: int = 0
    rate_limited: int = 0
    attempts: int = 0
    faults: list[str] = field(default_factory=list)
    blame: Blame = field(default_factory=Blame)


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks one question. All that is known of the endpoint, shared by the questions of a run."""

    settings: Settings
    client: openai.AsyncOpenAI
    key: Key
    capabilities: Capabilities
    pictures: Pictures
    estimator: Estimator
    budget: Budget
    traffic: Traffic
    model: str

    async def ask(self, pending: Pending) -> Reply:
        """The reply. Raises Again or Unreadable, or an error that ends the run (Config-, Machine- or DataError)."""
        turn = pending.turn
        sent, hashes = await self.messages(turn)
        bound = self.bound(turn)
        trip = Trip(bound, self.estimator.expected(bound), pending.blame)
        TRIP.set(trip)
        started = time.perf_counter()
        try:
            reply = await self._adapting(turn, sent, trip)
        finally:
            pending.attempts += trip.attempts
            pending.faults += trip.faults
        details = dict(reply.details or {}) | {
            "seconds": round(time.perf_counter() - started, 3),
            "images": hashes,
            "attempts": pending.attempts,
            "faults": pending.faults,
            "declined": sorted(self.capabilities.declined),
        }
        return self.scrubbed(reply, details)

    async def messages(self, turn: Turn) -> tuple[list[dict[str, Any]], list[str]]:
        """The turn as chat messages, and the sha256 of its pictures as sent."""
        return await messages(turn, self.pictures, system=self.settings.system, detail=self.settings.image.detail)

    def bound(self, turn: Turn) -> Usage:
        """The most that the turn can take."""
        return self.estimator.bound(turn, self.capabilities.limit(turn))

    def scrubbed(self, reply: Reply, details: Mapping[str, Any]) -> Reply:
        """The reply with these details (those that say something), the key nowhere in it."""
        return replace(
            reply,
            text=self.key.scrub(reply.text),
            error=self.key.scrub(reply.error),
            details=self.key.scrub({name: value for name, value in details.items() if value}),
        )

    async def _adapting(self, turn: Turn, sent: list[dict[str, Any]], trip: Trip) -> Reply:
        """Ask, leaving out what the endpoint does not take."""
        for _ in range(_ADAPTATIONS):
            parameters = self.capabilities.parameters(turn)
            try:
                body = await self._request(sent, parameters)
            except openai.APIStatusError as error:
                told = self._judged(error, parameters)
                if told is not None:
                    return told
                continue
            reply = self._read(body, turn, trip).reply
            if not self._overran(reply, turn, parameters):
                return reply
        raise Again("the endpoint goes on declining parameters")

    def _overran(self, reply: Reply, turn: Turn, parameters: Mapping[str, Any]) -> bool:
        """Whether the length limit went unheeded, as it does where a server knows it by its old name alone."""
        limit, came = self.capabilities.limit(turn), reply.output_tokens or 0
        words = f"{came} tokens came where {limit} were asked for"
        return came > limit and NEW_LIMIT in parameters and self.capabilities.rename_limit(NEW_LIMIT, words)

    async def _request(self, sent: list[dict[str, Any]], parameters: Mapping[str, Any]) -> bytes:
        """A completion's bytes, by the client's way for any request: its typed one would build objects from replies
        that need not keep to their form, and takes a fifth longer."""
        try:
            response = await self.client.post(
                "/chat/completions",
                cast_to=httpx2.Response,
                body={"model": self.model, "messages": sent, **parameters},
                options={"security": {"bearer_auth": True}},
            )
        except openai.APITimeoutError:
            raise Again(f"no reply within {self.settings.timeout:g} s") from None
        except openai.APIConnectionError as error:
            cause = error.__cause__
            raise Again(f"no connection, or it broke ({type(cause).__name__ if cause else 'unknown'})") from None
        return response.content

    def _read(self, body: bytes, turn: Turn, trip: Trip) -> replies.Received:
        received = None
        try:
            received = self.received(_parsed(body), turn)
        finally:
            used = received.usage if received else None
            self.budget.settle(trip.bound, used)
            if used is not None:
                self.estimator.learn(turn, used)
                self.traffic.tokens.correct(used.tokens - trip.expected)
        return received

    def received(self, body: Any, turn: Turn, *, batch: bool = False) -> replies.Received:
        """A completion, read, with its price in the details. Raises Unreadable."""
        received = replies.read(body, turn, model=self.model, answers_as=self.settings.answers_as)
        if received.usage is None or not self.budget.priced:
            return received
        usd = round(self.budget.cost(received.usage, batch=batch)["usd"], 9)
        details = dict(received.reply.details or {}) | {"usd": usd}
        return replies.Received(replace(received.reply, details=details), received.usage)

    def _judged(self, error: openai.APIStatusError, parameters: Mapping[str, Any]) -> Reply | None:
        """The outcome that an error status is; None where the question is to be asked again without a parameter."""
        status, code, parameter, words = error.status_code, *complaint(error.body)
        words = self.key.scrub(words) or f"status {status}"
        if status == 429 and not any(quota in code for quota in _QUOTA_CODES):
            raise Again(f"rate limit: {words}", rate_limited=True)
        if status in (408, 409) or status >= 500:
            raise Again(f"status {status}: {words}")
        if status not in (401, 402, 429) and self.capabilities.adapt(parameters, parameter, words):
            return None
        outcome = rejection(status, code, words)
        if outcome.finish != "content_filter":  # gateways tell of a flagged question with 403
            self.stop_for(status, words)
        return outcome

    def stop_for(self, status: int, words: str) -> None:
        """Raise where a status says that no question can be answered. The client's error, which may quote the key, is
        not shown beside ours."""
        if status in (402, 429):
            raise MachineError(f"the account's quota is spent ({words}); the replies so far are kept") from None
        if status in (401, 403):
            variable = self.settings.key_env or "OPENAI_API_KEY"
            message = f"the endpoint does not take the key in {variable} ({words})"
            raise ConfigError(message, path=self.path("key_env")) from None
        if status == 404:
            raise ConfigError(f"the endpoint does not know the model ({words})", path=self.path("source")) from None

    def path(self, key: str) -> str:
        return self.settings.path(key)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        raise replies.Unreadable(f"the reply is not JSON ({len(body)} bytes; cut off?)") from None


def rejection(status: int, code: str, words: str) -> Reply:
    """The outcome of a question that the endpoint will not answer, however often it is asked."""
    if any(word in f"{code} {words}".casefold() for word in _FILTER_WORDS):
        return Reply("", finish="content_filter", error=f"the provider's content filter stopped the question: {words}")
    return Reply("", finish="rejected", error=f"status {status}: {words}")


def complaint(body: Any) -> tuple[str, str, str]:
    """An error body's code, the parameter it is about, and its message ("" for what it does not say)."""
    if not isinstance(body, Mapping):
        return "", "", str(body or "")[:500]
    error = body.get("error", body)
    if isinstance(error, str):
        return "", "", error[:500]
    if not isinstance(error, Mapping):
        return "", "", ""
    code = " ".join(str(error[name]) for name in ("code", "type") if error.get(name))
    parameter, words = str(error.get("param") or ""), error.get("message") or error.get("detail") or ""
    if isinstance(words, list):  # as pydantic tells it: [{"loc": ["body", "seed"], "msg": "Extra inputs ..."}]
        rows = [row for row in words if isinstance(row, Mapping)]
        places = [str(place) for row in rows for place in row.get("loc", ())]
        parameter = parameter or (places[-1] if places else "")
        words = "; ".join(f"{' '.join(map(str, row.get('loc', ())))}: {row.get('msg', '')}" for row in rows)
    return code, parameter, str(words)[:500]
