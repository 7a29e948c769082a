"""The texts of a trial: published numbers beside one's own, caveats and unusable replies."""

from __future__ import annotations

from known_unknowns.evaluation import numbers
from known_unknowns.evaluation.published import published
from known_unknowns.metrics.unusable_replies import unusable
from known_unknowns.records import Metric


def metric(variant: str, name: str, value: float, parser: str = "official", **changes) -> Metric:
    fields = {"low": value - 0.1, "high": value + 0.1, "n": 100, "method": "Wilson"} | changes
    return Metric("mine", "humblebench", variant, 0, 0, parser, "Overall", name, value, **fields)


def test_published_numbers_stand_beside_those_of_the_same_metric_and_variant():
    found = [
        metric("original", "accuracy", 0.5),
        metric("original", "accuracy", 0.6, parser="robust"),
        metric("noise", "accuracy", 0.4),
    ]
    lines = published(found, "humblebench", "Cambrian", ["original", "nota_only"])
    assert len(lines) == 1 and lines[0].endswith("% (original); here 50.0% (40.0 to 60.0, n = 100)")
    assert "Cambrian: accuracy " in lines[0]
    assert published(found, "humblebench", "nobody", ["original"]) == []


def test_the_most_frequent_unusable_reply_is_quoted():
    replies = [(None, "A"), ("unparsed", "hm"), ("unparsed", "hm"), ("failed", "TimeoutError"), (None, "")]
    start = "Unusable: 3 of 5 replies; the most frequent (2, unparsed) is 'hm'. Likely remedy: "
    assert unusable(replies).startswith(start) and "chat template" in unusable(replies)
    assert unusable(replies[:1]) == ""
    assert f"is '{'x' * 120}...'." in unusable([("cut", "x" * 500)])
    assert "more tokens" in unusable([("cut", "x")]) and "see what the model writes" in unusable([("unparsed", " ")])


def test_the_numbers_are_those_of_the_robust_parser_and_undefined_ones_are_dashes():
    found = [
        metric("original", "accuracy", 0.5),
        metric("original", "accuracy", 0.6, parser="robust", low=None, high=None),
    ]
    (number,) = numbers.numbers_of([*found[1:], found[0]], ["original"])
    assert number.metric.value == 0.6
    assert numbers.table([number]).splitlines()[1].split() == ["accuracy", "60.0%", "-", "100", "original"]
