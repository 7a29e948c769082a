"""Several samples of the reply to each question: what is asked, and metrics with values by hand or by a formula."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from scipy import stats

from known_unknowns import tables
from known_unknowns.config import Params
from known_unknowns.data.variant_tables import vary
from known_unknowns.errors import ConfigError
from known_unknowns.records import AnsweredTurn, Cell, Metric, Question, Repeat, Reply, Turn, repeats_name
from known_unknowns.scoring.table import parse
from tests.asked_and_measured import infer, measure
from tests.factories import params_from, question, variant_entry
from tests.paths import ROOT
from tests.unit.metrics.answered import params as params_of
from tests.unit.metrics.answered import pick

OPTIONS = 5


def settings(samples: int, variant: str = "original", seeds: tuple[int, ...] = (0,)) -> Params:
    raw = params_of([variant], seeds, parsers=["robust"]).file.plain()
    entry = {"engine": "respondent", "behaviour": "uniform", "samples": samples}
    return params_from(raw | {"models": {"m": entry}})


def run(folder: Path, questions: list[Question], params: Params) -> tuple[list[Metric], dict[str, Any]]:
    """Ask the respondent that chooses at random, and measure. Return the metrics and the record of the engine."""
    (variant,) = params.variants("humblebench")
    folder.mkdir(exist_ok=True)
    tables.write_questions(folder / "questions.parquet", questions)
    table = folder / "variants" / f"{variant}.parquet"
    vary(variant_entry(variant), folder / "questions.parquet", table, seeds=params.seeds)
    out, variants = folder / "replies", folder / "variants"
    infer(params, "m", "humblebench", questions=folder, variants=variants, out=out, journal=folder / "m.jsonl")
    answers = folder / "answers.parquet"
    cells = params.cells("humblebench", "m")
    parse(variants, out / "replies.parquet", answers, cells=cells, parsers=["robust"])
    measure(params, "m", "humblebench", answers=answers, out=folder / "metrics.parquet")
    return tables.read_metrics(folder / "metrics.parquet"), json.loads((out / "engine.json").read_text("utf-8"))


def several(count: int, *, on_image: int = 1) -> list[Question]:
    return [question(str(n), n % OPTIONS, group=f"g{n // on_image}") for n in range(count)]


@pytest.mark.parametrize(("on_image", "variant"), [(4, "original"), (1, "shuffled_options")])
def test_a_random_respondent_has_the_analytic_variance(tmp_path, on_image, variant):
    count, samples, p = 1000, 5, 1 / OPTIONS
    metrics, _ = run(tmp_path, several(count, on_image=on_image), settings(samples, variant))
    mean = pick(metrics, "accuracy", variant=variant, seed=None)
    of_each = [pick(metrics, "accuracy", variant=variant, seed=0, sample=n).value for n in range(samples)]
    assert mean.value == pytest.approx(sum(of_each) / samples)
    assert mean.n == count and mean.method.endswith("mean of 5 samples")
    # independent answers: the variance of the accuracy of one sample, and that of the mean over all
    of_one = p * (1 - p) / count
    low, high = stats.chi2(samples - 1).ppf([0.001, 0.999]) * of_one / (samples - 1)
    assert low < mean.spread**2 < high
    error = math.sqrt(of_one / samples)
    assert abs(mean.value - p) < 3.3 * error
    assert (mean.high - mean.low) / 2 == pytest.approx(1.96 * error, rel=0.12)
    assert mean.low < p < mean.high


def test_the_interval_includes_the_questions_and_not_the_samples_alone(tmp_path):
    """A model that knows half of the questions: many samples do not make its interval narrower than one does."""
    asked = several(100)
    cells = {}
    for number in range(6):
        replies = [Reply("ABCDE"[(q.answer + (n % 2)) % OPTIONS]) for n, q in enumerate(asked)]
        cells[Cell("original", 0, number)] = replies
    metrics = by_hand(tmp_path, asked, cells)
    mean, one = (pick(metrics, "accuracy", seed=seed) for seed in (None, 0))
    assert mean.value == one.value == 0.5
    assert mean.high - mean.low == pytest.approx(one.high - one.low, rel=0.1)


def by_hand(folder: Path, asked: list[Question], cells: dict[Cell, list[Reply]]) -> list[Metric]:
    variants, replies, answers = folder / "variants", folder / "replies.parquet", folder / "answers.parquet"
    tables.write_variant(variants / "original.parquet", {cell.seed: asked for cell in cells})
    turns = {
        cell: [AnsweredTurn(q.id, 0, "answer", "p", (), q.labels, "k", r) for q, r in zip(asked, of_cell, strict=True)]
        for cell, of_cell in cells.items()
    }
    tables.write_replies(replies, turns)
    parse(variants, replies, answers, cells=list(cells), parsers=["robust"])
    params = settings(len({cell.sample for cell in cells}), seeds=tuple({cell.seed: 0 for cell in cells}))
    assert set(params.cells("humblebench", "m")) == set(cells)
    out = folder / "metrics.parquet"
    measure(params, "m", "humblebench", answers=answers, out=out)
    return tables.read_metrics(out)


#  the answer is A, E is the refusal; the samples' replies, and by hand: is the majority right, does the answer change
BY_HAND = [
    ("A", "A", "B", 1.0, 1),
    ("A", "B", "C", 1 / 3, 1),  # three answers, each given once
    ("B", "B", "A", 0.0, 1),
    ("A", "A", "A", 1.0, 0),
    ("E", "E", "E", 0.0, 0),  # refused in all samples
    ("E", "I cannot tell.", "E", 0.0, 1),  # refused in all, once without choosing the option
    ("E", "A", "A", 1.0, 1),  # refused in one
    ("It is heavy.", "Hm.", "A", 0.0, 1),  # two without an answer
    ("It is heavy.", "Hm.", "?", 0.0, 0),
]


def test_majority_changes_and_stability_by_hand(tmp_path):
    asked = several(len(BY_HAND))
    asked = [question(q.id, 0, group=q.group) for q in asked]
    cells = {Cell("original", 0, n): [Reply(row[n]) for row in BY_HAND] for n in range(3)}
    metrics = by_hand(tmp_path, asked, cells)
    changes = pick(metrics, "answer_changes", seed=None)
    assert changes.value == pytest.approx(sum(row[4] for row in BY_HAND) / len(BY_HAND))
    assert changes.method.endswith("over 3 samples")
    majority = pick(metrics, "majority_accuracy", seed=None)
    assert majority.value == pytest.approx(sum(row[3] for row in BY_HAND) / len(BY_HAND))
    stability = pick(metrics, "refusal_stability", seed=None)
    assert (stability.value, stability.denominator) == (pytest.approx(2 / 3), 3)
    assert "spread" not in stability.method and stability.spread is None


def test_the_comparisons_of_samples_of_a_random_respondent(tmp_path):
    metrics, _ = run(tmp_path, several(500), settings(3))
    for name, expected, n in (
        ("answer_changes", 1 - 1 / OPTIONS**2, 500),
        ("majority_accuracy", 1 / OPTIONS, 500),
        ("refusal_stability", (1 / 125) / (1 - (4 / 5) ** 3), 244),  # about 244 questions are refused in a sample
    ):
        found = pick(metrics, name, seed=None).value
        assert abs(found - expected) < 3.3 * math.sqrt(expected * (1 - expected) / n), name


def test_samples_and_seeds_together(tmp_path):
    """Shuffles are compared within each sample, samples within each shuffle; the mean is over all of them."""
    metrics, _ = run(tmp_path, several(60), settings(2, "shuffled_options", (0, 3)))
    where = {"variant": "shuffled_options", "seed": None}
    assert {m.repeat for m in metrics if m.name == "accuracy"} == {(0, 0), (3, 0), (0, 1), (3, 1), None}
    assert pick(metrics, "accuracy", **where).method.endswith("mean of 2 seeds x 2 samples")
    assert pick(metrics, "same_answer", **where).method.endswith("over 2 seeds")
    assert pick(metrics, "answer_changes", **where).method.endswith("over 2 samples")


def test_each_sample_is_asked_once_and_more_samples_ask_only_the_new_ones(tmp_path):
    questions = several(30)
    asked = [run(tmp_path, questions, settings(samples))[1]["newly_asked"] for samples in (1, 2, 2, 5, 3)]
    assert asked == [30, 30, 0, 90, 0]
    replies = tables.read_replies(tmp_path / "replies" / "replies.parquet")
    assert len(replies) == len({reply.key for reply in replies}) == 90


def test_a_checkpoint_that_does_not_sample_has_no_samples(tmp_path):
    """Only the checkpoint tells what `sampling: checkpoint` is; the pocket model's is greedy."""
    raw = settings(2).file.plain()
    entry = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["models"]["pocket"]
    decoding = {"sampling": "checkpoint", "max_new_tokens": 2}
    raw["models"] = {"m": entry | {"source": str(ROOT / "models/pocket"), "decoding": decoding, "samples": 2}}
    assert not params_from(raw).model("m").greedy
    with pytest.raises(ConfigError, match=r"models\.m\.samples: the checkpoint decodes greedily"):
        run(tmp_path, several(2), params_from(raw))


