"""The sources of confidence in tables and rows of metrics, from replies written by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from known_unknowns import tables
from known_unknowns.benchmark.protocol import FORCED
from known_unknowns.config import RespondentModel
from known_unknowns.data.variant_tables import vary
from known_unknowns.engines.respondents import Respondent
from known_unknowns.metrics.answers import cells_of, complete, confidences
from known_unknowns.metrics.confidence_sources import confidence_table, metrics_of_sources
from known_unknowns.metrics.measure import metrics_of
from known_unknowns.records import ABSTAINED, OVERALL, AnswerKey, Cell, Metric, Reply, Turn
from known_unknowns.scoring.table import parse
from known_unknowns.tables.confidence_sources import COLUMNS, low_mass
from tests.asked_and_measured import infer, measure
from tests.factories import params_from, question, variant_entry, with_keys
from tests.unit.metrics.answered import answers_of, dialogue, measured, params, pick, write

ORIGINAL = Cell("original", 0)


def reply(label: str, share: float = 0.9, mass: float = 1.0) -> Reply:
    """A reply with a label of this share of the labels' probability; the others share the rest."""
    shares = {each: mass * (share if each == label else (1 - share) / 4) for each in "ABCDE"}
    return Reply(label, {each: math.log(value) for each, value in shares.items()})


def answers(dialogues: list[list[tuple[str, Reply]]], right: Sequence[int] = ()) -> pd.DataFrame:
    """The answers to one question per dialogue, of which A is right, or the option at the place in ``right``."""
    asked = [question(str(n), right[n] if right else 0, group=f"g{n}") for n in range(len(dialogues))]
    return answers_of({ORIGINAL: [(q, dialogue(q, of_one)) for q, of_one in zip(asked, dialogues, strict=True)]})


def test_letters_are_measured_over_attempts_alone(tmp_path):
    """Three attempts, of which one is wrong, and a refusal; the confidences are 0.9, 0.6 and 0.8."""
    asked = [question(str(i), 0, group=f"g{i}") for i in range(4)]
    replies = [reply("A"), reply("A", 0.6), reply("B", 0.8), reply("E")]
    metrics = measured(tmp_path, {ORIGINAL: list(zip(asked, replies, strict=True))})
    auroc = pick(metrics, "auroc.letters")
    assert (auroc.value, auroc.n) == (pytest.approx(1 / 2), 3)
    assert pick(metrics, "known.letters").value == 1
    assert pick(metrics, "overconfidence.letters").value == pytest.approx(2.3 / 3 - 2 / 3)
    assert {m.category for m in metrics if "." in m.name} == {OVERALL}
    assert {m.parser for m in metrics if "." in m.name} == {"robust"}


def test_a_source_without_a_value_has_one_row_with_the_reason(tmp_path):
    asked = [(question(str(i), 0, group=f"g{i}"), Reply("A")) for i in range(3)]
    metrics = measured(tmp_path, {ORIGINAL: asked, Cell("original", 1): asked})
    for source, reason in {
        "option_text": "not asked: confidence: [option_text] of the edition in params.yaml asks for it",
        "letters": "no label has a probability",
        "verbalised": "not asked: confidence: [verbalised] of the edition in params.yaml asks for it",
        "samples": "fewer than 3 replies to each question; samples in params.yaml asks for more",
    }.items():
        rows = [m for m in metrics if m.name.endswith(f".{source}")]
        assert {(m.seed, m.name, m.value, m.reason) for m in rows} == {
            (seed, f"known.{source}", None, reason) for seed in (0, 1, None)
        }


def test_labels_with_little_probability_are_no_confidence(tmp_path):
    asked = [(question(str(i), 0, group=f"g{i}"), reply("A", mass=0.02)) for i in range(3)]
    metrics = measured(tmp_path, {ORIGINAL: asked})
    assert pick(metrics, "known.letters").reason == pick(metrics, "accuracy", parser="likelihood").reason
    assert "2.0% of the probability" in pick(metrics, "known.letters").reason
    assert low_mass([]) == ""


def worded(label: str, share: float) -> Reply:
    return replace(reply(label, share), text=f"yellow {label}")


