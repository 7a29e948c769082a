"""The three accuracies under circular evaluation, by hand and for scripted respondents."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import yaml

from known_unknowns import tables
from known_unknowns.records import ABSTAINED, CUT, AnsweredTurn, Cell, Reply, Score
from known_unknowns.scoring.table import parse
from known_unknowns.variants import apply
from known_unknowns.variants.of_benchmark import variants_of
from known_unknowns.workflow import configuration
from known_unknowns_benchmarks.mm_upd import prompts
from known_unknowns_benchmarks.mm_upd.loader import load
from known_unknowns_benchmarks.mm_upd.metrics import METRICS
from tests.asked_and_measured import infer, measure
from tests.paths import ROOT
from tests.unit.benchmarks.mm_upd.published_files import write
from tests.unit.metrics.answered import answers_of, cell_of, only_cell

PARSERS = ["official", "robust", "likelihood"]
SETTINGS = ["mm_upd_base", "original", "mm_upd_instruction"]


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mm_upd")
    return list(load(write(folder / "raw"), folder / "questions"))


def cell(questions, replies: dict[str, str], parser: str) -> pd.DataFrame:
    """The replies by question id in the base setting; the right letter if there is none."""
    pairs = []
    for question in questions:
        text = replies.get(question.id, question.labels[question.answer])
        prompt = prompts.base(question)
        pairs.append(
            (question, [AnsweredTurn(question.id, 0, "answer", prompt, (), question.labels, "k", Reply(text))])
        )
    return only_cell(answers_of({Cell("original", 0): pairs}, [parser]))


def values(cell: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Numerator and denominator of every metric."""
    found = METRICS.ratios(cell)
    return {name: (np.sum(ratio.numerator), np.sum(ratio.denominator)) for name, ratio in found.items()}


def test_one_wrong_pass_fails_the_question_and_its_pair(questions):
    # A standard pass of AAD is answered with another option; an unsolvable pass of IASD with one of the options.
    found = values(cell(questions, {"AAD-standard-1000241": "C", "IASD-upd-241": "A. Father and daughter"}, "official"))
    assert found["circular_standard"] == (2, 3)
    assert found["circular_upd"] == (2, 3)
    assert found["circular_dual"] == (1, 3)


def test_free_text_is_open_to_the_released_matching_and_decided_by_the_robust_parser(questions):
    replies = {"AAD-upd-241": "It is rainy.", "IVQD-upd-241": "I see no clouds, so it is sunny."}
    official, robust = (values(cell(questions, replies, parser)) for parser in ("official", "robust"))
    assert official["circular_upd"] == (1, 3) and official["circular_upd_high_bound"] == (3, 3)
    assert official["fraction_without_letter"] == robust["fraction_without_letter"] == (2, 17)
    assert robust["circular_upd"] == (2, 3)  # the masked answer is right; "sunny" is an option


def test_only_unsolvable_questions_can_be_right_where_a_reply_abstains(questions):
    """A cut reply can be right in any pass, one that abstains only where an answer is to be withheld."""

    def bounds(identifier: str, outcome: str) -> tuple[tuple[float, float], tuple[float, float]]:
        scores = []
        for q in questions:
            found = Score(q.id, 0, "answer", "likelihood", "answered", q.labels[q.answer], q.answer, True)
            if q.id == identifier:
                found = Score(q.id, 0, "answer", "likelihood", outcome, None, None, False)
            scores.append((q, found))
        found = values(cell_of(scores, text="?"))
        return found["circular_standard_high_bound"], found["circular_upd_high_bound"]

    assert bounds("AAD-standard-241", ABSTAINED) == ((2, 3), (3, 3))
    assert bounds("AAD-upd-241", ABSTAINED) == ((3, 3), (3, 3))
    assert bounds("AAD-standard-241", CUT) == ((3, 3), (3, 3))


def test_a_problem_with_a_pass_that_is_left_out_counts_in_none_of_its_accuracies(questions):
    """The right label has the probability 0.9 in all passes; in two of the three problems, one pass begins with text.

    The standard question of AAD and the unsolvable one of IASD are left out, and both pairs. IVQD remains.
    """
    worded = ("AAD-standard-1000241", "IASD-upd-241")
    pairs = []
    for question in questions:
        right = question.labels[question.answer]
        others = len(question.labels) - 1
        logprobs = {label: math.log(0.9 if label == right else 0.1 / others) for label in question.labels}
        text = f"The answer is {right}" if question.id in worded else right
        reply = Reply(text, logprobs)
        prompt = prompts.base(question)
        pairs.append((question, [AnsweredTurn(question.id, 0, "answer", prompt, (), question.labels, "k", reply)]))
    answers = answers_of({Cell("original", 0): pairs}, ["robust", "likelihood"])
    robust, likelihood = (values(only_cell(answers, parser)) for parser in ("robust", "likelihood"))
    for suffix in ("", "_high_bound"):
        assert likelihood[f"circular_standard{suffix}"] == (2, 2)
        assert likelihood[f"circular_upd{suffix}"] == (2, 2)
        assert likelihood[f"circular_dual{suffix}"] == (1, 1)
        assert robust[f"circular_dual{suffix}"] == (3, 3)  # a parser of the text leaves nothing out


def test_refusals_of_standard_questions_are_counted(questions):
    found = values(cell(questions, {"AAD-standard-241": "D"}, "official"))  # D is not shown: the released refusal
    assert found["standard_withheld"] == (1, 9)


def test_subsets_have_one_row_per_problem(questions):
    flags = METRICS.categories(cell(questions, {}, "official"))
    assert {name: int(rows.sum()) for name, rows in flags.items()} == {"AAD": 1, "IASD": 1, "IVQD": 1}


@pytest.mark.parametrize(
    ("model", "standard", "upd", "dual"),
    # always_a answers "rainy" in one of three passes of each standard question, and never withholds an answer.
    [("oracle", 1.0, 1.0, 1.0), ("always_refuse", 0.0, 1.0, 0.0), ("always_a", 0.0, 0.0, 0.0)],
)
def test_respondents_from_the_files_to_the_metrics(questions, tmp_path, model, standard, upd, dual):
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["edition"] = "pocket_mm_upd"
    params = configuration.check(raw)
    variants, out = tmp_path / "variants", tmp_path / "out"
    replies, answers = (out / f"{name}.parquet" for name in ("replies", "answers"))
    for variant in SETTINGS:
        entry = params.variant(variant)
        varied = [apply(entry, question, seed=0, known=variants_of("mm_upd")) for question in questions]
        assert len(varied) == 17
        tables.write_variant(variants / f"{variant}.parquet", {0: varied})
    journal = tmp_path / "j.jsonl"
    infer(params, model, "mm_upd", questions=tmp_path, variants=variants, out=out, journal=journal)
    parse(variants, replies, answers, cells=params.cells("mm_upd"), parsers=PARSERS)
    metrics = tmp_path / "metrics.parquet"
    measure(params, model, "mm_upd", answers=answers, out=metrics)
    names = ("circular_standard", "circular_upd", "circular_dual")
    found = {
        (m.variant, m.parser, m.category, m.name): (m.value, m.n)
        for m in tables.read_metrics(tmp_path / "metrics.parquet")
        if m.name in names and m.category in ("AAD", "IASD", "IVQD")
    }
    assert found == {
        (variant, parser, category, name): (value, 1)
        for variant in SETTINGS
        for parser in PARSERS
        for category in ("AAD", "IASD", "IVQD")
        for name, value in zip(names, (standard, upd, dual), strict=True)
    }
