"""Paired comparisons of models, variants or parsers on the same questions, from the tables of scores of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from known_unknowns import tables
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.edition_files import asked
from known_unknowns.errors import DataError
from known_unknowns.metrics.paired import holm, paired_difference, rank_intervals


def _text(name: str) -> pa.Field:
    return pa.field(name, pa.string(), nullable=False)


def _int(name: str) -> pa.Field:
    return pa.field(name, pa.int64(), nullable=False)


MODEL_COMPARISON = pa.schema(
    [
        _text("benchmark"),
        *(_text(f"{name}_{side}") for side in "ab" for name in ("model", "variant", "parser")),
        _int("n"),  # questions that both have
        _int("groups"),  # images, or other groups of these questions
        _int("seeds"),  # that both have; the accuracies are means over them
        _int("only_a"),  # questions that only a has
        _int("only_b"),
        pa.field("accuracy_a", pa.float64()),
        pa.field("accuracy_b", pa.float64()),
        pa.field("difference", pa.float64()),  # accuracy_a - accuracy_b
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("confidence", pa.float64(), nullable=False),
        _text("method"),  # of the interval
        pa.field("p", pa.float64()),
        pa.field("p_holm", pa.float64()),
        _text("test"),
        _int("pairs"),  # that p_holm and the ranks are corrected for
        pa.field("correlation", pa.float64()),  # of the two series of answers
        pa.field("standard_error", pa.float64()),
        pa.field("detectable", pa.float64()),  # minimum detectable difference at 80% power
        *(_int(f"rank_{side}_{bound}") for side in "ab" for bound in ("low", "high")),
    ]
)


@dataclass(frozen=True, slots=True)
class Series:
    """Whose answers are compared: a model's answers to a variant, as a parser parsed them."""

    model: str
    variant: str
    parser: str


@dataclass(frozen=True)
class Answers:
    """The answers of a series.

    Attributes
    ----------
    series : Series
    ids, groups : tuple of str
        The questions and their groups.
    correct : mapping from int to ndarray of bool, shape (questions,)
        Flags of correct answers, by seed. Answers that abstain, are unparsed, cut or failed
        are not correct.
    refusal_is_right : tuple of bool
        Whether the refusal is the right answer to each question.
    """

    series: Series
    ids: tuple[str, ...]
    groups: tuple[str, ...]
    correct: dict[int, np.ndarray]
    refusal_is_right: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class PairedRow:
    """One row of `MODEL_COMPARISON`."""

    benchmark: str
    model_a: str
    variant_a: str
    parser_a: str
    model_b: str
    variant_b: str
    parser_b: str
    n: int
    groups: int
    seeds: int
    only_a: int
    only_b: int
    accuracy_a: float | None
    accuracy_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    confidence: float
    method: str
    p: float | None
    p_holm: float | None
    test: str
    pairs: int
    correlation: float | None
    standard_error: float | None
    detectable: float | None
    rank_a_low: int
    rank_a_high: int
    rank_b_low: int
    rank_b_high: int

    @property
    def a(self) -> Series:
        """The first series."""
        return Series(self.model_a, self.variant_a, self.parser_a)

    @property
    def b(self) -> Series:
        """The second series."""
        return Series(self.model_b, self.variant_b, self.parser_b)


