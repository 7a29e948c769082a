"""Rescoring an exported run gives the run's metrics, or the export names what its format cannot hold."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from known_unknowns import config, tables, variants
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.protocol import FORCED
from known_unknowns.benchmark.registry import pocket_of
from known_unknowns.exchange.export import export
from known_unknowns.exchange.reader import formats
from known_unknowns.exchange.rescore import rescore
from known_unknowns.exchange.results import STATISTICS, default_parsers
from known_unknowns.inference.bound_protocols import bound
from known_unknowns.metrics.answers import read
from known_unknowns.metrics.measure import metrics_of
from known_unknowns.records import AnsweredTurn, Cell, Metric, Question, Reply, ResolvedVariant
from known_unknowns.scoring.table import parse
from known_unknowns.variants.of_benchmark import variant_of, variants_of
from tests.cells import write_questions, write_replies
from tests.factories import data_entry
from tests.paths import ROOT
from tests.unit.benchmarks.multiple_choice.own_files import own_folder, row

PARAMS = config.load(ROOT / "params.yaml", edition="pocket")
WRITERS = {f.name: f for f in formats() if f.write}
SEED = 3
DIALOGUE = {
    *("view_recall", "view_recall_as_published", "invalid_selections", "fraction_of_views", "fraction_zoomed"),
    *("fraction_shifted", "views", "zooms", "shifts"),
}
"""ActiView's metrics of its dialogues."""
CELLS = [
    *(("humblebench", name) for name in ("original", "nota_only", "noise", "text_only", "shuffled_all_options")),
    *(("humblebench", name) for name in ("cautious_prompt", "without_refusal")),
    *(("mmsap", "original"), ("mm_upd", PARAMS.listed_variants("mm_upd")[0]), ("multiple_choice", "original")),
    *(("actiview", name) for name in PARAMS.listed_variants("actiview")[:3]),
]
"""Each kind of variant and of dialogue; the others differ in the right answer or the prompt alone."""


@cache
def published(benchmark: str, folder: Path) -> list[Question]:
    raw = folder / benchmark / "raw"
    if benchmark == "multiple_choice":
        rows = [row(n, answer="ABCD"[n % 4]) for n in range(12)]
        settings = data_entry("folder", path="raw")
        return list(registry.get(benchmark).load(own_folder(raw, rows), folder / benchmark, settings=settings))
    rendered = pocket_of(benchmark)
    assert rendered is not None
    images = {"mmsap": 24, "mm_upd": 8}.get(benchmark, 4)
    rendered.render(raw, seed=1, images=images, questions_per_image={"mm_upd": 3}.get(benchmark, 2))
    return list(registry.get(benchmark).load(raw, folder / benchmark))


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("published")


def reply(rng: random.Random, question: Question, labels: tuple[str, ...] | None, messy: bool) -> Reply:
    """A letter, a sentence or an option's text; a messy one may be cut, failed, empty, or name a removed option."""
    if labels is None:
        return Reply(rng.choice(["1, 2", "3", "none of them"]))
    option = rng.choice([option for option in question.options if option.label in labels])
    texts = [option.label, f"{option.label}.", f'The answer is "{option.label}", I think.', option.text]
    if not messy:
        return Reply(rng.choice(texts))
    logprobs = {label: math.log(0.9 / len(labels) * rng.uniform(0.8, 1)) for label in labels}
    texts += ["", "I cannot tell.\r\n", "=1+1", *question.removed]
    kind = rng.randrange(6)
    if kind == 0:
        return Reply("", error="timeout")
    return Reply(rng.choice(texts), logprobs=logprobs, finish="length" if kind == 1 else "stop")


def dialogue(rng: random.Random, benchmark: str, variant: str, question: Question, messy: bool) -> list[AnsweredTurn]:
    turns: list[AnsweredTurn] = []
    known = PARAMS.every_variant
    name = known[variant].protocol if variant in known else None
    entry = (
        PARAMS.protocol_entry(name, None)
        if name is not None and variant not in PARAMS.listed_variants(benchmark)
        else PARAMS.protocol(benchmark, variant if variant in known else "original")
    )
    asked = bound(registry.get(benchmark), entry, parsers=default_parsers(have_logprobs=messy))(question)
    turn = next(asked)
    while True:
        said = reply(rng, question, turn.labels, messy)
        images = tuple(image.sha256 for image in turn.images)
        turns.append(AnsweredTurn(question.id, len(turns), turn.step, turn.text, images, turn.labels, "k", said))
        try:
            turn = asked.send(said)
        except StopIteration:
            return turns


@dataclass(frozen=True)
class Run:
    """One variant of a benchmark: its questions, replies and metrics."""

    variant: str
    questions: tables.Part
    replies: tables.Part
    annotations: Path
    metrics: dict[tuple[str, str, str], Metric]