def test_replies_whose_label_follows_other_text_are_left_out(tmp_path):
    """A is right. Of 5 attempts, 3 begin with a label: right with 0.9, wrong with 0.8, right with 0.7."""
    replies = [reply("A", 0.9), reply("B", 0.8), reply("A", 0.7), worded("B", 0.99), worded("A", 0.99)]
    pairs = [(question(str(i), 0, group=f"g{i}"), each) for i, each in enumerate(replies)]
    metrics = measured(tmp_path, {ORIGINAL: pairs})
    auroc, accuracy = pick(metrics, "auroc.letters"), pick(metrics, "accuracy", parser="likelihood")
    assert (auroc.value, auroc.n) == (1 / 2, 3)
    assert pick(metrics, "label_follows_text.letters").value == 2 / 5
    assert (accuracy.value, accuracy.n, accuracy.denominator) == (2 / 3, 5, 3)
    assert accuracy.method.endswith("; 2 of 5 replies left out: the label follows other text")
    assert pick(metrics, "label_follows_text", parser="likelihood").value == 2 / 5
    assert pick(metrics, "share_unparsed", parser="likelihood").value == 0
    assert pick(metrics, "accuracy").value == 3 / 5  # the parsers of the text read all replies


def test_without_a_reply_that_begins_with_a_label_the_numbers_are_null(tmp_path):
    pairs = [(question(str(i), 0, group=f"g{i}"), worded("A", 0.9)) for i in range(3)]
    metrics = measured(tmp_path, {ORIGINAL: pairs})
    for found in (pick(metrics, "accuracy", parser="likelihood"), pick(metrics, "known.letters")):
        assert (found.value, found.reason) == (None, "the label follows other text")


def test_undefined_metrics_say_why(tmp_path):
    asked = [(question(str(i), 0, group=f"g{i}"), reply("A")) for i in range(3)]
    found = pick(measured(tmp_path, {ORIGINAL: asked}), "auroc.letters")
    assert (found.value, found.method) == (
        None,
        "undefined: no answer is wrong",
    ) and found.reason == "no answer is wrong"


def test_samples_of_one_seed_agree_and_replies_with_other_seeds_are_no_samples():
    asked = question("1", 0)
    pairs = [(asked, dialogue(asked, [("answer", Reply("A"))]))]
    samples = answers_of({Cell("original", 0, sample): pairs for sample in (0, 1, 2)})
    assert samples["samples"].tolist() == [1, 1, 1]
    seeds = answers_of({Cell("original", seed): pairs for seed in (0, 1, 2)})
    assert seeds["samples"].isna().all()


def test_failed_replies_do_not_count_and_abstentions_agree_with_nothing():
    """Of the two other replies to each A, one is an A."""
    texts = ["A", "I cannot tell.", None, "A"]
    replies = [Reply("", error="timeout") if text is None else Reply(text) for text in texts]
    asked = question("1", 0)
    cells = {Cell("original", 0, n): [(asked, dialogue(asked, [("answer", each)]))] for n, each in enumerate(replies)}
    found = answers_of(cells)
    assert found["outcome"][1] == ABSTAINED
    assert found["samples"].tolist() == pytest.approx([1 / 2, np.nan, np.nan, 1 / 2], nan_ok=True)


def test_two_replies_are_no_confidence():
    """One other reply agrees or does not. A failed reply does not count."""
    asked = question("1", 0)
    replies = [Reply("A"), Reply("A"), Reply("", error="timeout")]
    cells = {Cell("original", 0, n): [(asked, dialogue(asked, [("answer", each)]))] for n, each in enumerate(replies)}
    assert answers_of(cells)["samples"].isna().all()


QUESTIONS, SAMPLES = 150, 5


def calibrated_answers(source: str, random: np.random.Generator) -> pd.DataFrame:
    """Answers to A or B with a calibrated confidence: A is given, and is right, with a probability of its own."""
    probability = random.uniform(0.2, 1.0, QUESTIONS)
    right = np.where(random.random(QUESTIONS) < probability, "A", "B")
    of_samples = []
    for sample in range(SAMPLES if source == "samples" else 1):
        given = np.where(random.random(QUESTIONS) < probability, "A", "B")
        columns = {"variant": "original", "seed": 0, "sample": sample, "parser": "robust", "outcome": "answered"}
        of_sample = pd.DataFrame(columns | {"question_id": [str(n) for n in range(QUESTIONS)], "chosen_text": given})
        of_sample["correct"] = given == right
        if source != "samples":
            of_sample[source] = np.where(given == "A", probability, 1 - probability)
        of_samples.append(of_sample)
    found = pd.concat(of_samples, ignore_index=True)
    return found.assign(choice=0, group=found["question_id"].astype("category"), would_be_right=found["correct"])


