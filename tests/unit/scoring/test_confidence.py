"""Confidences of a reply, the turns that ask for them, and respondents whose calibration is known."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from known_unknowns import engines
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.protocol import ANSWER, CONFIDENCE, FORCED, LIKELIHOOD
from known_unknowns.inference.bound_protocols import bound
from known_unknowns.inference.journal import Journal
from known_unknowns.inference.runner import run
from known_unknowns.records import AnsweredTurn, Cell, Continuation, Question, Reply, ResolvedProtocol, Turn
from known_unknowns.scoring.confidence import letters, option_text, verbalised
from known_unknowns.scoring.dialogues import score_turn
from known_unknowns.tables.confidence_sources import SOURCES
from tests.factories import PARSER_NAMES, model_entry, question

REPLIES = yaml.safe_load((Path(__file__).parent / "confidence_replies.yaml").read_text(encoding="utf-8"))
BOTH = ("option_text", "verbalised")


def said(text: str, **changes) -> AnsweredTurn:
    return AnsweredTurn("1", 1, CONFIDENCE, "", (), None, "", Reply(text, **changes))


def protocol(name: str = "single_turn", sources=BOTH, benchmark: str = "humblebench"):
    return bound(registry.get(benchmark), ResolvedProtocol.of(name=name), parsers=PARSER_NAMES, confidence=sources)


def test_the_parser_agrees_with_a_person_on_all_but_three_of_64_replies():
    """It reads no number where a person reads one in words or twice the same; never another number."""
    found = [(text, expected, verbalised(said(text))) for text, expected in REPLIES]
    apart = [text for text, expected, value in found if (None if value is None else round(100 * value, 9)) != expected]
    assert len(found) == 64
    assert apart == ["I would say 50-50.", "ninety percent", "Confidence: eighty-five"]
    assert all(verbalised(said(text)) is None for text in apart)


def test_a_failed_reply_says_no_number():
    assert verbalised(said("90", error="no connection")) is None


def test_letters_share_their_probability_if_they_have_half_of_it():
    turn = AnsweredTurn("1", 0, ANSWER, "", (), ("A", "B"), "", Reply("A", {"A": math.log(0.6), "B": math.log(0.2)}))
    assert letters(turn, question(), 0) == pytest.approx(0.75)
    assert letters(turn, question(), 1) == pytest.approx(0.25)
    assert letters(turn, question(), 4) is None  # not offered
    assert letters(turn, question(), None) is None
    rare = replace(turn, reply=Reply("A", {"A": math.log(0.3), "B": math.log(0.1)}))
    assert letters(rare, question(), 0) is None
    assert letters(replace(turn, reply=Reply("A")), question(), 0) is None


def test_the_likelihood_of_a_text_is_normalised_by_its_tokens_or_not():
    found = {"A": Continuation(-2.0, 1), "B": Continuation(-2.0, 2), "C": Continuation(-3.0, 3)}
    turn = AnsweredTurn("1", 1, LIKELIHOOD, "", (), None, "", Reply("", continuations=found))
    per_token = [math.exp(value) for value in (-2.0, -1.0, -1.0)]
    assert option_text(turn, question(), 1) == pytest.approx(per_token[1] / sum(per_token))
    sums = [math.exp(value) for value in (-2.0, -2.0, -3.0)]
    assert option_text(turn, question(), 1, normalise=False) == pytest.approx(sums[1] / sum(sums))
    assert option_text(turn, question(), 4) is None
    assert option_text(replace(turn, reply=Reply("", error="not supported")), question(), 1) is None
    assert option_text(replace(turn, reply=Reply("")), question(), 1) is None


def asked(dialogue, *replies: str | Reply) -> list[Turn]:
    """The turns of a dialogue that hears these replies."""
    turns = [next(dialogue)]
    for each in replies:
        try:
            turns.append(dialogue.send(each if isinstance(each, Reply) else Reply(each)))
        except StopIteration:
            break
    return turns


def test_confidences_are_asked_for_after_the_answer():
    answer, likelihood, confidence = asked(protocol()(question()), "B. Blue\n", "", "80%")
    assert [turn.step for turn in (answer, likelihood, confidence)] == [ANSWER, LIKELIHOOD, CONFIDENCE]
    assert likelihood == replace(
        answer,
        step=LIKELIHOOD,
        max_new_tokens=0,
        continuations=("Red", "Blue", "Black", "Gold", "None of the above"),
    )
    assert confidence.labels is None and confidence.images == answer.images
    assert confidence.text.startswith(answer.text + "\nPossible Answer: B. Blue\nQ: How likely is the above answer")
    assert "the probability of answer B. Blue to be correct" in confidence.text


def test_sources_are_asked_for_one_by_one_and_by_default_not_at_all():
    steps = [
        [turn.step for turn in asked(protocol(sources=sources)(question()), "B", "", "")]
        for sources in ((), ("option_text",), ("verbalised",))
    ]
    assert steps == [[ANSWER], [ANSWER, LIKELIHOOD], [ANSWER, CONFIDENCE]]


def test_a_forced_choice_keeps_its_place_and_the_first_answer_is_asked_about():
    turns = asked(protocol("forced_choice", benchmark="humblebench")(question()), "E", "A", "", "80%")
    assert [turn.step for turn in turns] == [ANSWER, FORCED, LIKELIHOOD, CONFIDENCE]
    assert turns[2].labels == turns[0].labels and "Possible Answer: E\n" in turns[3].text


def test_nothing_is_asked_after_a_failure_nor_the_likelihood_of_an_empty_text():
    assert len(asked(protocol()(question()), Reply("", error="no connection"), "")) == 1
    options = (*question().options[:4], replace(question().options[4], text=" "))
    turns = asked(protocol()(question(options=options)), "A", "80")
    assert [turn.step for turn in turns] == [ANSWER, CONFIDENCE]


def test_a_likelihood_is_the_same_for_every_sample():
    answer, likelihood = asked(protocol()(question()), "B")
    facts = {"engine": "transformers"}
    assert replace(likelihood, sample=3).key(facts) == likelihood.key(facts)
    assert replace(answer, sample=3).key(facts) != answer.key(facts)
    assert replace(likelihood, continuations=None).key(facts) != likelihood.key(facts)


@pytest.fixture(scope="module")
def confidences(tmp_path_factory) -> dict[str, list[tuple[bool, dict[str, float]]]]:
    """For each respondent, whether each of 2,000 answers is right, and its confidence by source."""
    asked_for = [question(str(number), number % 4) for number in range(2000)]
    found = {}
    for behaviour in ("calibrated", "overconfident", "uninformative"):
        engine = engines.create(behaviour, model_entry("respondent", behaviour=behaviour))
        with Journal(tmp_path_factory.mktemp("journal") / "j.jsonl") as journal:
            rows = run({Cell("original", 0): (protocol(), asked_for)}, engine, journal, folder=Path()).replies
        found[behaviour] = [
            _confidences(each, rows[Cell("original", 0)][3 * place : 3 * place + 3])
            for place, each in enumerate(asked_for)
        ]
    return found


def _confidences(asked_for: Question, turns: list[AnsweredTurn]) -> tuple[bool, dict[str, float]]:
    score = score_turn(turns[0], asked_for, "robust")
    assert score.choice is not None and turns[1].labels is None
    values = (letters(turns[0], asked_for, score.choice), option_text(turns[1], asked_for, score.choice))
    return score.correct, dict(zip(("letters", *BOTH), (*values, verbalised(turns[2])), strict=True))


@pytest.mark.parametrize("source", ["letters", *BOTH])
def test_respondents_have_the_calibration_of_their_name(confidences, source):
    assert source in SOURCES
    gaps = {}
    for behaviour, rows in confidences.items():
        right = [correct for correct, _ in rows]
        values = [found[source] for _, found in rows]
        gaps[behaviour] = sum(values) / len(rows) - sum(right) / len(rows)
        sure = [correct for correct, found in rows if found[source] >= 0.6]
        unsure = [correct for correct, found in rows if found[source] < 0.6]
        difference = sum(sure) / len(sure) - sum(unsure) / len(unsure)
        assert difference > 0.3 if behaviour != "uninformative" else abs(difference) < 0.06
    assert abs(gaps["calibrated"]) < 0.03
    assert gaps["overconfident"] == pytest.approx(0.25, abs=0.03)


def test_baselines_answer_the_turns_of_confidence(tmp_path):
    for behaviour, expected in (("oracle", 1.0), ("always_refuse", 0.0), ("always_a", None), ("uniform", None)):
        engine = engines.create(behaviour, model_entry("respondent", behaviour=behaviour))
        with Journal(tmp_path / f"{behaviour}.jsonl") as journal:
            rows = run({Cell("original", 0): (protocol(), [question()])}, engine, journal, folder=Path()).replies
        answer, likelihood, confidence = rows[Cell("original", 0)]
        choice = score_turn(answer, question(), "robust").choice
        assert option_text(likelihood, question(), choice) == pytest.approx(0.9, abs=1e-5)
        assert verbalised(confidence) == expected
