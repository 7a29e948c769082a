from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from known_unknowns.metrics.measure import metrics_of
from known_unknowns.metrics.proportions import RECOGNISED
from known_unknowns.records import (
    ABSTAINED,
    CUT,
    OVERALL,
    AnsweredTurn,
    Cell,
    Continuation,
    Metric,
    Question,
    Reply,
    Score,
)
from known_unknowns.scoring.option_text import with_continuations
from known_unknowns_benchmarks.mmsap.loader import BASIC, BEYOND, KNOW
from known_unknowns_benchmarks.mmsap.metrics import METRICS, QUADRANTS
from tests.unit.benchmarks.mmsap.sapient import PAPER, ask, benchmark, by_respondent, dialogue, measured, says
from tests.unit.metrics.answered import answers_of, cell_of, pick

# A dozen questions with every outcome. A is right, C refuses; in BeyondVisQA C is right.
#
#  id  reply  forced   direct matching reads             likelihoods: A, B, C       likelihood reads
DOZEN = (
    (ask("b1", BASIC, category="Color"), says("A", A=0.90, B=0.08, C=0.02)),  # right
    (ask("b2", BASIC), says("B", A=0.50, B=0.40, C=0.10)),  # wrong                  right
    (ask("b3", BASIC), says("C", A=0.30, B=0.10, C=0.60)),  # refused: known         refused: known
    (ask("b4", BASIC), says("Hm", A=0.30, B=0.50, C=0.20)),  # unparsed              left out
    (ask("b5", BASIC), Reply("", error="out of memory")),  # failed                  failed
    (ask("k1", KNOW), says("A", A=0.3, B=0.2, C=0.5), says("A", A=0.4, B=0.6)),  # right   refused, then wrong: unknown
    (ask("k2", KNOW), says("B", A=0.20, B=0.70, C=0.10)),  # wrong                   wrong
    (ask("k3", KNOW), says("C", A=0.15, B=0.05, C=0.80), says("A", A=0.7, B=0.3)),  # refused, then right: known, twice
    (ask("k4", KNOW), says("C", A=0.1, B=0.2, C=0.7), says("B", A=0.2, B=0.8)),  # refused, then wrong: unknown, twice
    (ask("k5", KNOW), says("C", A=0.25, B=0.35, C=0.4), says("?", A=0.9, B=0.1)),  # then unparsed: unknown, twice
    (ask("y1", BEYOND), says("C", A=0.03, B=0.02, C=0.95)),  # refused               refused
    (ask("y2", BEYOND), says("A", A=0.60, B=0.10, C=0.30)),  # wrong                 wrong
)
ORIGINAL = Cell("original", 0)