@pytest.mark.parametrize("source", ["option_text", "option_text_sum", "letters", "samples", "verbalised"])
def test_a_calibrated_respondent_is_neither_over_nor_underconfident(source):
    random, runs = np.random.default_rng(1), 60
    values, covered = [], 0
    for _ in range(runs):
        table = complete(calibrated_answers(source, random))
        missing = {name: np.nan for name in COLUMNS if name not in table}
        cells = cells_of(
            table.assign(
                **missing,
                label_mass=None,
                label_follows_text=False,
                refusal_is_correct=False,
                chance=0.5,
                option_text_error=None,
                verbalised_error=None,
            )
        )
        blank = Metric("m", "b", "original", None, None, "robust", "", "", None, None, None, 0, "")
        found = list(metrics_of_sources(blank, cells["original"]["robust"], 0.95))
        of_run = next(m for m in reversed(found) if m.name == f"overconfidence.{source}")
        values.append(of_run.value)
        covered += of_run.low <= 0 <= of_run.high
    error = np.std(values) / math.sqrt(runs)
    assert abs(np.mean(values)) < 3.3 * error
    assert covered >= 52  # of 60 runs, 57 with a standard deviation of 1.7


def test_what_a_refusal_would_have_answered():
    """A refusal is right or wrong by its forced choice, and wrong where the refusal is the right answer."""
    refuse, forced = ("answer", Reply("E")), (FORCED, Reply("A"))
    dialogues = [[refuse, forced], [refuse, (FORCED, Reply("B"))], [refuse], [refuse], [("answer", Reply("A"))]]
    found = answers(dialogues, right=[0, 0, 4, 0, 0])
    assert found["would_be_right"].tolist() == pytest.approx([1, 0, 0, np.nan, 1], nan_ok=True)
    assert found["refusal"].tolist() == [0, 0, 0, 0, 1]


ATTEMPTS = [[("answer", Reply("A"))], [("answer", Reply("B"))]]
REFUSED, WRONG = [("answer", Reply("E"))], [("answer", Reply("E")), (FORCED, Reply("B"))]


def of_refusals(dialogues, **settings) -> dict[str, Metric]:
    settings = {"benchmark": "humblebench", "asks_again": {"original"}} | settings
    metrics = metrics_of(answers(dialogues), 0.95, model="m", **settings)
    return {m.name: m for m in metrics if m.name.endswith(".refusal")}


def test_refusals_without_an_answer_give_bounds():
    """Two attempts, of which one is wrong; a refusal that would be wrong; and one that was not asked again."""
    found = of_refusals([*ATTEMPTS, WRONG, REFUSED])
    recall = [found[f"abstention_recall_{bound}_bound.refusal"] for bound in ("low", "high")]
    assert [(m.value, m.n, m.denominator) for m in recall] == [(1 / 2, 4, 2), (2 / 3, 4, 3)]
    gain = [found[f"selective_gain_{bound}_bound.refusal"] for bound in ("low", "high")]
    assert [m.value for m in gain] == pytest.approx([1 / 2 - 2 / 4, 1 / 2 - 1 / 4])
    assert all(m.method.endswith("; a bound: 1 of 2 refusals have no known answer") for m in (*recall, *gain))
    assert (found["known.refusal"].value, found["known.refusal"].denominator) == (1 / 2, 2)


def test_bounds_are_equal_if_every_refusal_was_asked_again():
    found = of_refusals([*ATTEMPTS, WRONG])
    for name in ("abstention_recall", "auroc", "selective_gain"):
        low, high = (found[f"{name}_{bound}_bound.refusal"] for bound in ("low", "high"))
        assert low.value == high.value and "a bound" not in low.method
    assert found["known.refusal"].value == 1


def test_refusals_are_not_judged_where_no_question_is_asked_again():
    (missing,) = of_refusals([*ATTEMPTS, REFUSED], asks_again=()).values()
    assert (missing.name, missing.value) == ("known.refusal", None)
    assert "no refused question is asked again" in missing.method


def test_refusals_are_not_judged_where_every_answer_is_wrong():
    found = answers([ATTEMPTS[0], REFUSED, REFUSED], right=[4, 4, 4])
    metrics = metrics_of(found, 0.95, model="m", benchmark="humblebench", asks_again={"original"})
    assert [(m.name, m.value) for m in metrics if m.name.endswith(".refusal")] == [("known.refusal", None)]


