"""Averages over pipelines, as metrics and in the comparison with published numbers."""

from __future__ import annotations

from pathlib import Path

from known_unknowns.comparison.conditions import conditions_of
from known_unknowns.config import Params
from known_unknowns.records import AnsweredTurn, Reply
from tests.cells import write_replies
from tests.factories import params_from


def params(split: int, *more: str) -> Params:
    data = {"source": "git", "repository": "https://github.com/THUNLP-MT/ActiView", "revision": "0" * 40}
    return params_from(
        {
            "edition": "full",
            "editions": {"full": {"benchmarks": ["actiview"], "models": ["m"], "seeds": [0]}},
            "benchmarks": {
                "actiview": {
                    "protocol": "zooming",
                    "protocols": ["zooming", *more],
                    "variants": [],
                    "data": {"full": data},
                }
            },
            "variants": {},
            "protocols": {"zooming": {"split": split}, **{name: {} for name in more}},
        }
    )


def test_an_average_is_not_comparable_if_one_of_its_pipelines_is_not():
    assert conditions_of(params(4), "actiview", {}).other_protocols == {}
    reasons = conditions_of(params(6), "actiview", {}).other_protocols
    assert {"zooming", "average", "average_of_two"} == set(reasons)
    assert reasons["average"] == reasons["zooming"]


def test_an_average_has_the_turns_of_its_pipelines(tmp_path: Path):
    """Two turns in one pipeline and four in the other are three on average. Without replies, each is one."""
    for variant, steps in {"zooming": ["zoom", "answer"], "shifting_r": ["more", "more", "more", "answer"]}.items():
        asked = [AnsweredTurn("q", n, step, "?", (), None, "", Reply("A")) for n, step in enumerate(steps)]
        write_replies(tmp_path / "qwen/actiview/replies.parquet", variant, 0, asked)
    turns = conditions_of(params(4, "shifting_r"), "actiview", {}, tmp_path).turns
    assert [turns("qwen", name) for name in ("zooming", "shifting_r", "average_of_two")] == [2.0, 4.0, 3.0]
    assert turns("llava", "zooming") == conditions_of(params(4), "actiview", {}).turns("qwen", "zooming") == 1.0
