"""Questions from a benchmark's annotations, without reading its images."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from known_unknowns import tables, variants
from known_unknowns.benchmark import registry
from known_unknowns.config import DataEntry
from known_unknowns.config.params import ORIGINAL
from known_unknowns.data.variant_tables import applied
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.inference.bound_protocols import protocols_of
from known_unknowns.records import Question, ResolvedVariant
from known_unknowns.variants import corrections
from known_unknowns.variants.of_benchmark import variant_of, variants_of


def read_annotations(benchmark: str, path: Path, *, settings: DataEntry | None = None) -> list[Question]:
    """Read questions in published order. ``settings`` is the data's entry in params.yaml.

    The path is a table of questions (Parquet), the folder of the benchmark's published files, or an annotation file
    that the benchmark's `load_without_images` can read. Raises DataError if it is none of these.
    """
    if not path.exists():
        raise DataError("no such file or folder of annotations", file=path)
    if path.suffix.lower() == ".parquet" and path.is_file() and _is_question_table(path):
        questions = tables.read_questions(path)
        for row, question in enumerate(questions):
            if question.benchmark != benchmark:
                message = f"question {question.id!r} is of the benchmark {question.benchmark!r}, not {benchmark!r}"
                raise DataError(message, file=path, row=row)
        return questions
    annotated = registry.get(benchmark).load_without_images(path, settings=settings)
    if annotated is not None:
        return annotated
    if path.is_dir():
        return load_folder(benchmark, path, settings=settings)
    raise DataError(
        f"annotations of {benchmark} are a table of questions (questions.parquet, as the rule `questions` "
        "writes it) or the folder of its published files",
        file=path,
    )


def load_folder(benchmark: str, path: Path, *, settings: DataEntry | None = None) -> list[Question]:
    """Load the questions with the benchmark's loader; discard the images that it writes."""
    with TemporaryDirectory() as folder:
        return list(registry.get(benchmark).load(path, Path(folder), settings=settings))


def _is_question_table(path: Path) -> bool:
    try:
        return {"options", "refusal", "extra"} <= set(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"not a readable Parquet file ({error})", file=path) from error


def apply_variant(questions: list[Question], entry: ResolvedVariant, *, seed: int, path: Path) -> list[Question]:
    """Return the questions in a variant, as they were asked, without those that it leaves out.

    ``path`` is their file, for error messages.
    """
    without = left_out(questions, entry, path=path)
    rows = [(row, question) for row, question in enumerate(questions) if question.id not in without]
    return list(applied(entry, rows, seed=seed, path=path))


def left_out(questions: list[Question], entry: ResolvedVariant, *, path: Path) -> set[str]:
    """Return the ids of the questions that a variant leaves out. ``path`` is their file, for error messages."""
    if not questions:
        return set()
    benchmark = questions[0].benchmark
    try:
        found = set(corrections.dropped(entry, questions))
        if registry.get(benchmark).has("contents"):
            variant = variant_of(benchmark, entry)
            found |= {question.id for question in questions if not variant.fits(question)}
        remaining = [question for question in questions if question.id not in found]
        found |= variants.left_out(entry, remaining, known=variants_of(benchmark)).keys()
    except ValueError as error:
        raise DataError(str(error), file=path) from error
    return found


def variant_entry(name: str, benchmark: str, known: Mapping[str, ResolvedVariant]) -> ResolvedVariant:
    """Return a variant: the one in ``known`` (of params.yaml), or a function of this name without arguments.

    The name of a protocol is allowed too: it asks the questions as published. Raises ConfigError for another name.
    """
    protocols, functions = protocols_of(registry.get(benchmark)), variants_of(benchmark)
    if name in known:
        return known[name]
    if name in functions:
        return ResolvedVariant.of(function=name)
    if name in protocols:
        return ResolvedVariant.of(function=ORIGINAL)
    raise ConfigError(unknown_name(name, {*known, *functions, *protocols}), path="--variant")