# category: {name: (numerator, denominator)}, by hand from the table above
DIRECT = {
    OVERALL: {
        "score_kk": (2, 12),  # b1 k1
        "score_ku": (3, 12),  # k4 k5 y1
        "score_sa": (5, 12),
        "score_AR": (6, 12),  # b1, k1 k3 k4 k5, y1
        "score_KK": (2, 10),  # b1 k1 of Basic and Know
        "score_KU": (4, 7),  # k3 k4 k5 y1 of Know and Beyond
        "answer_rate": (7, 12),  # all but b3 k3 k4 k5 y1
        "answer_accuracy": (2, 7),
        "refusal_share": (3, 5),  # k3 k4 k5 of Know
        "unknown_knowns_rate": (1, 5),  # k3
        "unknown_knowns_rate_of_refusals": (1, 3),
        "forced_unread": (1, 3),  # k5
        "quadrant_known_known": (2, 12),  # b1 k1
        "quadrant_known_unknown": (3, 12),  # k4 k5 y1
        "quadrant_unknown_known": (2, 12),  # b3 k3
        "quadrant_unknown_unknown": (3, 12),  # b2 k2 y2
        "quadrant_abstained": (0, 12),
        "quadrant_unread": (2, 12),  # b4 b5
        "operating_coverage": (5, 12),  # b1 b2 k1 k2 y2
        "operating_risk": (3, 5),  # b2 k2 y2
    },
    BASIC: {
        "score_kk": (1, 5),
        "score_ku": (0, 5),
        "score_sa": (1, 5),
        "score_AR": (1, 5),
        "answer_rate": (4, 5),
        "answer_accuracy": (1, 4),  # b1 of b1 b2 b4 b5
        "quadrant_unknown_known": (1, 5),
        "quadrant_unread": (2, 5),
    },
    KNOW: {
        "score_kk": (1, 5),
        "score_ku": (2, 5),  # k4 k5
        "score_AR": (4, 5),  # k1 k3 k4 k5
        "answer_rate": (2, 5),
        "answer_accuracy": (1, 2),  # k1 of k1 k2
        "score_KU": (3, 5),
        "unknown_knowns_rate": (1, 5),
    },
    BEYOND: {
        "score_ku": (1, 2),
        "score_sa": (1, 2),
        "score_AR": (1, 2),
        "answer_rate": (1, 2),
        "score_KU": (1, 2),
    },
    "Color": {"score_kk": (1, 1), "answer_rate": (1, 1)},
}
LIKELIHOOD = {  # b4 does not begin with a letter, so that it is left out; so is the forced reply of k5
    OVERALL: {
        "score_kk": (2, 11),  # b1 b2
        "score_ku": (4, 11),  # k1 k4 k5 y1
        "score_sa": (6, 11),
        "score_AR": (7, 11),  # b1 b2, k1 k3 k4 k5, y1
        "score_KU": (5, 7),  # k1 k3 k4 k5 y1
        "answer_rate": (5, 11),  # all but b3 k1 k3 k4 k5 y1
        "unknown_knowns_rate": (1, 5),  # k3
        "unknown_knowns_rate_of_refusals": (1, 4),
        "forced_unread": (1, 4),  # k5
        "quadrant_unknown_known": (2, 11),  # b3 k3
        "quadrant_unknown_unknown": (2, 11),  # k2 y2
        "quadrant_unread": (1, 11),  # b5
        # risk among the k surest that the refusal is wrong, answering the likelier of A and B:
        # b1 | b2 and k2 tie | y2 | k5 | k1 | b3 | k4 | k3 | y1 | b5, which has no likelihoods
        "aurc": (0 + 1 / 4 + 1 / 3 + 2 / 4 + 3 / 5 + 3 / 6 + 3 / 7 + 4 / 8 + 4 / 9 + 5 / 10 + 6 / 11, 11),
    },
}


@pytest.fixture(scope="module")
def dozen(tmp_path_factory: pytest.TempPathFactory) -> list[Metric]:
    pairs = []
    for question, *replies in DOZEN:
        left = list(replies)
        pairs.append((question, dialogue(question, lambda turn, left=left: left.pop(0))))
        assert not left  # every reply of the table was asked for
    return measured(tmp_path_factory.mktemp("dozen"), {ORIGINAL: pairs})


@pytest.mark.parametrize(("parser", "table"), [("official", DIRECT), ("robust", DIRECT), ("likelihood", LIKELIHOOD)])
def test_a_dozen_questions_by_hand(dozen, parser, table):
    questions = {OVERALL: 12, BASIC: 5, KNOW: 5, BEYOND: 2, "Color": 1}
    for category, expected in table.items():
        for name, (numerator, denominator) in expected.items():
            metric = pick(dozen, name, parser=parser, category=category)
            if name == "quadrant_abstained" and parser == "official":
                assert metric.reason == "the parser finds no abstention"
                continue
            assert metric.value == pytest.approx(numerator / denominator), (category, name)
            assert (metric.n, metric.denominator) == (questions[category], denominator), (category, name)


def test_no_other_metric_is_computed(dozen):
    """No metric of MM-SAP's own stands in the table of metrics that the tables above leave out."""
    shared = {m.name for m in dozen if m.parser == "robust" and m.name.startswith(("share_", "accuracy"))}
    shared |= {"refusal_recall", "refusal_precision", "chance", "above_chance", "constant_answer", *RECOGNISED}
    own = {m.name for m in dozen if m.parser == "official" and m.category == OVERALL} - shared
    assert own == {*DIRECT[OVERALL], "refusal_number"}
    assert {m.name for m in dozen if m.name == "aurc" and m.parser != "likelihood"} == set()


