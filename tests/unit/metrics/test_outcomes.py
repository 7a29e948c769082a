"""What each metric does with each outcome (docs/metrics.md), by hand from the definitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from known_unknowns import variants
from known_unknowns.benchmark.metrics import Ratio, RiskCoverage
from known_unknowns.metrics import consistency
from known_unknowns.metrics.answers import frame
from known_unknowns.metrics.measure import metrics_of
from known_unknowns.metrics.proportions import ratios
from known_unknowns.metrics.selective import aurc
from known_unknowns.records import (
    ABSTAINED,
    ANSWERED,
    CUT,
    FAILED,
    NOT_OFFERED,
    OUTCOMES,
    REFUSED,
    UNPARSED,
    Cell,
    Metric,
    Question,
    Reply,
    Score,
)
from known_unknowns.scoring.answers import answer_table
from known_unknowns.variants.of_benchmark import content_free
from known_unknowns_benchmarks.multiple_choice.metrics import METRICS
from tests.factories import question, with_keys
from tests.unit.metrics.answered import cell_of, dialogue, only_cell, params

LABELS = "ABCDE"  # E is the refusal


def ask(number: int, answer: str | None) -> Question:
    """Options: A Red, B Blue, C Black, D Gold, E None of the above. None: no option is right."""
    extra = {"question_id": number, "label": answer or "", "image_path": "images/a.jpg"}
    found = question(str(number), "ABCDE".index(answer or "A"), category="Object", group=f"g{number}", extra=extra)
    return found if answer else replace(found, answer=None)


def score(asked: Question, outcome: str, label: str | None = None) -> Score:
    choice = LABELS.index(label) if outcome in (ANSWERED, REFUSED) and label else None
    correct = choice is not None and choice == asked.answer
    return Score(asked.id, 0, "answer", "robust", outcome, label, choice, correct)


# answer, outcome, label
ALL_OUTCOMES: list[tuple[str | None, str, str | None]] = [
    ("A", ANSWERED, "A"),  # 1: right
    ("A", ANSWERED, "B"),  # 2: wrong
    ("A", REFUSED, "E"),  # 3: an option is right
    ("A", ABSTAINED, None),  # 4: an option is right
    ("E", REFUSED, "E"),  # 5: right
    ("E", ABSTAINED, None),  # 6: recognised, and not the refusal
    ("E", ANSWERED, "C"),  # 7: wrong
    ("E", UNPARSED, None),  # 8
    ("B", UNPARSED, "F"),  # 9: a label that is not offered
    ("B", UNPARSED, NOT_OFFERED),  # 10: the text of an option that was removed
    ("B", CUT, None),  # 11
    ("B", FAILED, None),  # 12
    (None, ABSTAINED, None),  # 13: recognised
    (None, ANSWERED, "D"),  # 14: wrong
]


def scored(rows: Sequence[tuple[str | None, str, str | None]]) -> list[tuple[Question, Score]]:
    asked = [ask(number, answer) for number, (answer, _, _) in enumerate(rows, 1)]
    return [(q, score(q, outcome, label)) for q, (_, outcome, label) in zip(asked, rows, strict=True)]


def sums(found: dict[str, Ratio]) -> dict[str, tuple[float, float]]:
    return {name: (float(ratio.numerator.sum()), float(ratio.denominator.sum())) for name, ratio in found.items()}


def test_every_outcome_by_hand() -> None:
    found = sums(ratios(cell_of(scored(ALL_OUTCOMES)), [*LABELS, "F"]))
    assert {name: pair for name, pair in found.items() if name != "chance"} == {
        "accuracy": (2, 14),  # 1 5
        "share_A": (1, 14),  # 1
        "share_B": (1, 14),  # 2
        "share_C": (1, 14),  # 7
        "share_D": (1, 14),  # 14
        "share_E": (2, 14),  # 3 5
        "share_F": (1, 14),  # 9
        "share_no_letter": (6, 14),  # 4 6 13 abstained, 8 10 unparsed, 11 cut
        "share_abstained": (3, 14),  # 4 6 13
        "share_unparsed": (3, 14),  # 8 9 10
        "share_cut": (1, 14),  # 11
        "share_failed": (1, 14),  # 12
        "recognised": (3, 6),  # 5 6 13 of 5 6 7 8 13 14
        "recognised_refused": (1, 6),  # 5
        "recognised_abstained": (2, 6),  # 6 13
        "refusal_recall": (1, 4),  # 5 of 5 6 7 8
        "refusal_precision": (1, 2),  # 5 of 3 5
        "accuracy_answered": (1, 4),  # 1 of 1 2 7 14
        "accuracy_high_bound": (5, 14),  # 1 5, and 8 11 12: not 9 10 (not offered), not 4 6 13 (no option chosen)
    }
    assert found["chance"] == (pytest.approx(12 / 5), 14)  # one in five, 0 for 13 and 14


def test_without_content_no_option_is_right_whatever_the_answer() -> None:
    """`text_only` keeps the published answers: 3 5 refused, 4 6 13 abstained, of all 14."""
    cell = cell_of(scored(ALL_OUTCOMES))
    found = sums(ratios(cell, list(LABELS), content_free=True))
    assert found["recognised"] == (5, 14)
    assert found["recognised_refused"] == (2, 14) and found["recognised_abstained"] == (3, 14)
    plain = sums(ratios(cell, list(LABELS)))
    assert {n: v for n, v in found.items() if not n.startswith("recog")} == {
        n: v for n, v in plain.items() if not n.startswith("recog")
    }


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*LABELS, None]),
            st.one_of(
                st.tuples(st.just(ANSWERED), st.sampled_from("ABCD")),
                st.tuples(st.just(REFUSED), st.just("E")),
                st.tuples(st.just(UNPARSED), st.sampled_from([None, "F", NOT_OFFERED])),
                st.tuples(st.sampled_from([ABSTAINED, CUT, FAILED]), st.none()),
            ),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_shares_add_up(rows) -> None:
    pairs = scored([(answer, outcome, label) for answer, (outcome, label) in rows])
    found = {name: pair[0] for name, pair in sums(ratios(cell_of(pairs), [*LABELS, "F"])).items()}
    labels = sum(found[f"share_{label}"] for label in [*LABELS, "F"])
    assert labels + found["share_no_letter"] + found["share_failed"] == len(rows)
    kinds = {outcome: sum(s.outcome == outcome for _, s in pairs) for outcome in OUTCOMES}
    assert kinds[ANSWERED] + kinds[REFUSED] == len(rows) - sum(
        found[f"share_{name}"] for name in ("abstained", "unparsed", "cut", "failed")
    )
    assert found["recognised"] == found["recognised_refused"] + found["recognised_abstained"]
    assert found["accuracy"] <= found["accuracy_high_bound"]
    assert found["share_abstained"] + found["share_cut"] <= found["share_no_letter"]


def pick(metrics: Sequence[Metric], name: str, **where: object) -> Metric:
    (found,) = [
        m
        for m in metrics
        if m.name == name and all(getattr(m, k) == v for k, v in {"category": "Overall", **where}.items())
    ]
    return found


def test_the_table_of_metrics_has_recognised_for_variants_without_content() -> None:
    """Blank images of questions without a refusal option keep their answer; recognised is defined for all of them."""
    rows = [("A", ABSTAINED, None), ("B", ANSWERED, "B"), ("C", CUT, None)]
    bare = [(replace(q, options=q.options[:4], refusal=None), score) for q, score in scored(rows)]
    answers = cell_of(bare).reset_index().assign(variant="blank")
    measured = metrics_of(answers, 0.95, model="m", benchmark="humblebench", content_free={"blank"})
    found = pick(measured, "recognised")
    assert (found.value, found.n, found.denominator) == (pytest.approx(1 / 3), 3, 3)
    refused = pick(measured, "recognised_refused")
    assert (refused.value, refused.method) == (None, "undefined: no question offers a refusal")
    undefined = pick(metrics_of(answers, 0.95, model="m", benchmark="humblebench"), "recognised")
    assert (undefined.value, undefined.low, undefined.high, undefined.denominator) == (None, None, None, 0)


def test_variants_without_content() -> None:
    free = {name for name, variant in variants.VARIANTS.items() if variant.content_free}
    assert free == {"noise", "gaussian", "blank", "text_only"}
    named = params(["original", "nota_only", "noise", "grey"], [0])
    named = with_keys(named, variants__grey={"function": "blank"})
    assert content_free(named, "humblebench") == {"noise", "grey"}


@pytest.mark.parametrize("outcome", [ABSTAINED, UNPARSED, CUT, FAILED])
def test_a_reply_without_an_option_agrees_with_no_other(outcome: str) -> None:
    chosen: list[tuple[str | None, str, str | None]] = [("A", ANSWERED, "A"), ("A", outcome, None)]
    again: list[tuple[str | None, str, str | None]] = [("A", outcome, None), ("A", outcome, None)]
    found = sums(consistency.across_seeds([cell_of(scored(chosen)), cell_of(scored(again))]))
    assert found["same_answer"] == (0, 2) and found["content_agreement"] == (0, 2)
    assert found["position_kept"][1] == 0


def test_the_risk_coverage_curve_ignores_the_outcome_of_the_text() -> None:
    """Its answers are the likeliest options: confidences 0.9 (right) and 0.6 (wrong)."""
    rows: list[tuple[str | None, str, str | None]] = [("A", ANSWERED, "A"), ("B", ANSWERED, "A")]
    logprobs = [{"A": np.log(0.9), "E": np.log(0.1)}, {"A": np.log(0.6), "E": np.log(0.4)}]

    def curve(kinds: Sequence[str]) -> RiskCoverage:
        asked = [
            replace(ask(number, answer), benchmark="multiple_choice") for number, (answer, _, _) in enumerate(rows)
        ]
        scores = [replace(score(q, kind, None), parser="likelihood") for q, kind in zip(asked, kinds, strict=True)]
        pairs = [(q, dialogue(q, [("answer", Reply("", logprobs=p))])) for q, p in zip(asked, logprobs, strict=True)]
        of_turns = {"likelihood": {(each.question_id, 0): each for each in scores}}
        table = answer_table("multiple_choice", pairs, ["likelihood"], of_turns, file="replies")
        return METRICS.curves(only_cell(frame([(Cell("original", 0), table)])))["aurc"]

    assert aurc(curve([ANSWERED, ANSWERED])) == pytest.approx((0 + 1 / 2) / 2)
    assert aurc(curve([ABSTAINED, CUT])) == pytest.approx((0 + 1 / 2) / 2)
