"""Tables of the variants of questions, made from the table of the published ones."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from known_unknowns import tables, variants
from known_unknowns.benchmark import registry
from known_unknowns.data.sample import sample
from known_unknowns.errors import DataError
from known_unknowns.records import Question, ResolvedVariant
from known_unknowns.variants import corrections
from known_unknowns.variants.of_benchmark import variant_of, variants_of


def vary(entry: ResolvedVariant, questions: Path, out: Path, *, seeds: Sequence[int], limit: int | None = None) -> None:
    """Apply a variant, given by its entry in params.yaml, to a table of questions, with each seed.

    ``limit`` is the number of original questions of which the variant is made (`known_unknowns.data.sample`). Raises
    DataError if the variant fits no question, or fails for one.
    """
    originals = tables.read_questions(questions)
    fitting = _fitting(entry, originals, questions)
    if limit is not None:
        asked = {question.id for question in sample(originals, limit)}
        fitting = [(row, question) for row, question in fitting if question.id in asked]
        if not fitting:
            raise DataError(
                f"the variant fits none of the {len(asked)} questions of the sample; raise `limit` of the edition",
                file=questions,
            )
    tables.write_variant(out, {seed: applied(entry, fitting, seed=seed, path=questions) for seed in seeds})


def applied(
    entry: ResolvedVariant, rows: Sequence[tuple[int, Question]], *, seed: int, path: Path
) -> Iterator[Question]:
    """Yield the questions of the rows of a file in a variant. DataError names the row of one that it fails for."""
    known = variants_of(rows[0][1].benchmark) if rows else {}
    for row, question in rows:
        try:
            yield variants.apply(entry, question, seed=seed, known=known)
        except ValueError as error:
            raise DataError(str(error), file=path, row=row) from error


def _fitting(entry: ResolvedVariant, originals: Sequence[Question], path: Path) -> list[tuple[int, Question]]:
    """Return the questions that a variant fits, with their rows.

    What a variant needs is looked at if the benchmark's questions differ (`Benchmark.contents`).
    """
    try:
        dropped = corrections.dropped(entry, originals)
    except ValueError as error:
        raise DataError(str(error), file=path) from error
    rows = [(row, question) for row, question in enumerate(originals) if question.id not in dropped]
    if dropped:
        print(f"{len(dropped)} of {len(originals)} questions are left out by the corrections", file=sys.stderr)
    if not originals:
        return rows
    known = variants_of(originals[0].benchmark)
    if registry.get(originals[0].benchmark).has("contents"):
        variant = variant_of(originals[0].benchmark, entry)
        fitting = [(row, question) for row, question in rows if variant.fits(question)]
        if not fitting:
            raise DataError(
                f"no question has {variant.needs}, which the variant needs; remove it from params.yaml", file=path
            )
        if lacking := len(rows) - len(fitting):
            print(f"{lacking} of {len(rows)} questions are left out: they lack {variant.needs}", file=sys.stderr)
        rows = fitting
    left_out = variants.left_out(entry, (question for _, question in rows), known=known)
    reasons = Counter(left_out.values())
    if left_out and len(left_out) == len(rows):
        why = "; ".join(reasons)
        raise DataError(f"every question is left out: {why}; remove the variant from params.yaml", file=path)
    for reason, count in reasons.items():
        print(f"{count} of {len(rows)} questions are left out: {reason}", file=sys.stderr)
    return [(row, question) for row, question in rows if question.id not in left_out]