def test_refusal_number_counts_questions(dozen):
    number, share = (
        pick(dozen, name, parser="official", category=KNOW) for name in ("refusal_number", "refusal_share")
    )
    assert (number.value, number.n, number.denominator) == (pytest.approx(3), 5, 5)
    assert (number.low, number.high) == pytest.approx((5 * share.low, 5 * share.high))
    assert number.method == "modified Wilson, times the denominator"
    overall = pick(dozen, "refusal_number", parser="official")  # 3 of KnowVisQA's 5, among 12 questions
    assert (overall.value, overall.n, overall.denominator) == (pytest.approx(3), 12, 5)


def test_impossible_ratios_are_undefined(dozen):
    """BasicVisQA has no unknowns by the first preprint, and no forced choices; BeyondVisQA no knowns."""
    for name, category, n in [
        ("score_KU", BASIC, 5),
        ("unknown_knowns_rate", BASIC, 5),
        ("refusal_number", BASIC, 5),
        ("score_KK", BEYOND, 2),
        ("unknown_knowns_rate_of_refusals", BEYOND, 2),
    ]:
        metric = pick(dozen, name, parser="official", category=category)
        assert (metric.value, metric.low, metric.high) == (None, None, None), (name, category)
        assert (metric.n, metric.denominator) == (n, 0), (name, category)


def test_the_subsets_are_categories_beside_the_sub_tasks(dozen):
    assert {metric.category for metric in dozen} == {OVERALL, BASIC, KNOW, BEYOND, "Color", "Other"}


NEED_THE_FORCED_ANSWER = (
    "score_ku",
    "score_sa",
    "unknown_knowns_rate",
    "unknown_knowns_rate_of_refusals",
    "quadrant_known_unknown",
    "quadrant_unknown_known",
    "forced_unread",
)


def by_text(question: Question, reply: str, likeliest: str, protocol: str) -> list[AnsweredTurn]:
    """A dialogue whose answer has the likelihoods of the options' texts."""
    asked = dialogue(question, lambda turn: Reply(reply if turn.step == "answer" else "A"), protocol=protocol)
    values = {label: Continuation(-1.0 if label == likeliest else -2.0, 1) for label in question.labels}
    likelihoods = Reply("", continuations=values)
    turn = AnsweredTurn(question.id, len(asked), "likelihood", "p", (), question.labels, "k", likelihoods)
    return with_continuations([*asked, turn])


@pytest.mark.parametrize("protocol", ["single_turn", "forced_choice"])
def test_without_the_forced_answer_only_the_metrics_that_need_it_are_undefined(protocol):
    """Of a Know question that is refused and a Basic one that is right, by the likelihood of the options' texts."""
    know, basic = ask("k", KNOW), ask("b", BASIC)
    pairs = [(know, by_text(know, "C", "C", protocol)), (basic, by_text(basic, "A", "A", protocol))]
    table = answers_of({ORIGINAL: pairs}, ("robust", "option_text"))
    metrics = metrics_of(table, 0.95, model="m", benchmark="mmsap")
    reason = "1 of 1 refused questions have no answer without the refusal option"
    for name in NEED_THE_FORCED_ANSWER:
        found = pick(metrics, name, parser="option_text")
        assert (found.value, found.reason) == (None, reason), name
    for name in ("accuracy", "score_kk", "answer_rate", "score_AR"):
        expected = {"score_AR": 1.0}.get(name, 0.5)  # the refusal counts in score_AR alone
        assert pick(metrics, name, parser="option_text").value == expected, name
    robust = pick(metrics, "score_ku")
    assert (robust.value, robust.reason) == ((0, None) if protocol == "forced_choice" else (None, reason))


def percent(metrics: list[Metric], name: str, **where: object) -> float:
    return round(100 * pick(metrics, name, **where).value, 2)


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> list[Metric]:
    return by_respondent(tmp_path_factory.mktemp("oracle"), "oracle")


