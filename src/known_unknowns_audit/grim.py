"""GRIM and GRIMMER: whether whole counts can produce a printed mean, percentage or standard deviation.

All arithmetic is exact. A number can be rounded, with ties in either direction, or truncated.

References
----------
Brown, N. J. L. and Heathers, J. A. J. (2017). The GRIM test: a simple technique detects numerous anomalies in the
reporting of results in psychology. Social Psychological and Personality Science 8(4), 363-369.
Anaya, J. (2016). The GRIMMER test: a method for testing the validity of reported measures of variability. PeerJ
Preprints 4:e2400v1.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isqrt
from typing import NamedTuple

PERCENT = 100


def printed_interval(printed: str, *, truncated: bool = False) -> tuple[Fraction, Fraction]:
    """Return the smallest and the largest number that is printed in this way.

    For rounding, both ends belong to the interval. If further digits were ``truncated``, the upper end does not.
    """
    plain = printed.replace(",", "")
    unit = Fraction(1, 10 ** len(plain.partition(".")[2]))
    value = Fraction(plain)
    return (value, value + unit) if truncated else (value - unit / 2, value + unit / 2)


def grim_counts(
    printed: str, n: int, *, scale: int = PERCENT, truncated: bool = False, of_rounded: bool = False
) -> range:
    """Return the whole counts k for which ``scale * k / n`` is printed in this way (GRIM); empty if there are none.

    ``printed`` is the mean (``scale`` 1) or percentage (100) with all printed decimals, ``n`` the number of questions,
    times the runs that are averaged. If ``truncated``, further digits were cut off instead of rounded. If
    ``of_rounded``, the number may be the mean of numbers that were rounded, or truncated, to the same decimals. For a
    percentage, no count exceeds ``n``.
    """
    if n < 1:
        raise ValueError(f"n must be positive, not {n}")
    low, high = printed_interval(printed, truncated=truncated)
    unit = high - low if of_rounded else Fraction(0)
    below, above = (Fraction(0), unit) if truncated else (unit / 2, unit / 2)
    low, high = (low - below) * n / scale, (high + above) * n / scale
    first = max(0, ceil(low))
    last = ceil(high) - 1 if truncated else floor(high)
    return range(first, (min(last, n) if scale == PERCENT else last) + 1)


def nearest_percentages(printed: str, n: int) -> tuple[int, int]:
    """Return the counts whose percentages of ``n`` are next below and next above the printed one."""
    below = floor(Fraction(printed) * n / PERCENT)
    return below, below + 1


def implied_n(percentages: Sequence[str], last: int, *, first: int = 1, truncated: bool = False) -> int | None:
    """Return the smallest n from ``first`` to ``last`` that produces all printed percentages from whole counts.

    They are rounded, or all ``truncated``. None if no n does. With ``first`` 1, it is the number of items or a divisor.
    """
    intervals = []
    for text in percentages:
        low, high = (end / PERCENT for end in printed_interval(text, truncated=truncated))
        intervals.append((*low.as_integer_ratio(), *high.as_integer_ratio()))
    for n in range(first, last + 1):
        # The first count is not below low * n. Whole numbers, as this loop is long; a truncated number is below high.
        counts = [(-(-a * n // b), c * n, d) for a, b, c, d in intervals]
        if all(count * d < most if truncated else count * d <= most for count, most, d in counts):
            return n
    return None


def grimmer(
    mean: str,
    spread: str,
    n: int,
    runs: int,
    *,
    ddof: int = 0,
    scale: int = PERCENT,
    variance: bool = False,
    truncated: bool = False,
    of_rounded: bool = False,
) -> bool:
    """Whether whole counts in several runs can produce a printed mean and a printed standard deviation (GRIMMER).

    Each run counts k of n items. The runs' mean and standard deviation of ``scale * k / n`` are printed. The search for
    counts is exhaustive and not limited to the necessary conditions of the original test.

    The sum of squares is divided by ``runs - ddof``. ``scale`` and ``truncated`` are as in `grim_counts`. With
    ``variance``, ``spread`` is a variance. If ``of_rounded``, both numbers are those of the runs' numbers after
    rounding, or truncating, to the decimals of ``mean``.
    """
    if runs <= ddof:
        raise ValueError(f"{runs} runs have no standard deviation with ddof = {ddof}")
    if of_rounded:
        per_unit = Fraction(10 ** len(mean.partition(".")[2]))
        values = _rounded_shares(n, scale * int(per_unit), truncated=truncated)
        low, high = (end * runs * per_unit for end in printed_interval(mean, truncated=truncated))
        totals = range(ceil(low), ceil(high) if truncated else floor(high) + 1)
    else:
        per_unit, values = Fraction(n, scale), _Values(range(n + 1), range(n + 1))
        totals = grim_counts(mean, n * runs, scale=scale, truncated=truncated)
    low, high = (max(Fraction(0), end) for end in printed_interval(spread, truncated=truncated))
    if not variance:
        low, high = low**2, high**2
    low, high = (end * per_unit**2 * (runs - ddof) for end in (low, high))
    for total in totals:
        around = Fraction(total**2, runs)  # the sum of squares, less the squares around the mean
        most = ceil(high + around) - 1 if truncated else floor(high + around)
        if _has_sample(values, runs, total, ceil(low + around), most):
            return True
    return False


class _Values(NamedTuple):
    """What a run can have: whole numbers in ascending order, and the same for a fast search."""

    ascending: Sequence[int]
    every: Container[int]


@lru_cache(maxsize=64)
def _rounded_shares(n: int, scale: int, *, truncated: bool) -> _Values:
    """The shares ``scale * k / n`` of all counts k, rounded to whole numbers, ties in both directions, or truncated."""
    if truncated:
        shares = {scale * count // n for count in range(n + 1)}
    else:
        shares = {(2 * scale * count + n) // (2 * n) for count in range(n + 1)}
        shares |= {-((n - 2 * scale * count) // (2 * n)) for count in range(n + 1)}
    return _Values(sorted(shares), shares)


def _has_sample(values: _Values, numbers: int, total: int, least: int, most: int, start: int = 0) -> bool:
    """Whether some of the values have this total, and a sum of squares from ``least`` to ``most``.

    The values are chosen in ascending order, from place ``start`` on. The smallest of ``numbers`` values is at most
    their mean. It determines the largest sum of squares: all others but one are equal to it.
    """
    if numbers == 1:
        return least <= total**2 <= most and total in values.every
    spare = numbers * most - total**2  # not negative, by Cauchy and Schwarz
    if spare < 0:
        return False
    reach = isqrt((numbers - 1) * spare)  # of one value from the mean, times `numbers`
    first = max(start, bisect_left(values.ascending, -((reach - total) // numbers)))
    for place in range(first, bisect_right(values.ascending, total // numbers)):
        value = values.ascending[place]
        others = total - value
        if (numbers - 1) * value**2 + (total - (numbers - 1) * value) ** 2 < least:
            return False  # larger values have an even smaller sum
        if _has_sample(values, numbers - 1, others, least - value**2, most - value**2, place):
            return True
    return False
