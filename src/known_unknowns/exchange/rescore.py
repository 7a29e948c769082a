"""Score predictions from files of other tools, with the workflow's parsers and intervals but without a workflow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.exchange import PredictionFile, QuestionTurns
from known_unknowns.config import DataEntry
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.exchange.annotations import apply_variant, read_annotations, variant_entry
from known_unknowns.exchange.embedded_questions import (
    NO_IMAGE,
    ORIGINAL,
    check_images_differ,
    collect_questions,
    question_text,
    stated_function,
)
from known_unknowns.exchange.harness_logs import RECORD
from known_unknowns.exchange.matching import by_sample, have_logprobs, left_out_note, match, with_prompts
from known_unknowns.exchange.outcomes import compare_outcomes
from known_unknowns.exchange.reader import facts_note, file_names, parse_file, unfinished_notes
from known_unknowns.exchange.results import RescoreResult, compute_metrics, default_parsers
from known_unknowns.records import OVERALL, Metric, Question, ResolvedVariant
from known_unknowns.variants.of_benchmark import variant_of

_TOLERANCE = 1e-9


def rescore(
    benchmark: str,
    files: Sequence[Path],
    *,
    variant: str | None = None,
    annotations: Path | None = None,
    table: Path | None = None,
    known: Mapping[str, ResolvedVariant] | None = None,
    settings: DataEntry | None = None,
    seed: int = 0,
    partial: bool = False,
    by_text: bool = False,
) -> RescoreResult:
    """Compute every metric of the predictions in ``files``, which are parts of one model's replies to one variant.

    Parameters
    ----------
    variant : str, optional
        The variant's name; by default the one that the field ``variant`` of the files names, or else the published
        questions.
    annotations : Path, optional
        The benchmark's annotations; without them the files must contain their questions.
    table : Path, optional
        The edition's table of questions, in place of annotations if the files do not contain the questions.
    known : mapping, optional
        The variants of params.yaml.
    settings : DataEntry, optional
        The data's entry in params.yaml, for annotations whose format needs a description.
    seed : int
        The seed of a variant with random choices.
    partial : bool
        Score the questions that have a prediction, if some have none.
    by_text : bool
        Match the predictions with the annotations by the text of the question alone.

    Raises
    ------
    ConfigError
        If the benchmark or the variant is unknown.
    DataError
        If a file does not fit; the message names the line.
    """
    if benchmark not in registry.names():
        raise ConfigError(unknown_name(benchmark, registry.names()), path="--benchmark")
    parsed = [parse_file(file) for file in files]
    left_out: tuple[str, ...] = ()
    if annotations is None and table is not None and (by_text or _needs_table(parsed, benchmark, table)):
        annotations = table
    if by_text and annotations is None:
        raise ConfigError("text needs the questions; name them with --annotations", path="--match")
    stated = "" if variant else stated_function(parsed, benchmark)
    name = variant or stated or ORIGINAL
    if annotations is None:
        if not variant and not stated:
            check_images_differ(parsed)
        entry = variant_entry(name, benchmark, known or {})
        asked = collect_questions(parsed, benchmark, entry.function)
        samples = [match(files, asked, source=file_names(parsed)) for files in by_sample(parsed)]
    else:
        entry = variant_entry(name, benchmark, known or {})
        published = read_annotations(benchmark, annotations, settings=settings)
        asked = apply_variant(published, entry, seed=seed, path=annotations)
        left_out = left_out_note(asked, published)
        samples = []
        for of_sample in by_sample(parsed):
            found = match(
                of_sample,
                asked,
                source=str(annotations),
                by_index=True,
                by_text=by_text,
                partial=partial,
                published=published,
            )
            samples.append(found)
        if partial:
            _check_same_questions(samples, file_names(parsed))
    samples = [with_prompts(pairs, benchmark, entry.protocol or name) for pairs in samples]
    parsers = default_parsers(have_logprobs=all(map(have_logprobs, samples)))
    metrics = compute_metrics(
        samples,
        benchmark=benchmark,
        variant=name,
        parsers=parsers,
        seed=seed,
        content_free=variant_of(benchmark, entry).content_free,
    )
    named = [] if variant or name == ORIGINAL else [f"scored as the variant {name}, which the files name"]
    questions = [question for question, _ in samples[0]]
    notes = (
        *named,
        *left_out,
        *_image_notes(questions, benchmark, annotated=annotations is not None),
        *map(facts_note, parsed),
        *_compare_accuracy(parsed, metrics),
        *compare_outcomes(samples, parsers),
    )
    return RescoreResult(
        benchmark,
        name,
        len(questions),
        tuple(metrics),
        tuple(filter(None, notes)),
        len(samples),
        unfinished_notes(parsed),
    )


def _needs_table(files: Sequence[PredictionFile], benchmark: str, table: Path) -> bool:
    """Whether the questions are those of a table: the files lack them, or have its ids but no images."""
    exchange = registry.get(benchmark).exchange()
    predictions = [prediction for file in files for prediction in file.predictions]
    if all(RECORD in prediction.fields for prediction in predictions):
        return False
    if exchange.embedded_question is None or any(question_text(each.fields) is None for each in predictions):
        return True
    if not exchange.has_texts:
        return False
    ids = {question.id for question in tables.read_questions(table)}
    return all(prediction.name in ids for prediction in predictions)


def _check_same_questions(samples: Sequence[Sequence[QuestionTurns]], source: str) -> None:
    ids = [[question.id for question, _ in pairs] for pairs in samples]
    if any(of_sample != ids[0] for of_sample in ids):
        raise DataError("the samples answer different questions; score each alone", file=source)


def _image_notes(questions: Sequence[Question], benchmark: str, *, annotated: bool) -> Iterator[str]:
    unknown = sum(question.group.startswith(NO_IMAGE) for question in questions)
    of_all = f"{unknown} of {len(questions)} questions"
    if not unknown:
        return
    if not registry.get(benchmark).exchange().has_texts:
        yield (
            f"{of_all} do not say which image they are on, so that the intervals treat them as independent; use "
            "--annotations to give the images"
        )
    elif not annotated:
        yield f"{of_all} name no image and are taken as questions without one; use --annotations to give the images"


def _compare_accuracy(files: Sequence[PredictionFile], metrics: Sequence[Metric]) -> Iterator[str]:
    """Report an accuracy that a single file states, if the benchmark's official parser gives another one."""
    ours = next(m.value for m in metrics if (m.parser, m.category, m.name) == ("official", OVERALL, "accuracy"))
    stated = files[0].stated_accuracy if len(files) == 1 else None
    if stated is not None and ours is not None and not math.isclose(stated, ours, abs_tol=_TOLERANCE):
        yield f"{files[0].file} states an accuracy of {stated}; the official parser gives {ours}"