@pytest.mark.parametrize("parser", ["official", "robust", "likelihood"])
def test_the_oracle_has_the_papers_sizes(oracle, parser):
    scores = ("score_kk", "score_ku", "score_sa", "score_AR", "score_KK")
    assert [percent(oracle, name, parser=parser) for name in scores] == [65.22, 34.78, 100, 100, 100]
    assert percent(oracle, "score_KU", parser=parser) == round(100 * 400 / 750, 2)
    if parser == "likelihood":  # the 75 that it knows are its surest; then comes one wrong answer after the other
        expected = sum((k - 75) / k for k in range(76, 116)) / 115
        assert pick(oracle, "aurc", parser=parser).value == pytest.approx(expected)
        assert pick(oracle, "operating_risk", parser=parser).value == 0
        assert percent(oracle, "operating_coverage", parser=parser) == 65.22


def test_always_refuse_has_score_kk_0_and_no_right_forced_choice(tmp_path):
    metrics = by_respondent(tmp_path, "always_refuse")
    assert pick(metrics, "score_kk").value == 0
    assert pick(metrics, "score_ku").value == pytest.approx((400 + 350) / 1150)
    assert pick(metrics, "score_AR").value == pytest.approx((350 + 400) / 1150)
    assert pick(metrics, "refusal_number", category=KNOW).value == pytest.approx(35)
    assert pick(metrics, "forced_unread").value == 1
    assert pick(metrics, "answer_accuracy").value is None


def test_scores_of_always_a(tmp_path):
    """Of 40, 35 and 40 questions, A refuses a fifth; of the others a quarter have it right."""
    metrics = by_respondent(tmp_path, "always_a")
    right = sum(q.answer == 0 and q.answer != q.refusal for q in PAPER)
    refused = {subset: sum(q.refusal == 0 and q.extra["subset"] == subset for q in PAPER) for subset in (KNOW, BEYOND)}
    assert refused == {KNOW: 7, BEYOND: 8}
    assert pick(metrics, "score_kk").value == pytest.approx(right / 115)
    # asked again without A, it says A once more, which is not on offer
    assert pick(metrics, "score_ku").value == pytest.approx((7 + 8) / 115)


def test_images_without_content_make_every_question_unknown(tmp_path):
    metrics = by_respondent(tmp_path, "always_refuse", variant="blank", questions=benchmark(20, 20, 20))
    where = {"variant": "blank", "parser": "official"}
    assert pick(metrics, "score_ku", **where).value == 1
    assert pick(metrics, "score_KK", **where).value is None
    assert pick(metrics, "quadrant_known_unknown", **where).value == 1


def answers(cells: dict[tuple[str, int], list[Question]], say) -> pd.DataFrame:
    def of(q: Question) -> tuple[Question, list[AnsweredTurn]]:
        return q, dialogue(q, lambda turn: say(q, turn))

    pairs = {cell: [of(q) for q in questions] for cell, questions in cells.items()}
    return answers_of(pairs, ("official", "likelihood"))


def test_the_interval_is_of_questions_and_shuffles_together():
    """Questions are right with a probability of their own, anew under each of five shuffles: the mean's variance is
    (Var p + E p(1 - p) / 5) / n, and the interval must be as wide as that says."""
    generator, questions = random.Random(7), [ask(str(n), BASIC) for n in range(400)]
    chances = {q.id: generator.betavariate(1.2, 0.8) for q in questions}
    found = answers(
        {Cell("shuffled_options", seed): questions for seed in range(5)},
        lambda q, _: Reply("AB"[generator.random() > chances[q.id]]),
    )
    metrics = metrics_of(found, 0.95, model="m", benchmark="mmsap")
    pooled = pick(metrics, "score_kk", variant="shuffled_options", seed=None, parser="official")
    p = np.array(list(chances.values()))
    expected = np.sqrt((p.var() + (p * (1 - p)).mean() / 5) / 400)
    width = (pooled.high - pooled.low) / (2 * stats.norm.ppf(0.975))
    assert width == pytest.approx(expected, rel=0.1)
    assert pooled.spread == pytest.approx(
        np.std(
            [pick(metrics, "score_kk", variant="shuffled_options", seed=s, parser="official").value for s in range(5)],
            ddof=1,
        )
    )


