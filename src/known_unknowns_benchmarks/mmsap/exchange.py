"""MM-SAP's questions in files of predictions. The benchmark has no file format of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from known_unknowns.benchmark.exchange import Exchange
from known_unknowns.errors import unknown_name
from known_unknowns.exchange.embedded_questions import build_question, first_value
from known_unknowns.records import Option, Question
from known_unknowns_benchmarks.mmsap.loader import NAME, REFUSAL, SUBSETS
from known_unknowns_benchmarks.mmsap.official import normalise_text


def embedded_question(fields: Mapping[str, Any], identifier: str, function: str) -> Question:
    """Parse the question in a row (`known_unknowns.benchmark.exchange.Exchange`). The row must name its subset."""
    subset = first_value(fields, "subset")
    if subset not in SUBSETS:
        raise ValueError(f"the subset: {unknown_name(subset, SUBSETS)}")
    return build_question(
        fields,
        identifier,
        function,
        benchmark=NAME,
        find_refusal=_find_refusal,
        category=("sub_task", "type", "category", "subset"),
        extra={"subset": subset, "question_id": identifier},
    )


def _find_refusal(options: Sequence[Option]) -> int | None:
    return next((i for i, option in enumerate(options) if normalise_text(option.text) == normalise_text(REFUSAL)), None)


EXCHANGE = Exchange(embedded_question=embedded_question, exported_extra=("subset",))
