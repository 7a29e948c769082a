"""The questions that predictions answer, from the benchmark's own files, without looking at a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from known_unknowns import benchmarks, tables, variants
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.exchange import embedded_questions
from known_unknowns.exchange.rows import identifier_of, rows
from known_unknowns.records import Question


def questions(benchmark: str, path: Path, *, settings: Mapping[str, Any] | None = None) -> list[Question]:
    """The questions in published order, from a table of questions (Parquet), from one of the benchmark's annotation
    files, or from the folder of all its published files, which ``settings`` may describe (`benchmarks`, ``load``).

    Raises DataError for a file that is none of these.
    """
    if not path.exists():
        raise DataError("no such file or folder of annotations", file=path)
    if path.suffix.lower() == ".parquet" and path.is_file() and _is_ours(path):
        return _table(benchmark, path)
    if unpictured := benchmarks.get(benchmark).load_without_images:
        return unpictured.get()(path, settings=settings)
    if path.is_dir():
        return _folder(benchmark, path, settings)
    if benchmark not in READERS:
        raise DataError(
            f"annotations of {benchmark} are a table of questions (questions.parquet, as `known-unknowns questions` "
            "writes it) or the folder of its published files",
            file=path,
        )
    return READERS[benchmark](path)


def _is_ours(path: Path) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return {"options", "refusal", "extra"} <= set(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"not a readable Parquet file ({error})", file=path) from error


def _table(benchmark: str, path: Path) -> list[Question]:
    found = tables.read_questions(path)
    for row, question in enumerate(found):
        if question.benchmark != benchmark:
            message = f"question {question.id!r} is of the benchmark {question.benchmark!r}, not {benchmark!r}"
            raise DataError(message, file=path, row=row)
    return found


def _folder(benchmark: str, path: Path, settings: Mapping[str, Any] | None) -> list[Question]:
    """By the benchmark's own loader, whose copies of the pictures are not kept."""
    with TemporaryDirectory() as pictures:
        return list(benchmarks.get(benchmark).load.get()(path, Path(pictures), settings=settings))


def _humblebench(path: Path) -> list[Question]:
    """HumbleBench's Parquet, metadata.jsonl or metadata.csv: question_id, question, label, type."""
    found: dict[str, Question] = {}
    for row in rows(path):
        missing = [name for name in ("question_id", "question", "label", "type") if name not in row.fields]
        if missing:
            raise row.error(f"{', '.join(missing)} missing, which HumbleBench's annotations have")
        name = identifier_of(row, "question_id")
        if name in found:
            raise row.error(f"the question id {name} stands there twice")
        try:
            found[name] = embedded_questions.question(benchmark="humblebench", fields=row.fields, identifier=name)
        except ValueError as error:
            raise row.error(str(error)) from error
    return list(found.values())


READERS: dict[str, Callable[[Path], list[Question]]] = {"humblebench": _humblebench}


def varied(found: list[Question], entry: Mapping[str, Any], *, seed: int, path: Path) -> list[Question]:
    """The questions in a variant (`known_unknowns.variants.apply`), as they were asked."""
    changed = []
    for row, question in enumerate(found):
        try:
            changed.append(variants.apply(entry, question, seed=seed))
        except ValueError as error:
            raise DataError(str(error), file=path, row=row) from error
    return changed


def variant_entry(name: str, known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What makes a variant: its entry among ``known`` (params.yaml's), else the function, or the protocol that asks
    the questions as published, of this name.

    Raises ConfigError for a name that is none of these.
    """
    from known_unknowns.protocols import PROTOCOLS

    if name in known:
        return {"function": name, **known[name]}
    if name in variants.VARIANTS:
        return {"function": name}
    if name in PROTOCOLS:
        return {"function": "original"}
    raise ConfigError(unknown_name(name, {*known, *variants.VARIANTS, *PROTOCOLS}), path="--variant")
