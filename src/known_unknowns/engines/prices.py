"""What tokens cost: the price table (prices.yaml, which the user edits) and sums over replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from known_unknowns.errors import DataError
from known_unknowns.records import Reply

TABLE = Path(__file__).with_name("prices.yaml")
IMAGE_TOKENS = 50_000
"""The most tokens that a picture is taken to be where the table does not say: more than any model known to us bills."""
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or many requests. ``output_tokens`` includes those of reasoning; ``cached_tokens`` is the part of
    ``input_tokens`` that the provider had in its cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens; ``batch`` is the share of it that the Batch API takes."""

    input: float
    output: float
    cached_input: float
    batch: float
    image_tokens: int

    def of(self, usage: Usage, *, batch: bool = False) -> float:
        """The price of some tokens in US dollars."""
        fresh = usage.input_tokens - usage.cached_tokens
        millionths = fresh * self.input + usage.cached_tokens * self.cached_input + usage.output_tokens * self.output
        return millionths / _MILLION * (self.batch if batch else 1.0)


@dataclass(frozen=True, slots=True)
class Prices:
    """The table, as of a date."""

    as_of: str
    models: Mapping[str, Price]


@cache
def load(path: Path = TABLE) -> Prices:
    """Read a price table. Raises DataError for a price that is missing, negative, or no number."""
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        return Prices(str(raw["as_of"]), {str(name): _price(row) for name, row in raw["models"].items()})
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"not a sound price table ({error}); see its first lines for what it holds", file=path
        ) from error


def _price(row: Mapping[str, Any]) -> Price:
    price = Price(
        input=float(row["input"]),
        output=float(row["output"]),
        cached_input=float(row.get("cached_input", row["input"])),
        batch=float(row.get("batch", 1.0)),
        image_tokens=int(row.get("image_tokens", IMAGE_TOKENS)),
    )
    if min(price.input, price.output, price.cached_input, price.batch, price.image_tokens) < 0:
        raise ValueError(f"a price is negative: {dict(row)}")
    return price


def spent(replies: Iterable[Reply]) -> dict[str, float | int | None]:
    """What some replies took: tokens in and out, those of reasoning, and US dollars as recorded when they came.

    ``replies`` should be distinct ones: a reply that serves two questions was paid once. Each sum is over the replies
    that have the number; ``priced`` counts those with a cost, and ``usd`` is None where there is none.
    """
    replies = list(replies)
    details = [reply.details or {} for reply in replies]
    costs = [detail["usd"] for detail in details if detail.get("usd") is not None]
    return {
        "replies": len(replies),
        "input_tokens": sum(reply.input_tokens or 0 for reply in replies),
        "output_tokens": sum(reply.output_tokens or 0 for reply in replies),
        "reasoning_tokens": sum(detail.get("reasoning_tokens") or 0 for detail in details),
        "usd": round(sum(costs), 6) if costs else None,
        "priced": len(costs),
    }