OUTCOMES = st.lists(
    st.tuples(
        st.sampled_from([BASIC, KNOW, BEYOND]),
        st.sampled_from(["A", "B", "C", "Hm", None]),
        st.sampled_from(["A", "B", "?", None]),
        st.sampled_from([0.05, 0.3, 0.6, None]),
        st.sampled_from(["Color", "Food"]),
        st.integers(0, 6),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=25, deadline=None)
@given(OUTCOMES, st.randoms(use_true_random=False))
def test_what_holds_for_any_replies(drawn, generator):
    said, questions = {}, []
    for n, (subset, first, second, refusal, category, group) in enumerate(drawn):
        questions.append(ask(str(n), subset, category=category, group=f"g{group}"))
        odds = {} if refusal is None else {"A": 0.6 - refusal / 2, "B": 0.4 - refusal / 2, "C": refusal}
        replies = {"answer": (first, odds), "forced": (second, {} if refusal is None else {"A": 0.4, "B": 0.6})}
        said[questions[-1].id] = {
            step: Reply("", error="no") if text is None else says(text, **odds)
            for step, (text, odds) in replies.items()
        }

    def measure(order: list[Question]) -> dict[tuple[str, str, str], Metric]:
        table = answers({Cell("original", 0): order}, lambda q, turn: said[q.id][turn.step])
        metrics = metrics_of(table, 0.95, model="m", benchmark="mmsap")
        return {(m.parser, m.category, m.name): m for m in metrics}

    found = measure(questions)
    for parser, category in {key[:2] for key in found}:
        value = {name: metric.value for (s, c, name), metric in found.items() if (s, c) == (parser, category)}
        if value["score_sa"] is None:
            assert parser == "likelihood"  # no reply has log-probabilities
            continue
        assert value["score_sa"] == pytest.approx(value["score_kk"] + value["score_ku"])
        assert value["score_kk"] <= value["score_AR"] + 1e-12  # a right answer is always an aware one
        quadrants = [value[f"quadrant_{name}"] for name in (*QUADRANTS, "abstained", "unread")]
        assert sum(part or 0.0 for part in quadrants) == pytest.approx(1)  # an abstention can be impossible
        assert value["quadrant_known_known"] + value["quadrant_known_unknown"] == pytest.approx(value["score_sa"])
        if value.get("aurc") is not None:
            assert 0 <= value["aurc"] <= 1
    for key, metric in measure(generator.sample(questions, len(questions))).items():
        for bound in ("value", "low", "high"):
            expected = getattr(found[key], bound)
            assert getattr(metric, bound) == (None if expected is None else pytest.approx(expected, abs=1e-12)), key


def test_replies_that_abstain_or_were_cut_are_neither_refused_nor_asked_again():
    """Basic: abstained. Know: abstained, cut. Beyond: abstained. None is c or r, so that all count as answered."""
    asked = [ask("b1", BASIC), ask("k1", KNOW), ask("k2", KNOW), ask("y1", BEYOND)]
    outcomes = [ABSTAINED, ABSTAINED, CUT, ABSTAINED]
    scores = [Score(q.id, 0, "answer", "robust", o, None, None, False) for q, o in zip(asked, outcomes, strict=True)]
    found = {
        name: (float(np.sum(ratio.numerator)), float(np.sum(ratio.denominator)))
        for name, ratio in METRICS.ratios(cell_of(list(zip(asked, scores, strict=True)))).items()
    }
    assert found["score_sa"] == (0, 4) and found["answer_rate"] == (4, 4) and found["answer_accuracy"] == (0, 4)
    assert found["quadrant_abstained"] == (3, 4) and found["quadrant_unread"] == (1, 4)
    assert found["operating_coverage"] == (0, 4) and found["refusal_share"] == (0, 2)
