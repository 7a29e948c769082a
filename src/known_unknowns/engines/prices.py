"""Token prices: the price table (prices.yaml, which users edit), and sums over replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from known_unknowns.errors import DataError
from known_unknowns.records import Reply
from known_unknowns.yaml_reader import parse_yaml

TABLE = Path(__file__).with_name("prices.yaml")
IMAGE_TOKENS = 50_000
"""Default upper bound of an image's tokens, above the bill of any model known to us."""
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or many requests.

    ``output_tokens`` includes reasoning. ``cached_tokens`` is the part of ``input_tokens`` that the provider had
    cached.
    """

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
    """US dollars per million tokens. ``batch`` is the Batch API's share of the price."""

    input: float
    output: float
    cached_input: float
    batch: float
    image_tokens: int

    def of(self, usage: Usage, *, batch: bool = False) -> float:
        """Return the price of a usage in US dollars."""
        fresh = usage.input_tokens - usage.cached_tokens
        millionths = fresh * self.input + usage.cached_tokens * self.cached_input + usage.output_tokens * self.output
        return millionths / _MILLION * (self.batch if batch else 1.0)


@dataclass(frozen=True, slots=True)
class Prices:
    """The price table, as of a date."""

    as_of: str
    models: Mapping[str, Price]


@cache
def load(path: Path = TABLE) -> Prices:
    """Read a price table.

    Raises
    ------
    DataError
        A price is missing, negative, or not a number.
    """
    try:
        raw = parse_yaml(path.read_text(encoding="utf-8"))
        return Prices(str(raw["as_of"]), {str(name): _price(row) for name, row in raw["models"].items()})
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"not a valid price table ({error}); its first lines explain the format", file=path) from error


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
    """Return sums over replies: tokens in and out, reasoning tokens, and the US dollars recorded with them.

    Parameters
    ----------
    replies : iterable of Reply
        Distinct replies. A reply that serves two questions was paid once.

    Returns
    -------
    dict
        Each sum covers the replies that have the number. "priced" counts those with a price; "usd" is None if there are
        none.
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