def read_answers(
    variants: Path,
    scores: Path,
    *,
    model: str,
    variant: str,
    parsers: Sequence[str],
    seeds: Iterable[int] | None = None,
) -> list[Answers]:
    """Read the answers of a model to a variant, as each parser parsed them.

    Parameters
    ----------
    variants : Path
        The benchmark's folder of variants.
    scores : Path
        The table of the model's scores on the benchmark.
    model, variant : str
        Names for the series.
    parsers : sequence of str
        Names of the parsers. A parser without scores is left out.
    seeds : iterable of int, optional
        The seeds to read; by default all that were scored.

    Returns
    -------
    list of Answers

    Raises
    ------
    DataError
        If there are no scores, a question has no score, or the seeds differ in their questions.
    """
    in_table = tables.cells_in(scores) if scores.is_file() else []
    chosen = [seed for name, seed in in_table if name == variant and (seeds is None or seed in set(seeds))]
    if not chosen:
        raise DataError(f"no scores of the variant {variant!r}; run the workflow first", file=scores)
    ids: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    refusal_is_right: tuple[bool, ...] = ()
    correct: dict[str, dict[int, np.ndarray]] = {parser: {} for parser in parsers}
    for seed in sorted(chosen):
        file, questions = tables.Part(scores, seed, variant), asked(variants, variant, seed)
        found = _questions(questions, questions.path.stat().st_mtime_ns if questions.path.is_file() else 0)
        if ids and ids != found[0]:
            raise DataError("other questions than those of another seed; make the variants again", file=file)
        ids, groups, refusal_is_right = found
        for parser, flags in _correct(file, ids, parsers).items():
            correct[parser][seed] = flags
    return [
        Answers(Series(model, variant, name), ids, groups, by_seed, refusal_is_right)
        for name, by_seed in correct.items()
        if by_seed
    ]


@lru_cache(maxsize=256)
def _questions(part: tables.Part, time: int) -> tuple[tuple[str, ...], tuple[str, ...], tuple[bool, ...]]:
    """Ids and groups of a table of questions, and whether the refusal is right; all models have the same table."""
    table = tables.read_columns(part, tables.QUESTIONS, ("id", "group", "answer", "refusal"))
    if pc.count_distinct(table.column("id")).as_py() < len(table):
        tables.read_questions(part)  # names the id that is a duplicate
    right = pc.fill_null(pc.equal(table.column("answer"), table.column("refusal")), False)
    ids, groups, refusal_is_right = (tuple(c.to_pylist()) for c in (table.column("id"), table.column("group"), right))
    return ids, groups, refusal_is_right


def _correct(file: tables.Part, ids: Sequence[str], parsers: Sequence[str]) -> dict[str, np.ndarray]:
    """Whether the last answer to each question is correct, by parser; without the parsers that have no scores."""
    columns = ("question_id", "turn", "step", "parser", "correct")
    table = tables.read_columns(file, tables.SCORES, columns)
    table = table.filter(pc.equal(table.column("step"), ANSWER))
    places = pc.fill_null(pc.index_in(table.column("question_id"), pa.array(ids, pa.string())), -1).to_numpy()
    turns, correct = (table.column(name).to_numpy() for name in ("turn", "correct"))
    found = {}
    for parser in parsers:
        of_parser = pc.equal(table.column("parser"), parser).to_numpy()
        if not of_parser.any():
            continue
        rows = np.flatnonzero(of_parser & (places >= 0))
        rows = rows[np.lexsort((turns[rows], places[rows]))]
        rows = rows[np.append(np.diff(places[rows]) > 0, True)[: len(rows)]]  # the last of each question
        last = np.full(len(ids), -1)
        last[places[rows]] = rows
        if (last < 0).any():
            missing = ids[int(np.argmax(last < 0))]
            raise DataError(f"question {missing!r} is not scored by {parser!r}; score again", file=file)
        found[parser] = correct[last]
    return found


@lru_cache(maxsize=256)
def _codes(groups: tuple[str, ...]) -> np.ndarray:
    """The groups as numbers in the same order. Many series have the same groups."""
    return np.unique(groups, return_inverse=True)[1]


def compare_pairs(benchmark: str, answers: Sequence[Answers], *, confidence: float = 0.95) -> list[PairedRow]:
    """Compare all pairs of series, and correct the tests for the number of pairs.

    Parameters
    ----------
    benchmark : str
        Name for the rows.
    answers : sequence of Answers
        Two or more series. A pair is compared on the questions and seeds that both have.
    confidence : float, default 0.95
        Confidence level of each interval, and of all ranks together.

    Returns
    -------
    list of PairedRow
        In the order of the pairs.
    """
    rows = [_compare(benchmark, a, b, confidence) for a, b in combinations(answers, 2)]
    return correct_for_pairs(rows, confidence=confidence)


