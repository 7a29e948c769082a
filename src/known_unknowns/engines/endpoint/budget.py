"""A budget in tokens and in money: what a request may take is set aside before it goes out, so that it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from known_unknowns.engines.prices import IMAGE_TOKENS, Price, Usage
from known_unknowns.errors import MachineError
from known_unknowns.records import Turn

_FRAME_TOKENS = 64  # roles and separators of a chat template
_MARGIN = 2.0  # over what pictures were seen to take


class BudgetSpent(MachineError):
    """The next request might exceed ``max_cost``."""


@dataclass(slots=True)
class Estimator:
    """Bounds what a turn can take, before it is asked.

    A text has at most as many tokens as bytes. A picture takes ``image_tokens`` at most, until replies have shown what
    pictures take: then at most twice the most that any took, and more in proportion for one that is larger.
    """

    system: str | None
    image_tokens: int = IMAGE_TOKENS
    _seen: float = 0.0
    _pixels: int = 1
    _replies: int = 0
    _tokens: int = 0

    def bound(self, turn: Turn, output_tokens: int) -> Usage:
        text = len(turn.text.encode()) + len((self.system or "").encode()) + len(turn.json_schema) + _FRAME_TOKENS
        pictures = sum(self._picture(image.width * image.height) for image in turn.images)
        return Usage(text + pictures, output_tokens)

    def _picture(self, pixels: int) -> int:
        if not self._seen:
            return self.image_tokens
        return round(self._seen * _MARGIN * max(1.0, pixels / self._pixels))

    def expected(self, bound: Usage) -> float:
        """How many tokens a turn is likely to take: the mean so far, or the bound of the first."""
        return self._tokens / self._replies if self._replies else float(bound.tokens)

    def learn(self, turn: Turn, usage: Usage) -> None:
        """Take in what a turn did take."""
        self._replies += 1
        self._tokens += usage.tokens
        if turn.images:
            self._seen = max(self._seen, usage.input_tokens / len(turn.images))
            self._pixels = max(self._pixels, *(image.width * image.height for image in turn.images))


class Budget:
    """Counts what was spent, and stops before ``limits`` ("tokens", "usd") would be exceeded.

    What an attempt may take is reserved before it is sent. Afterwards it is settled with what it did take, given back
    where the endpoint charges nothing, or counted whole where nobody knows (no reply came).
    """

    def __init__(self, limits: Mapping[str, float], price: Price | None, *, path: str = "max_cost") -> None:
        self._limits, self._price, self._path = limits, price, path
        self._waiters: list[asyncio.Future[None]] = []
        self._reserved = 0
        self._held = {"tokens": 0.0, "usd": 0.0}
        self.spent = {"tokens": 0.0, "usd": 0.0}

    @property
    def priced(self) -> bool:
        """Whether the price table knows the model."""
        return self._price is not None

    def cost(self, usage: Usage, *, batch: bool = False) -> dict[str, float]:
        usd = self._price.of(usage, batch=batch) if self._price else 0.0
        return {"tokens": float(usage.tokens), "usd": usd}

    def affords(self, cost: Mapping[str, float]) -> bool:
        """Whether so much may be spent besides what is spent and reserved."""
        return all(self.spent[unit] + self._held[unit] + cost[unit] <= limit for unit, limit in self._limits.items())

    async def reserve(self, bound: Usage) -> None:
        """Set the bound aside, waiting for requests under way where it is only their reserve that is missing.

        Raises BudgetSpent when it cannot be afforded.
        """
        cost = self.cost(bound)
        while not self.affords(cost):
            if not self._reserved:
                raise self.stop()
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        self._reserved += 1
        for unit in self._held:
            self._held[unit] += cost[unit]

    def settle(self, bound: Usage, used: Usage | None) -> None:
        """End a reservation: with what was used (nothing: ``Usage()``), or None where it is not known."""
        self._reserved -= 1
        for unit, amount in self.cost(bound).items():
            self._held[unit] -= amount
        self.spend(bound if used is None else used)
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def spend(self, usage: Usage, *, batch: bool = False) -> None:
        for unit, amount in self.cost(usage, batch=batch).items():
            self.spent[unit] += amount

    def stop(self) -> BudgetSpent:
        limit = " and ".join(f"{amount:g} {unit}" for unit, amount in self._limits.items())
        spent = f"{self.spent['tokens']:.0f} tokens" + (f", {self.spent['usd']:.4f} USD" if self._price else "")
        return BudgetSpent(
            f"{self._path}: the next question might exceed the budget of {limit} ({spent} spent in this run); the "
            "replies so far are kept. Raise the budget, or run the same command again to spend as much once more"
        )
