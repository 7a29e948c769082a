"""Score predictions from files of other tools, with the workflow's parsers and intervals but without a workflow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.exchange import PredictionFile
from known_unknowns.config import DataEntry, ResolvedVariant
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.exchange.annotations import apply_variant, read_annotations, variant_entry
from known_unknowns.exchange.embedded_questions import NO_IMAGE, ORIGINAL, collect_questions, guess_function
from known_unknowns.exchange.matching import have_logprobs, left_out_note, match, with_prompts
from known_unknowns.exchange.reader import file_names, parse_file
from known_unknowns.exchange.results import RescoreResult, compute_metrics, default_parsers
from known_unknowns.records import OVERALL, Metric, Question
from known_unknowns.variants.of_benchmark import variant_of

_TOLERANCE = 1e-9


def rescore(
    benchmark: str,
    files: Sequence[Path],
    *,
    variant: str | None = None,
    annotations: Path | None = None,
    known: Mapping[str, ResolvedVariant] | None = None,
    settings: DataEntry | None = None,
    seed: int = 0,
    partial: bool = False,
) -> RescoreResult:
    """Compute every metric of the predictions in ``files``, which are parts of one model's replies to one variant.

    Parameters
    ----------
    variant : str, optional
        The variant's name; by default the one that the questions in the files suggest.
    annotations : Path, optional
        The benchmark's annotations; without them the files must contain their questions.
    known : mapping, optional
        The variants of params.yaml.
    settings : DataEntry, optional
        The data's entry in params.yaml, for annotations whose format needs a description.
    seed : int
        The seed of a variant with random choices.
    partial : bool
        Score the questions that have a prediction, if some have none.

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
    if annotations is None:
        name = variant or guess_function(parsed, benchmark)
        entry = variant_entry(name, benchmark, known or {})
        pairs = match(parsed, collect_questions(parsed, benchmark, entry.function), source=file_names(parsed))
    else:
        name = variant or ORIGINAL
        entry = variant_entry(name, benchmark, known or {})
        published = read_annotations(benchmark, annotations, settings=settings)
        asked = apply_variant(published, entry, seed=seed, path=annotations)
        pairs = match(parsed, asked, source=str(annotations), by_index=True, partial=partial, published=published)
        left_out = left_out_note(asked, published)
    pairs = with_prompts(pairs, benchmark, entry.protocol or name)
    parsers = default_parsers(have_logprobs=have_logprobs(pairs))
    metrics = compute_metrics(
        pairs,
        benchmark=benchmark,
        variant=name,
        parsers=parsers,
        seed=seed,
        content_free=variant_of(benchmark, entry).content_free,
    )
    guessed = [] if variant or name == ORIGINAL else [f"scored as the variant {name}, which the files suggest"]
    notes = (*guessed, *left_out, *_notes([question for question, _ in pairs]), *_compare_accuracy(parsed, metrics))
    return RescoreResult(benchmark, name, len(pairs), tuple(metrics), notes)


def _notes(questions: Sequence[Question]) -> Iterator[str]:
    unknown = sum(question.group.startswith(NO_IMAGE) for question in questions)
    if unknown:
        yield (
            f"{unknown} of {len(questions)} questions do not say which image they are on, so that the intervals treat "
            "them as independent; use --annotations to give the images"
        )


def _compare_accuracy(files: Sequence[PredictionFile], metrics: Sequence[Metric]) -> Iterator[str]:
    """Report an accuracy that a single file states, if the benchmark's official parser gives another one."""
    ours = next(m.value for m in metrics if (m.parser, m.category, m.name) == ("official", OVERALL, "accuracy"))
    stated = files[0].stated_accuracy if len(files) == 1 else None
    if stated is not None and ours is not None and not math.isclose(stated, ours, abs_tol=_TOLERANCE):
        yield f"{files[0].file} states an accuracy of {stated}; the official parser gives {ours}"
