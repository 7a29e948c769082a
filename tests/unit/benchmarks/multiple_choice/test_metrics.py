"""The metrics, by hand, and the questions that a variant leaves out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from known_unknowns import tables
from known_unknowns.data.variant_tables import vary
from known_unknowns.errors import DataError
from known_unknowns.metrics.selective import aurc
from known_unknowns.records import ANSWERED, REFUSED, UNPARSED, Cell, Option, Question, Reply, Score
from known_unknowns_benchmarks.multiple_choice.metrics import METRICS
from tests.factories import question as published
from tests.factories import variant_entry
from tests.unit.benchmarks.multiple_choice.own_files import BENCHMARK, load, own_folder, row
from tests.unit.metrics.answered import answers_of, cell_of, dialogue, only_cell


def question(identifier: str, answer: int = 0, refusal: int | None = 2) -> Question:
    options = tuple(Option(label, text, f"{label}. ") for label, text in zip("ABC", ("x", "y", "z"), strict=True))
    return replace(published(identifier), benchmark="multiple_choice", options=options, answer=answer, refusal=refusal)


def score(asked: Question, outcome: str, *, correct: bool = False) -> Score:
    return Score(asked.id, 0, "answer", "robust", outcome, None, None, correct)


def test_forced_choices():
    """Of 4 answerable questions with a refusal, 3 are refused; forced, one is right, one wrong, one unparsed."""
    questions = [question("1"), question("2"), question("3"), question("4"), question("5", 2), question("6", 0, None)]
    given = [(REFUSED, False)] * 3 + [(ANSWERED, True), (REFUSED, True), (ANSWERED, False)]
    scores = [(q, score(q, outcome, correct=right)) for q, (outcome, right) in zip(questions, given, strict=True)]
    again = [(ANSWERED, True), (ANSWERED, False), (UNPARSED, False)]
    forced = {
        q.id: replace(score(q, outcome, correct=right), turn=1, step="forced")
        for q, (outcome, right) in zip(questions[:3], again, strict=True)
    }
    ratios = METRICS.ratios(cell_of(scores, forced))
    found = {name: (r.numerator.sum(), r.denominator.sum()) for name, r in ratios.items()}
    assert found == {"refused_and_known": (1, 4), "known_of_refused": (1, 3), "forced_unread": (1, 3)}
    single_turn = METRICS.ratios(cell_of(scores))
    reason = "not every refused question has an answer without the refusal option"
    assert {ratio.reason for ratio in single_turn.values()} == {reason}  # undefined, not 0


def test_risk_and_coverage():
    """The confidence is the share of the best answer: 0.6 (right), 0.5 (wrong), 0.3 (right); one reply has none."""

    def answered(**shares: float) -> Reply:
        return Reply("", logprobs={label: math.log(share) for label, share in shares.items()} or None)

    replies = [answered(A=0.3, B=0.1, C=0.6), answered(A=0.1, B=0.5, C=0.4), answered(A=0.6, B=0.2, C=0.2), answered()]
    questions = [question(str(number)) for number in range(4)]
    pairs = [(q, dialogue(q, [("answer", reply)])) for q, reply in zip(questions, replies, strict=True)]
    answers = answers_of({Cell("original", 0): pairs}, ["likelihood", "robust"])
    curve = METRICS.curves(only_cell(answers, "likelihood"))["aurc"]
    assert np.exp(curve.confidence[:3]) == pytest.approx([0.3, 0.5, 0.6])
    assert np.isnan(curve.confidence[3]) and curve.wrong.tolist() == [0, 1, 0, 1]
    assert aurc(curve) == pytest.approx((0 + 1 / 2 + 1 / 3 + 2 / 4) / 4)
    assert METRICS.curves(only_cell(answers, "robust")) == {}


def test_a_variant_leaves_out_the_questions_that_it_does_not_fit(tmp_path, capsys):
    rows = [row(0), row(1, D="Yellow"), row(2, image="")]
    questions = load(own_folder(tmp_path / "own", rows), tmp_path / "out", without_image=True)
    table, out = tmp_path / "questions.parquet", tmp_path / "varied.parquet"
    tables.write_questions(table, questions)

    def kept(function: str) -> list[str]:
        vary(variant_entry(function), table, out, seeds=[0])
        return [varied.id for varied in tables.read_questions(out)]

    assert kept("original") == ["q0", "q1", "q2"]
    capsys.readouterr()
    assert kept("nota_only") == ["q0", "q2"]
    assert capsys.readouterr().err == "1 of 3 questions are left out: they lack a refusal option\n"
    assert kept("noise") == kept("text_only") == ["q0", "q1"]
    tables.write_questions(table, [questions[1]])
    with pytest.raises(DataError, match="no question has a refusal option, which the variant needs"):
        kept("nota_only")


def test_the_refusal_prompt_names_the_label_of_the_refusal(tmp_path):
    with_refusal, without = load(own_folder(tmp_path / "own", [row(0), row(1, D="Yellow")]), tmp_path / "out")
    prompt, inviting = BENCHMARK.prompt, BENCHMARK.refusal_prompt
    assert inviting(with_refusal) == prompt(with_refusal) + " If you do not know the answer, answer with D."
    assert inviting(without) == prompt(without)
