"""A budget in tokens and in money. The maximum cost of a request is reserved before it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from known_unknowns.engines.prices import IMAGE_TOKENS, Price, Usage
from known_unknowns.errors import MachineError
from known_unknowns.records import Turn

_FRAME_TOKENS = 64  # roles and separators of a chat template
_MARGIN = 2.0  # over the largest usage of an image so far


class BudgetExhaustedError(MachineError):
    """The next request might exceed ``max_cost``."""


@dataclass(slots=True)
class UsageEstimator:
    """Upper bounds of a turn's usage, before it is sent.

    A text has at most as many tokens as bytes. An image takes at most ``image_tokens``, until replies have shown the
    actual usage; then at most twice the largest usage so far, and more in proportion for a larger image.
    """

    system: str | None
    image_tokens: int = IMAGE_TOKENS
    _seen: float = 0.0
    _pixels: int = 1
    _replies: int = 0
    _tokens: int = 0

    def bound(self, turn: Turn, output_tokens: int) -> Usage:
        """Return the upper bound of a turn's usage."""
        text = len(turn.text.encode()) + len((self.system or "").encode()) + len(turn.json_schema) + _FRAME_TOKENS
        text += max((len(option.encode()) for option in turn.continuations or ()), default=0)  # a request for each
        images = sum(self._image_bound(image.width * image.height) for image in turn.images)
        return Usage(text + images, output_tokens)

    def _image_bound(self, pixels: int) -> int:
        if not self._seen:
            return self.image_tokens
        return round(self._seen * _MARGIN * max(1.0, pixels / self._pixels))

    def expected(self, bound: Usage) -> float:
        """Return the expected number of tokens of a turn: the mean so far, or the bound for the first turn."""
        return self._tokens / self._replies if self._replies else float(bound.tokens)

    def learn(self, turn: Turn, usage: Usage) -> None:
        """Update the estimate with a turn's actual usage."""
        self._replies += 1
        self._tokens += usage.tokens
        if turn.images:
            self._seen = max(self._seen, usage.input_tokens / len(turn.images))
            self._pixels = max(self._pixels, *(image.width * image.height for image in turn.images))


class Budget:
    """Counts the spending, and stops before ``limits`` ("tokens", "usd") would be exceeded.

    The maximum cost of an attempt is reserved before it is sent. Afterwards it is settled with the actual usage,
    released if the endpoint charges nothing, or counted in full if the usage is unknown.

    Attributes
    ----------
    spent : dict
        The reported usage ("tokens") and its price ("usd"); None if no reply has one. "tokens_at_most" adds the maximum
        of the requests whose usage is unknown, as the limits count it.
    """

    def __init__(self, limits: Mapping[str, float], price: Price | None, *, path: str = "max_cost") -> None:
        self._limits, self._price, self._path = limits, price, path
        self._waiters: list[asyncio.Future[None]] = []
        self._reservations = 0
        self._reserved_amounts = {"tokens": 0.0, "usd": 0.0}
        self._counted = {"tokens": 0.0, "usd": 0.0}
        self.spent: dict[str, float | None] = {"tokens": None, "usd": None, "tokens_at_most": 0.0}

    @property
    def priced(self) -> bool:
        """Whether the price table has the model."""
        return self._price is not None

    def cost(self, usage: Usage) -> dict[str, float]:
        """Return the cost of a usage in tokens and US dollars."""
        usd = self._price.of(usage) if self._price else 0.0
        return {"tokens": float(usage.tokens), "usd": usd}

    def affords(self, cost: Mapping[str, float]) -> bool:
        """Return whether this cost fits into the budget besides what is spent and reserved."""
        return all(
            self._counted[unit] + self._reserved_amounts[unit] + cost[unit] <= limit
            for unit, limit in self._limits.items()
        )

    async def reserve(self, bound: Usage) -> None:
        """Reserve the bound. Wait for requests under way if only their reservations are in the way.

        Raises BudgetExhaustedError if the budget does not allow it.
        """
        cost = self.cost(bound)
        while not self.affords(cost):
            if not self._reservations:
                raise self.exhausted()
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        self._reservations += 1
        for unit in self._reserved_amounts:
            self._reserved_amounts[unit] += cost[unit]

    def settle(self, bound: Usage, used: Usage | None) -> None:
        """End a reservation with the actual usage (``Usage()`` for none), or None if it is unknown."""
        self._reservations -= 1
        for unit, amount in self.cost(bound).items():
            self._reserved_amounts[unit] -= amount
        if used is None:
            self._count(self.cost(bound))
        else:
            self.spend(used)
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def spend(self, usage: Usage) -> None:
        """Count a usage as spent."""
        cost = self.cost(usage)
        self._count(cost)
        for unit, amount in cost.items():
            if usage.tokens and (unit == "tokens" or self.priced):
                self.spent[unit] = (self.spent[unit] or 0.0) + amount

    def _count(self, cost: Mapping[str, float]) -> None:
        """Count a cost against the limits."""
        for unit, amount in cost.items():
            self._counted[unit] += amount
        self.spent["tokens_at_most"] = self._counted["tokens"]

    def exhausted(self) -> BudgetExhaustedError:
        """Return the error that stops the run."""
        limit = " and ".join(f"{amount:g} {unit}" for unit, amount in self._limits.items())
        spent = f"{self._counted['tokens']:.0f} tokens" + (f", {self._counted['usd']:.4f} USD" if self._price else "")
        if self._counted["tokens"] != self.spent["tokens"]:
            spent = f"at most {spent}"  # the usage of some replies is unknown
        return BudgetExhaustedError(
            f"{self._path}: the next question might exceed the budget of {limit} ({spent} spent in this run); the "
            "replies so far are kept. Raise the budget, or run the same command again to spend as much once more"
        )
