"""Rescoring: other people's predictions, read by our scorers and measured with our intervals. No workflow is needed.

`predictions` reads their files, `sources` and `carried` the questions, `matching` brings the two together,
`measuring` counts, `output` prints, `importing` makes them a model of the workflow's results.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from known_unknowns import benchmarks
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.exchange import embedded_questions, matching, sources
from known_unknowns.exchange.predictions import Predictions, read
from known_unknowns.records import OVERALL, Metric, Question

if TYPE_CHECKING:
    from known_unknowns.exchange.measure import Rescored

__all__ = ["rescore"]

_SAME = 1e-9


def rescore(
    benchmark: str,
    files: Sequence[Path],
    *,
    variant: str | None = None,
    questions: Path | None = None,
    known: Mapping[str, Mapping[str, Any]] | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    partial: bool = False,
) -> Rescored:
    """Every metric of the predictions in ``files``, which are parts of one model's replies to one variant.

    Args:
        benchmark: A benchmark's name.
        files: In any of the formats of `predictions`, each in its own.
        variant: Its name; by default that of the questions that the files carry.
        questions: The benchmark's annotations; without them the files must carry their questions.
        known: The variants of params.yaml, to know what makes one (`sources.variant_entry`).
        settings: How the annotations' folder is laid out, where that must be said (MM-SAP).
        seed: Of a variant that draws (shuffled_options).
        partial: Score the questions that are answered, where not all of the annotations' are.

    Raises:
        ConfigError: a benchmark or variant that is not known.
        DataError: a file that does not fit, with its line.
    """
    from known_unknowns.exchange.measure import Rescored, default_scorers, measured

    if benchmark not in benchmarks.names():
        raise ConfigError(unknown_name(benchmark, benchmarks.names()), path="--benchmark")
    read_files = [read(file) for file in files]
    name, pairs = _pairs(
        benchmark, read_files, variant, questions, known=known or {}, settings=settings, seed=seed, partial=partial
    )
    scorers = default_scorers(likelihoods=matching.likelihoods(pairs))
    metrics = measured(pairs, benchmark=benchmark, variant=name, scorers=scorers, seed=seed)
    notes = (*_notes([question for question, _ in pairs]), *_claims(read_files, metrics))
    return Rescored(benchmark, name, len(pairs), tuple(metrics), notes)


def _pairs(
    benchmark: str,
    files: Sequence[Predictions],
    variant: str | None,
    path: Path | None,
    *,
    known: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any] | None,
    seed: int,
    partial: bool,
) -> tuple[str, list[matching.Pair]]:
    """The variant's name, and the questions with their replies."""
    if path is None:
        name = variant or matching.guessed_function(files)
        function = sources.variant_entry(name, known)["function"]
        asked = matching.carried_questions(files, benchmark, function)
        return name, matching.matched(files, asked, source=matching.names(files))
    name = variant or matching.ORIGINAL
    entry = sources.variant_entry(name, known)
    published = sources.questions(benchmark, path, settings=settings)
    asked = sources.varied(published, entry, seed=seed, path=path)
    return name, matching.matched(files, asked, source=str(path), placed=True, partial=partial)


def _notes(questions: Sequence[Question]) -> Iterator[str]:
    alone = sum(question.group.startswith(embedded_questions.NO_PICTURE) for question in questions)
    if alone:
        yield (
            f"{alone} of {len(questions)} questions do not say which picture they are on, so that the intervals take "
            "them as independent; --annotations would tell"
        )


def _claims(files: Sequence[Predictions], metrics: Sequence[Metric]) -> Iterator[str]:
    """Where one file states an accuracy, and the benchmark's official rule gives another."""
    ours = next(m.value for m in metrics if (m.scorer, m.category, m.name) == ("official", OVERALL, "accuracy"))
    claimed = files[0].claimed if len(files) == 1 else None
    if claimed is not None and ours is not None and not math.isclose(claimed, ours, abs_tol=_SAME):
        yield f"{files[0].file} itself states an accuracy of {claimed}; the official rule gives {ours}"