def test_samples_show_the_answers_that_a_server_changes_at_temperature_0(tmp_path):
    """Of ten questions, q3 has another answer at its second request."""
    pytest.importorskip("openai")
    from tests.servers.endpoint import LETTERS, MODEL, Endpoint, Response, answer_to, completion

    def reply(request):
        letter = answer_to(request.question)
        if request.question == "q3" and request.attempt:
            letter = LETTERS[LETTERS.index(letter) - 1]
        return Response(200, completion(request.question, content=letter))

    questions = [question(f"q{n}", text=f"[q{n}] Which?", images=()) for n in range(10)]
    with Endpoint(reply=reply) as server:
        entry = {"engine": "openai", "source": MODEL, "base_url": server.url, "samples": 2}
        metrics, record = run(tmp_path, questions, params_from(settings(2).file.plain() | {"models": {"m": entry}}))
    assert record["facts"]["decoding"]["temperature"] == 0
    assert pick(metrics, "answer_changes", seed=None).value == pytest.approx(1 / 10)


def test_the_sample_is_part_of_the_key_and_the_seed_is_not():
    asked = {
        (seed, n): Turn("1", "answer", ("Which?",), ("A", "B"), seed=seed, sample=n) for seed in (0, 4) for n in (0, 1)
    }
    keys = {repeat: turn.key({"engine": "x"}) for repeat, turn in asked.items()}
    assert keys[0, 0] == keys[4, 0] and keys[0, 1] == keys[4, 1] and keys[0, 0] != keys[0, 1]
    # the key of a single sample, written down before there were several
    assert keys[0, 0] == Turn("2", "forced", ("Which?",), ("A", "B")).key({"engine": "x"})


@pytest.mark.parametrize(
    ("repeats", "expected"),
    [
        ([Repeat(0), Repeat(1), Repeat(4)], "3 seeds"),
        ([Repeat(0), Repeat(0, 1)], "2 samples"),
        ([Repeat(seed, sample) for sample in range(3) for seed in range(2)], "2 seeds x 3 samples"),
    ],
)
def test_the_number_of_repeats_as_text(repeats, expected):
    assert repeats_name(repeats) == expected
