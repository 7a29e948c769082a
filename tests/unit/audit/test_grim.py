"""GRIM and GRIMMER. The examples are computed by hand; the properties hold for every count."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from known_unknowns_audit.grim import grim_counts, grimmer, implied_n, nearest_percentages, printed_interval


def shown(number: Fraction, decimals: int) -> str:
    return f"{float(number):.{decimals}f}"


@pytest.mark.parametrize(
    ("printed", "n", "scale", "counts"),
    [
        ("5.19", 28, 1, []),  # 145 / 28 = 5.179 and 146 / 28 = 5.214; the example of Brown and Heathers (2017)
        ("5.21", 28, 1, [146]),
        ("61.23", 325, 100, [199]),  # 199 / 325 = 61.2308
        ("63.87", 325, 100, []),  # 207 / 325 = 63.692, 208 / 325 = 64.000
        ("13", 8, 100, [1]),  # 12.5 rounds up
        ("12", 8, 100, [1]),  # or to even
        ("100", 3, 100, [3]),
        ("0.0", 3, 100, [0]),
    ],
)
def test_grim(printed, n, scale, counts):
    assert list(grim_counts(printed, n, scale=scale)) == counts


def test_truncated_and_averaged_numbers():
    assert not grim_counts("9.42", 350)  # 33 / 350 = 9.4286
    assert list(grim_counts("9.42", 350, truncated=True)) == [33]
    assert not grim_counts("24.18", 5750) and list(grim_counts("24.18", 5750, of_rounded=True)) == [1390]
    # five runs of 350 questions; 1700 / 1750 = 97.143. Runs of 341, 339, 340, 340 and 340 truncate to 97.42, 96.85 and
    # 97.14, whose mean of 97.138 truncates to 97.13
    assert not grim_counts("97.13", 1750, truncated=True) and not grim_counts("97.13", 1750, of_rounded=True)
    assert list(grim_counts("97.13", 1750, truncated=True, of_rounded=True)) == [1700]
    assert not grim_counts("97.12", 1750, truncated=True, of_rounded=True)
    assert printed_interval("1,234.5") == (Fraction("1234.45"), Fraction("1234.55"))
    assert printed_interval("7", truncated=True) == (7, 8)
    with pytest.raises(ValueError, match="n must be positive"):
        grim_counts("50", 0)


@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.integers(0, 4))
def test_every_count_is_among_those_of_its_percentage(count_and_n, decimals):
    count, n = count_and_n
    assert count in grim_counts(shown(Fraction(100 * count, n), decimals), n)
    exact = 10**decimals * 100 * count // n
    cut = f"{exact // 10**decimals}.{exact % 10**decimals:0{decimals}d}" if decimals else str(exact)
    assert count in grim_counts(cut, n, truncated=True)


@given(st.integers(0, 10_000), st.integers(1, 99))
def test_an_impossible_percentage_lies_between_its_neighbours(hundredths, n):
    printed = f"{hundredths / 100:.2f}"
    below, above = nearest_percentages(printed, n)
    assert 100 * below / n <= float(printed) + 1e-9 and float(printed) < 100 * above / n + 1e-9
    possible = {round(100 * k / n, 2) for k in range(n + 1)}
    if float(printed) in possible:
        assert grim_counts(printed, n)


@given(st.integers(2, 400), st.data())
def test_the_implied_n_divides_the_true_one(n, data):
    counts = data.draw(st.lists(st.integers(1, n), min_size=1, max_size=5))
    found = implied_n([f"{100 * count / n:.10f}" for count in counts], 400)
    assert found is not None and n % found == 0
    assert all(count * found % n == 0 for count in counts)


def test_the_implied_n_of_a_share_of_one():
    assert implied_n(["0.0300661455"], 22_831) == 3326
    assert implied_n(["33.3333333333", "25.0000000000"], 100) == 12
    assert implied_n(["33.30", "12.345678"], 10) is None


def brute_force(mean: str, spread: str, n: int, runs: int, ddof: int, truncated: bool, of_rounded: bool) -> bool:
    """All counts of all runs, with every way in which a number can be printed as a text of decimals."""
    unit = Fraction(1, 10 ** len(mean.partition(".")[2]))

    def printed(value: Fraction) -> set[Fraction]:
        below = value // unit * unit
        if truncated or value == below:
            return {below}
        middle = below + unit / 2
        return {below} if value < middle else {below + unit} if value > middle else {below, below + unit}

    for counts in itertools.combinations_with_replacement(range(n + 1), runs):
        shares = [Fraction(100 * k, n) for k in counts]
        for values in itertools.product(*map(printed, shares)) if of_rounded else [shares]:
            average = sum(values) / runs
            variance = sum((value - average) ** 2 for value in values) / (runs - ddof)
            low = Fraction(spread) - (0 if truncated else unit / 2)
            high = Fraction(spread) + (unit if truncated else unit / 2)
            in_time = variance < high**2 if truncated else variance <= high**2
            if Fraction(mean) in printed(average) and in_time and (low <= 0 or variance >= low**2):
                return True
    return False


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(st.integers(1, 7), st.integers(2, 4)),
    st.integers(0, 1000),
    st.integers(0, 500),
    st.integers(0, 1),
    st.booleans(),
    st.booleans(),
)
def test_grimmer_is_an_exhaustive_search(asked, mean, spread, ddof, truncated, of_rounded):
    texts = f"{mean / 10:.1f}", f"{spread / 10:.1f}"
    found = grimmer(*texts, *asked, ddof=ddof, truncated=truncated, of_rounded=of_rounded)
    assert found == brute_force(*texts, *asked, ddof, truncated, of_rounded)


def test_the_standard_deviation_of_rounded_runs_by_hand():
    """Two runs of 6 with the mean 25%: 1 and 2, or 0 and 3. With ddof = 1, 16.67 and 33.33 have 11.79, 17 and 33 11.31.

    The runs 0 and 3 have 35.36 under both readings.
    """
    exact, rounded = (
        {spread for spread in range(51) if grimmer("25", str(spread), 6, 2, ddof=1, of_rounded=reading)}
        for reading in (False, True)
    )
    assert (exact, rounded) == ({12, 35}, {11, 35})


def test_grimmer_by_hand():
    """Two runs of 10 with the mean 50% have the standard deviations 0, 10, 20, ... with ddof = 0."""
    assert {spread for spread in range(51) if grimmer("50", str(spread), 10, 2)} == {0, 10, 20, 30, 40, 50}
    assert grimmer("50", "100", 10, 2, variance=True) and not grimmer("50", "90", 10, 2, variance=True)
    with pytest.raises(ValueError, match="no standard deviation"):
        grimmer("50", "1", 10, 1, ddof=1)