def correct_for_pairs(rows: Sequence[PairedRow], *, confidence: float = 0.95) -> list[PairedRow]:
    """Correct the tests of a family of pairs for their number, and set the ranks within the family.

    Parameters
    ----------
    rows : sequence of PairedRow
        All pairs of two or more series.
    confidence : float, default 0.95
        Confidence level of all ranks together.

    Returns
    -------
    list of PairedRow
        In the same order, with other ``p_holm``, ``pairs`` and ranks.
    """
    adjusted = holm([np.nan if row.p is None else row.p for row in rows]).tolist()
    better = [
        pair
        for row, p in zip(rows, adjusted, strict=True)
        if row.difference is not None and p <= 1 - confidence
        for pair in ([(row.a, row.b)] if row.difference > 0 else [(row.b, row.a)])
    ]
    ranks = rank_intervals(list(dict.fromkeys(side for row in rows for side in (row.a, row.b))), better)
    return [
        replace(
            row,
            p_holm=None if row.p is None else p,
            pairs=len(rows),
            rank_a_low=ranks[row.a][0],
            rank_a_high=ranks[row.a][1],
            rank_b_low=ranks[row.b][0],
            rank_b_high=ranks[row.b][1],
        )
        for row, p in zip(rows, adjusted, strict=True)
    ]


def _compare(benchmark: str, a: Answers, b: Answers, confidence: float) -> PairedRow:
    """Compare two series. The corrected p-value, and the ranks, follow when all pairs are known."""
    at_a, at_b = _common_places(a.ids, b.ids)
    seeds = sorted(a.correct.keys() & b.correct.keys())
    if not seeds:
        at_a, at_b = at_a[:0], at_b[:0]
    right_a, right_b = (
        np.array([part.correct[seed][at] for seed in seeds], dtype=int).reshape(len(seeds), len(at))
        for part, at in ((a, at_a), (b, at_b))
    )
    found = paired_difference(
        right_a.sum(axis=0),
        right_b.sum(axis=0),
        _codes(a.groups)[at_a],
        seeds=max(len(seeds), 1),
        confidence=confidence,
    )
    varies = bool(right_a.size) and right_a.std() > 0 and right_b.std() > 0
    return PairedRow(
        benchmark=benchmark,
        **{
            f"{name}_{side}": value
            for side, part in (("a", a), ("b", b))
            for name, value in asdict(part.series).items()
        },
        **{name: getattr(found, name) for name in ("n", "groups", "difference", "low", "high", "method", "p", "test")},
        seeds=len(seeds),
        only_a=len(a.ids) - found.n,
        only_b=len(b.ids) - found.n,
        accuracy_a=float(right_a.mean()) if right_a.size else None,
        accuracy_b=float(right_b.mean()) if right_b.size else None,
        confidence=confidence,
        p_holm=None,
        pairs=0,
        correlation=float(np.corrcoef(right_a.ravel(), right_b.ravel())[0, 1]) if varies else None,
        standard_error=found.standard_error,
        detectable=found.detectable,
        rank_a_low=0,
        rank_a_high=0,
        rank_b_low=0,
        rank_b_high=0,
    )


def _common_places(a: Sequence[str], b: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The places of the questions that both have, in the order of the first."""
    if a == b:
        return np.arange(len(a)), np.arange(len(b))
    place_b = {question: place for place, question in enumerate(b)}
    at_a = [place for place, question in enumerate(a) if question in place_b]
    return np.array(at_a, dtype=int), np.array([place_b[a[place]] for place in at_a], dtype=int)


def write_model_comparison(path: str | Path, rows: Iterable[PairedRow]) -> None:
    """Write a table of paired comparisons atomically; the same rows give the same bytes."""
    tables.write_dataclasses(path, rows, MODEL_COMPARISON)


def read_model_comparison(path: str | Path) -> list[PairedRow]:
    """Read a table of paired comparisons. DataError if the file is absent or is not one."""
    return tables.read_dataclasses(path, PairedRow, MODEL_COMPARISON, "a table of paired comparisons")
