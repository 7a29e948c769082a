"""Averages over pipelines, as metrics and in the comparison with published numbers."""

from __future__ import annotations

from known_unknowns.comparison.conditions import conditions_of
from known_unknowns.config import Params


def params(split: int) -> Params:
    data = {"source": "git", "repository": "https://github.com/THUNLP-MT/ActiView", "revision": "0" * 40}
    return Params(
        {
            "edition": "full",
            "editions": {"full": {"benchmarks": ["actiview"], "models": [], "seeds": [0]}},
            "benchmarks": {
                "actiview": {"protocol": "zooming", "protocols": ["zooming"], "variants": [], "data": {"full": data}}
            },
            "variants": {},
            "protocols": {"zooming": {"split": split}},
        }
    )


def test_an_average_is_not_comparable_if_one_of_its_pipelines_is_not():
    assert conditions_of(params(4), "actiview", {}).other_protocols == {}
    reasons = conditions_of(params(6), "actiview", {}).other_protocols
    assert {"zooming", "average", "average_of_two"} == set(reasons)
    assert reasons["average"] == reasons["zooming"]