def run(data: Path, folder: Path, benchmark: str, variant: str, *, messy: bool) -> Run:
    rng = random.Random(f"{benchmark} {variant} {messy}")
    entry = PARAMS.every_variant.get(variant) or ResolvedVariant.of(function=variant)
    known = variants_of(benchmark)
    originals = published(benchmark, data)
    left_out = variants.left_out(entry, originals, known=known)
    asked = [variants.apply(entry, q, seed=SEED, known=known) for q in originals if q.id not in left_out]
    turns = [turn for question in asked for turn in dialogue(rng, benchmark, variant, question, messy)]
    write_questions(folder / "variants", variant, SEED, asked)
    write_replies(folder / "replies.parquet", variant, SEED, turns)
    tables.write_questions(folder / "questions.parquet", originals)
    parsers = default_parsers(have_logprobs=messy)
    replies, answers = (folder / f"{name}.parquet" for name in ("replies", "answers"))
    cells = [Cell(variant, SEED)]
    parse(folder / "variants", replies, answers, cells=cells, parsers=parsers)
    table = read(answers, benchmark, cells=cells, parsers=parsers)
    free = {variant} if variant_of(benchmark, entry).content_free else set()
    again = {variant} if any(turn.step == FORCED for turn in turns) else set()
    metrics = metrics_of(
        table, STATISTICS.confidence, model="m", benchmark=benchmark, content_free=free, asks_again=again
    )
    return Run(
        variant,
        tables.Part(folder / "variants" / f"{variant}.parquet", SEED),
        tables.Part(folder / "replies.parquet", Cell(variant, SEED)),
        folder / "questions.parquet",
        by_key(metrics),
    )


def by_key(metrics: list[Metric] | tuple[Metric, ...]) -> dict[tuple[str, str, str], Metric]:
    return {(m.parser, m.category, m.name): m for m in metrics}


def numbers(metric: Metric | None, *, bounds: bool = True) -> tuple:
    if metric is None:
        return ()
    found = (metric.value, metric.n, metric.denominator, *((metric.low, metric.high) if bounds else ()))
    return tuple(None if value is None else round(value, 9) for value in found)


def differences(
    benchmark: str, of_run: dict[tuple[str, str, str], Metric], other: dict[tuple[str, str, str], Metric], notes: str
) -> Iterator[str]:
    """Metrics that differ although the notes of the export name nothing that could explain it."""
    bounds = "the image that each question is about" not in notes
    dialogues = "requests without options" in notes
    for key in of_run.keys() | other.keys():
        parser, _, name = key
        if parser == "likelihood" and "log-probabilities are left out" in notes:
            continue
        if name in registry.get(benchmark).forced_choice_metrics and "of the step 'forced' are left out" in notes:
            assert other[key].value is None, key
            continue
        if name in ("refused_and_known", "known_of_refused", "forced_unread") and "step 'forced' are left" in notes:
            continue
        if name.endswith(".refusal") and "step 'forced' are left" in notes:
            continue
        if name == "accuracy_published_labels" and "labels as published are left out" in notes:
            continue
        if name == "names_removed_letter" and "that the variant removed are left" in notes:
            continue
        if dialogues and name in DIALOGUE:
            continue
        if numbers(of_run.get(key), bounds=bounds) != numbers(other.get(key), bounds=bounds):
            yield f"{key}: {of_run.get(key)} {other.get(key)}"


def rescored(of_run: Run, benchmark: str, file: Path, *, annotated: bool, named: bool) -> dict:
    found = rescore(
        benchmark,
        [file],
        variant=of_run.variant if named else None,
        annotations=of_run.annotations if annotated else None,
        known=PARAMS.every_variant,
        seed=SEED,
    )
    return by_key(found.metrics)


@pytest.mark.parametrize(("benchmark", "variant"), CELLS)
def test_every_format(data, tmp_path, benchmark, variant):
    of_run = run(data, tmp_path, benchmark, variant, messy=False)
    assert of_run.metrics
    for name, form in WRITERS.items():
        if form.benchmark not in ("", benchmark):
            continue
        written = export(name, of_run.questions, of_run.replies, tmp_path / f"file{form.suffix}")
        notes = "\n".join(written.notes)
        other = rescored(of_run, benchmark, written.path, annotated=True, named=True)
        assert not list(differences(benchmark, of_run.metrics, other, notes)), (name, notes)
        if "the questions" in notes:
            continue
        other = rescored(of_run, benchmark, written.path, annotated=False, named="--variant" in notes)
        assert not list(differences(benchmark, of_run.metrics, other, notes)), (name, notes)


@pytest.mark.parametrize(("benchmark", "variant"), [CELLS[1], CELLS[-1]])
def test_jsonl_holds_every_reply(data, tmp_path, benchmark, variant):
    """Cut, failed and empty replies, log-probabilities, and the texts of removed options."""
    of_run = run(data, tmp_path, benchmark, variant, messy=True)
    written = export("jsonl", of_run.questions, of_run.replies, tmp_path / "file.jsonl")
    notes = "\n".join(written.notes)
    other = rescored(of_run, benchmark, written.path, annotated=True, named=True)
    assert not list(differences(benchmark, of_run.metrics, other, notes)), notes
    assert all("questions are left out" in note or "requests without options" in note for note in written.notes)


@pytest.mark.parametrize("name", [name for name, form in WRITERS.items() if form.benchmark in ("", "humblebench")])
def test_messy_replies_are_held_or_named(data, tmp_path, name):
    of_run = run(data, tmp_path, "humblebench", "nota_only", messy=True)
    written = export(name, of_run.questions, of_run.replies, tmp_path / f"file{WRITERS[name].suffix}")
    other = rescored(of_run, "humblebench", written.path, annotated=True, named=True)
    lossless = not any(word in note for note in written.notes for word in ("failed", "how they ended", "left out"))
    assert not lossless or not list(differences("humblebench", of_run.metrics, other, ""))
