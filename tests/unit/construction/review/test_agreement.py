"""Kappa and alpha: values of the literature and by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from known_unknowns_construction.review.agreement import agreement
from known_unknowns_construction.review.decisions import content_of, standing

from .test_decisions import candidate, decision

# Krippendorff (2011), section C: four observers, twelve units, five nominal values, missing data. alpha = 0.743.
OBSERVERS = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)


def alpha(units) -> float | None:
    """Krippendorff's alpha of reviewers who tagged questions; None for a question that one of them did not review."""
    items = [candidate(f"c{i}") for i in range(len(units))]
    lines = [
        decision(item, "tag", f"reviewer {column}", tag=value)
        for item, unit in zip(items, units, strict=True)
        for column, value in enumerate(unit)
        if value is not None
    ]
    contents, groups = {item.id: content_of(item) for item in items}, {item.id: item.group for item in items}
    return agreement(contents, groups, standing(lines))[-1].value


def test_alpha_of_krippendorffs_example():
    columns = [[None if v == "." else v for v in row.split()] for row in OBSERVERS]
    units = list(zip(*columns, strict=True))
    # By hand: 40 pairable values; observed disagreement 8 / 40, expected (40^2 - 384) / (40 * 39).
    assert alpha(units) == pytest.approx(1 - (8 / 40) / ((40**2 - 384) / (40 * 39)))
    assert alpha(units) == pytest.approx(0.743, abs=5e-4)


def test_agreement_without_variation_is_undefined():
    item, other = candidate("c1", group="g"), candidate("c2", group="h")
    lines = [decision(each, "keep", name) for each in (item, other) for name in ("ann", "bo")]
    contents = {each.id: content_of(each) for each in (item, other)}
    rows = agreement(contents, {"c1": "g", "c2": "h"}, standing(lines))
    assert len(rows) == 4 and {(row.value, row.low, row.high, row.same) for row in rows} == {(None, None, None, 1.0)}


def test_agreement_of_reviewers():
    items = [candidate(f"c{i}", group=f"image-{i // 2}") for i in range(40)]
    lines = []
    for place, item in enumerate(items):
        lines.append(decision(item, "keep" if place % 2 else "modify"))
        lines.append(decision(item, "keep" if place % 4 else "delete", "bo", reason="unclear"))
    lines.append(decision(items[0], "keep", "cem", role="adjudicator"))
    lines.append(replace(decision(items[1], "delete", "bo", key="stale", reason="unclear"), sha256="0" * 64))
    contents = {item.id: content_of(item) for item in items}
    groups = {item.id: item.group for item in items}
    rows = {(row.scale, row.coefficient): row for row in agreement(contents, groups, standing(lines))}
    kappa = rows["action", "Cohen's kappa"]
    # c1 does not count: bo's last decision is about another version. 39 questions: ann keeps 19, modifies 20;
    # bo keeps 29 (19 of ann's), deletes 10.
    observed, expected = 19 / 39, 19 * 29 / 39**2
    assert (kappa.n, kappa.reviewers, kappa.same) == (39, ("ann", "bo"), pytest.approx(observed))
    assert kappa.value == pytest.approx((observed - expected) / (1 - expected))
    assert kappa.low < kappa.value < kappa.high
    again = agreement(contents, groups, standing(lines))
    assert again[0] == kappa
    answer = rows["answer", "Krippendorff's alpha"]
    assert answer.n == 39 and answer.same == pytest.approx(19 / 39)  # B against A or deleted: as many differ


def test_the_interval_has_the_width_of_the_large_sample_standard_error():
    """Fleiss, Cohen and Everitt (1969), simple form: sqrt(p (1 - p) / n) / (1 - e), with p observed and e expected."""
    items = [candidate(f"c{i}", group=f"image-{i}") for i in range(400)]
    lines = [decision(item, "keep" if place % 2 else "modify") for place, item in enumerate(items)]
    lines += [
        decision(item, "keep" if place % 8 in (0, 1, 3, 5) else "modify", "bo") for place, item in enumerate(items)
    ]
    contents, groups = {item.id: content_of(item) for item in items}, {item.id: item.group for item in items}
    (kappa,) = [row for row in agreement(contents, groups, standing(lines)) if row.coefficient == "Cohen's kappa"][:1]
    observed, expected = 6 / 8, 1 / 2
    error = (observed * (1 - observed) / 400) ** 0.5 / (1 - expected)
    assert kappa.value == pytest.approx(0.5)
    assert (kappa.low, kappa.high) == pytest.approx((0.5 - 1.96 * error, 0.5 + 1.96 * error), abs=0.015)
