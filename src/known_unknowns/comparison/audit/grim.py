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

from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, isqrt

PERCENT = 100


def printed_interval(printed: str, *, truncated: bool = False) -> tuple[Fraction, Fraction]:
    """Return the smallest and the largest number that is printed in this way.

    Parameters
    ----------
    printed : str
        The number, with all printed decimals.
    truncated : bool
        Whether further digits were cut off instead of rounded.

    Returns
    -------
    tuple of Fraction
        For rounding, both ends belong to the interval. For truncation, the upper end does not.
    """
    plain = printed.replace(",", "")
    unit = Fraction(1, 10 ** len(plain.partition(".")[2]))
    value = Fraction(plain)
    return (value, value + unit) if truncated else (value - unit / 2, value + unit / 2)


def grim_counts(
    printed: str, n: int, *, scale: int = PERCENT, truncated: bool = False, of_rounded: bool = False
) -> range:
    """Return the whole counts k for which ``scale * k / n`` is printed in this way (GRIM).

    Parameters
    ----------
    printed : str
        The mean or percentage, with all printed decimals.
    n : int
        The number of items: of questions, times the runs that are averaged.
    scale : int
        100 for a percentage, 1 for a mean.
    truncated : bool
        Whether further digits were cut off instead of rounded.
    of_rounded : bool
        Whether the number may be the mean of numbers that were rounded, or truncated, to the same decimals.

    Returns
    -------
    range
        The counts. Empty if no count produces the number. For a percentage, no count exceeds ``n``.

    Raises
    ------
    ValueError
        If ``n`` is not positive.

    References
    ----------
    Brown and Heathers (2017), see the module.
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


def implied_n(percentages: list[str], limit: int) -> int | None:
    """Return the smallest n up to ``limit`` that produces all percentages from whole counts.

    Parameters
    ----------
    percentages : list of str
        Percentages of the same items, with all printed decimals.
    limit : int
        The largest n to try.

    Returns
    -------
    int or None
        The number of items, or a divisor of it; None if there is none.
    """
    smallest = 1
    for text in percentages:
        low, high = (end / PERCENT for end in printed_interval(text))
        (a, b), (c, d) = low.as_integer_ratio(), high.as_integer_ratio()
        # a count lies between low * n and high * n; whole numbers, as this loop is long
        found = next((n for n in range(smallest, limit + 1, smallest) if -(-a * n // b) <= c * n // d), None)
        if found is None:
            return None
        smallest = found
    return smallest


def grimmer(
    mean: str, spread: str, n: int, runs: int, *, ddof: int = 0, scale: int = PERCENT, variance: bool = False
) -> bool:
    """Whether whole counts in several runs can produce a printed mean and a printed standard deviation (GRIMMER).

    Each run counts k of n items. The runs' mean and standard deviation of ``scale * k / n`` are printed. The search for
    counts is exhaustive and not limited to the necessary conditions of the original test.

    Parameters
    ----------
    mean, spread : str
        Mean and standard deviation over the runs, with all printed decimals.
    n : int
        The number of items of each run.
    runs : int
        The number of runs.
    ddof : int
        Delta degrees of freedom: the sum of squares is divided by ``runs - ddof``.
    scale : int
        100 for percentages, 1 for proportions.
    variance : bool
        Whether ``spread`` is a variance instead of a standard deviation.

    Returns
    -------
    bool
        False if no counts in ``runs`` runs produce both numbers.

    References
    ----------
    Anaya (2016), see the module.
    """
    if runs <= ddof:
        raise ValueError(f"{runs} runs have no standard deviation with ddof = {ddof}")
    low, high = (max(Fraction(0), end) for end in printed_interval(spread))
    if not variance:
        low, high = low**2, high**2
    to_counts = Fraction(n, scale) ** 2 * (runs - ddof)
    return any(
        _is_reachable(total, low * to_counts, high * to_counts, n, runs)
        for total in grim_counts(mean, n * runs, scale=scale)
    )


def _is_reachable(total: int, low: Fraction, high: Fraction, n: int, runs: int) -> bool:
    """Whether some counts have this total, and a sum of squared deviations from their mean in an interval."""
    base, rest = divmod(total, runs)
    centre = Fraction(rest * rest, runs)  # the squares around `base` minus this are the squares around the mean
    squares = range(ceil(low + centre), floor(high + centre) + 1)
    return any(_have(runs, rest, square, -base, n - base) for square in squares)


@lru_cache(maxsize=100_000)
def _have(numbers: int, total: int, squares: int, low: int, high: int) -> bool:
    """Whether some whole numbers from ``low`` to ``high`` have this sum and this sum of squares."""
    spare = numbers * squares - total * total  # not negative, by Cauchy and Schwarz
    if spare < 0 or (total - squares) % 2:
        return False
    if numbers == 1:
        return spare == 0 and low <= total <= high
    if numbers == 2:  # (total - root) / 2 and (total + root) / 2
        root = isqrt(spare)
        return root * root == spare and low <= (total - root) // 2 and (total + root) // 2 <= high
    reach = isqrt((numbers - 1) * spare)  # of one number from the mean, times `numbers`
    first, last = max(low, -((reach - total) // numbers)), min(high, (total + reach) // numbers)
    return any(_have(numbers - 1, total - k, squares - k * k, low, high) for k in range(first, last + 1))
