"""Token prices: the price tables, and sums over replies.

The price of a model is that in the file prices.yaml of the project's folder, which has the format of the packaged
prices.yaml. The packaged table, which has a date, is the default for models that the project's file lacks.
"""

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
PROJECT = Path("prices.yaml")
"""The price table of the project, relative to its folder."""
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
    """US dollars per million tokens, with a date if it differs from that of the table."""

    input: float
    output: float
    cached_input: float
    image_tokens: int
    as_of: str | None = None

    def of(self, usage: Usage) -> float:
        """Return the price of a usage in US dollars."""
        fresh = usage.input_tokens - usage.cached_tokens
        millionths = fresh * self.input + usage.cached_tokens * self.cached_input + usage.output_tokens * self.output
        return millionths / _MILLION


@dataclass(frozen=True, slots=True)
class Prices:
    """The price table, as of a date."""

    as_of: str
    models: Mapping[str, Price]


@cache
def load(path: Path = TABLE) -> Prices:
    """Read a price table.

    Raises DataError if a price is missing, negative, or not a number.
    """
    try:
        raw = parse_yaml(path.read_text(encoding="utf-8"))
        return Prices(str(raw["as_of"]), {str(name): _price(row) for name, row in raw["models"].items()})
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"not a valid price table ({error}); its first lines explain the format", file=path) from error


def find(source: str) -> tuple[Price, str] | None:
    """Return the price of a model and its date, of the project's table or else the packaged one; None if unknown.

    Raises DataError if a table is not valid.
    """
    for path in (PROJECT.absolute(), TABLE):
        if path.is_file() and source in (table := load(path)).models:
            price = table.models[source]
            return price, price.as_of or table.as_of
    return None


def _price(row: Mapping[str, Any]) -> Price:
    price = Price(
        input=float(row["input"]),
        output=float(row["output"]),
        cached_input=float(row.get("cached_input", row["input"])),
        image_tokens=int(row.get("image_tokens", IMAGE_TOKENS)),
        as_of=str(row["as_of"]) if "as_of" in row else None,
    )
    if min(price.input, price.output, price.cached_input, price.image_tokens) < 0:
        raise ValueError(f"a price is negative: {dict(row)}")
    return price


def spent(replies: Iterable[Reply]) -> dict[str, float | int | None]:
    """Return sums over distinct replies: tokens in and out, reasoning tokens, and the US dollars recorded with them.

    Each sum covers the replies that have the number, and is None if there are none: "counted" replies have a number of
    tokens, "priced" ones a price.
    """
    replies = list(replies)
    details = [reply.details or {} for reply in replies]
    costs = [detail["usd"] for detail in details if detail.get("usd") is not None]
    counted = [reply for reply in replies if reply.input_tokens is not None or reply.output_tokens is not None]
    reasoning = [detail.get("reasoning_tokens") or 0 for detail in details]
    return {
        "replies": len(replies),
        "input_tokens": _sum(reply.input_tokens for reply in replies),
        "output_tokens": _sum(reply.output_tokens for reply in replies),
        "reasoning_tokens": sum(reasoning) if counted else None,
        "counted": len(counted),
        "usd": round(sum(costs), 6) if costs else None,
        "priced": len(costs),
    }


def _sum(values: Iterable[int | None]) -> int | None:
    """The sum of the known values; None if none is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