def test_the_protocol_decides_whether_a_question_is_asked_again(tmp_path):
    """The model refuses nothing and is always right: no answer is wrong, and it gained nothing by refusing."""
    pairs = [(question(str(i), 0, group=f"g{i}"), Reply("A")) for i in range(3)]
    write(tmp_path, {ORIGINAL: pairs})
    for protocol, names in (("single_turn", 1), ("forced_choice", 7)):
        chosen = {"benchmarks__humblebench__protocol": protocol, f"protocols__{protocol}": {}}
        settings = with_keys(params(["original"], [0]), **chosen)
        out = tmp_path / "metrics.parquet"
        measure(settings, "m", "humblebench", answers=tmp_path / "answers.parquet", out=out)
        found = [m for m in tables.read_metrics(out) if m.name.endswith(".refusal")]
        assert len(found) == names, protocol
    assert pick(found, "selective_gain_low_bound.refusal").value == 0
    assert pick(found, "abstention_recall_high_bound.refusal").value is None


def test_the_table_has_null_for_what_is_unknown():
    rows = confidence_table(answers([[("answer", reply("A"))], [("answer", reply("E"))]]))
    first, second = rows.astype(object).where(rows.notna(), None).to_dict("records")
    assert first["letters"] == pytest.approx(0.9)
    assert (first["attempted"], first["correct"], first["would_be_right"], first["refusal"]) == (True, True, True, 1)
    assert (second["attempted"], second["would_be_right"], second["refusal"]) == (False, None, 0)
    assert first["samples"] is None and first["option_text"] is None


def test_no_confidences_without_the_robust_parser(tmp_path):
    pairs = {ORIGINAL: [(question("1", 0), Reply("A"))]}
    write(tmp_path, pairs)
    settings = params(["original"], [0], parsers=["official"])
    out = tmp_path / "metrics.parquet"
    measure(settings, "m", "humblebench", answers=tmp_path / "answers.parquet", out=out)
    assert not any("." in metric.name for metric in tables.read_metrics(out))


@pytest.mark.parametrize("behaviour", ["calibrated", "overconfident", "uninformative"])
def test_a_scripted_respondent_refuses_where_that_is_right(behaviour):
    """Else only its wrong replies to such questions would be attempts."""
    entry = RespondentModel(engine="respondent", behaviour=behaviour)
    turns = [Turn(str(number), "answer", (), tuple("ABCDE")) for number in range(50)]
    keys = [AnswerKey("E", "E")] * len(turns)
    (batch,) = Respondent("m", entry).answer_with_keys(turns, keys, folder=Path())
    assert {reply.text for _, reply in batch} == {"E"}


@pytest.mark.parametrize("behaviour", ["calibrated", "overconfident", "uninformative"])
def test_a_scripted_respondent_has_the_calibration_that_it_was_written_with(tmp_path, behaviour):
    """Confidences are 1% to 99%, of the overconfident one 25% to 99%: right 25 points less often than it says."""
    raw = params(["original"], [0], parsers=["robust"]).file.plain()
    raw["editions"] = {"pocket": raw["editions"]["pocket"] | {"confidence": ["option_text", "verbalised"]}}
    settings = params_from(raw | {"models": {"m": {"engine": "respondent", "behaviour": behaviour}}})
    asked = [question(str(number), number % 4, group=f"g{number}") for number in range(1200)]
    tables.write_questions(tmp_path / "questions.parquet", asked)
    folder, out = tmp_path / "variants", tmp_path / "replies"
    vary(variant_entry("original"), tmp_path / "questions.parquet", folder / "original.parquet", seeds=[0])
    infer(settings, "m", "humblebench", questions=tmp_path, variants=folder, out=out, journal=tmp_path / "m.jsonl")
    replies, answers = out / "replies.parquet", tmp_path / "answers.parquet"
    parse(folder, replies, answers, cells=[Cell("original", 0)], parsers=["robust"])
    measure(settings, "m", "humblebench", answers=answers, out=tmp_path / "metrics.parquet")
    metrics = tables.read_metrics(tmp_path / "metrics.parquet")
    for source in ("letters", "option_text", "verbalised"):
        found = {m.name.partition(".")[0]: m for m in metrics if m.name.endswith(f".{source}")}
        assert found["auroc"].n == 1200, source
        gap = {"calibrated": 0.0, "overconfident": 0.25}.get(behaviour)
        if gap is None:
            assert found["auroc"].low <= 0.5 <= found["auroc"].high
            assert found["auroc"].value == pytest.approx(0.5, abs=0.05)
        else:
            assert found["ece"].value == pytest.approx(gap, abs=0.05), source
            assert found["overconfidence"].low <= gap + 0.01 and found["overconfidence"].high >= gap - 0.01
            assert found["auroc"].value > 0.75
    rows = confidences(answers, "humblebench")
    assert np.allclose(rows.letters, rows.verbalised, atol=1e-5)
