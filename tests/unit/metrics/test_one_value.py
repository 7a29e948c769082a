"""A metric that can take one value only, whatever is replied, is null: found by replies drawn at random."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace

import pytest

from known_unknowns import variants
from known_unknowns.metrics.measure import metrics_of
from known_unknowns.metrics.proportions import RECOGNISED
from known_unknowns.metrics.rows import ALWAYS_DEFINED
from known_unknowns.records import OVERALL, Cell, Continuation, Question, Reply
from known_unknowns_benchmarks.mm_upd.loader import load
from known_unknowns_benchmarks.mmsap.loader import BASIC, BEYOND, KNOW
from tests.factories import question
from tests.unit.benchmarks.actiview import perceiving
from tests.unit.benchmarks.mm_upd import published_files
from tests.unit.benchmarks.mmsap.sapient import ask
from tests.unit.metrics.answered import answers_of, dialogue

PARSERS = ("official", "robust", "likelihood", "option_text")
RUNS = 25
ABSTENTIONS = ("I cannot tell.", "None of the options is correct.")
"""Where the refusal option says the one, the other is an abstention."""
OUTCOME_METRICS = {*RECOGNISED, "share_abstained", "share_unparsed", "share_cut", "share_failed", "quadrant_abstained"}
"""Metrics of outcomes. Some outcomes do not exist under some parsers, or for some questions."""


def original(number: int) -> Question:
    return question(str(number), number % 5, group=f"g{number}")


def without_refusal(number: int) -> Question:
    asked = question(str(number), number % 4, group=f"g{number}")
    return replace(asked, benchmark="multiple_choice", refusal=None)


def of_mmsap(number: int) -> Question:
    return ask(str(number), (BASIC, KNOW, BEYOND)[number % 3])


def of_actiview(number: int) -> Question:
    return perceiving.question(str(number), number % 3, group=f"g{number}")


KINDS = {
    "original": original,
    "nota_only": lambda number: variants.nota_only(original(number)),
    "noise": lambda number: variants.noise(original(number)),
    "without_refusal": without_refusal,
    "mmsap": of_mmsap,
    "actiview": of_actiview,
}


def drawn(asked: Question, draw: random.Random) -> Reply:
    """A reply of any kind: a label, an abstention, none, a cut one or a failure."""
    kind = draw.choice(["label", "label", "label", "abstained", "none", "cut", "failed"])
    text = {
        "label": draw.choice("ABCDE"),
        "abstained": draw.choice(ABSTENTIONS),
        "none": "Hm",
        "cut": "<think>",
        "failed": "",
    }
    logprobs = {label: -draw.uniform(0.5, 3.0) for label in asked.labels}
    texts = {label: Continuation(-draw.uniform(0.5, 3.0), 1) for label in asked.labels}
    if draw.random() < 0.2:
        return Reply(text[kind])  # without likelihoods
    error = "timeout" if kind == "failed" else None
    return Reply(text[kind], logprobs, continuations=texts, error=error, finish="length" if kind == "cut" else "stop")


@pytest.mark.parametrize("kind", [*KINDS, "mm_upd"])
def test_a_number_of_one_value_is_null(kind, tmp_path):
    draw = random.Random(kind)
    if kind == "mm_upd":
        asked = list(load(published_files.write(tmp_path / "raw"), tmp_path / "questions"))
    else:
        asked = [KINDS[kind](number) for number in range(12)]
    values: dict[tuple[str, str], set[float]] = defaultdict(set)
    for _ in range(RUNS):
        pairs = [
            (each, dialogue(each, [("answer", drawn(each, draw)), ("forced", drawn(each, draw))])) for each in asked
        ]
        table = answers_of({Cell("original", 0): pairs}, PARSERS)
        found = metrics_of(table, 0.95, model="m", benchmark=asked[0].benchmark)
        for metric in found:
            if metric.category == OVERALL and metric.value is not None and "." not in metric.name:
                values[metric.parser, metric.name].add(metric.value)
    constant = {place for place, of_place in values.items() if len(of_place) == 1} - {
        (parser, name) for parser in PARSERS for name in ALWAYS_DEFINED
    }
    assert {(parser, name) for parser, name in constant if name in OUTCOME_METRICS} == set()
