"""Paired comparisons of models, variants or parsers on the same questions, from the tables of answers of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import numpy as np

from known_unknowns import tables
from known_unknowns.comparison.paired_rows import (
    PairedRow,
    Series,
    as_text,
    common_to_both,
    correct_for_pairs,
    write_model_comparison,
)
from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles, asked
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.metrics import dual
from known_unknowns.metrics.paired import paired_difference
from known_unknowns.metrics.run import is_baseline
from known_unknowns.metrics.summary import main_parser
from known_unknowns.records import Cell, Repeat
from known_unknowns.variants.of_benchmark import content_free


@dataclass(frozen=True)
class Answers:
    """The answers of a series. All arrays have the shape (questions,)."""

    series: Series
    ids: tuple[str, ...]  # of the questions
    groups: np.ndarray  # of each question, as numbers
    correct: dict[Repeat, np.ndarray]  # flags of correct answers
    refusal_is_right: np.ndarray  # flags of questions whose right answer is the refusal


def read_answers(
    variants: Path, answers: Path, *, model: str, variant: str, parsers: Sequence[str], repeats: Iterable[Repeat]
) -> list[Answers]:
    """Read the answers of a model to a variant, as each parser parsed them. A parser without input is left out.

    ``variants`` is the benchmark's folder of variants and ``answers`` the table of the model's answers to it. The
    ``repeats`` are read as far as they were parsed. DataError if there are no answers, a question has none, or the
    repeats differ in their questions.
    """
    known = tables.cells_in(answers) if answers.is_file() else []
    cells = [cell for cell in sorted(Cell(variant, *repeat) for repeat in repeats) if cell in known]
    if not cells:
        raise DataError(f"no answers to the variant {variant!r}; run the workflow first", file=answers)
    questions = [_questions(asked(variants, variant, cell.seed)) for cell in cells]
    ids, groups, refusal_is_right = questions[0]
    correct: dict[str, dict[Repeat, np.ndarray]] = {parser: {} for parser in parsers}
    for cell, (of_cell, _, _) in zip(cells, questions, strict=True):
        file = tables.Part(answers, cell)
        if of_cell != ids:
            raise DataError("other questions than those of another seed; make the variants again", file=file)
        for parser, flags in _correct(file, ids, parsers).items():
            correct[parser][cell.repeat] = flags
    return [
        Answers(Series(model, variant, parser), ids, groups, of_parser, refusal_is_right)
        for parser, of_parser in correct.items()
        if of_parser
    ]


@lru_cache(maxsize=256)  # all models have the same questions
def _questions(part: tables.Part) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Ids and groups of a table of questions, and whether the refusal is right."""
    frame = tables.read_columns(part, tables.QUESTIONS, ("id", "group", "answer", "refusal")).to_pandas()
    return tuple(frame["id"]), frame["group"].factorize(sort=True)[0], (frame["answer"] == frame["refusal"]).to_numpy()


def _correct(file: tables.Part, ids: Sequence[str], parsers: Sequence[str]) -> dict[str, np.ndarray]:
    """Whether the answer to each question is correct, by parser; without the parsers that had no input."""
    answers = tables.read_answers(file, ["question_id", "parser", "correct"])
    right = {}
    for parser in (parser for parser in parsers if (answers.parser == parser).any()):
        flags = answers[answers.parser == parser].set_index("question_id").correct
        places = flags.index.get_indexer(list(ids))
        if (places < 0).any():
            missing = ids[int(np.argmax(places < 0))]
            raise DataError(f"question {missing!r} is not scored by {parser!r}; score again", file=file)
        right[parser] = flags.to_numpy()[places]
    return right


def dual_series(params: Params, benchmark: str, answers: Sequence[Answers]) -> Iterator[Answers]:
    """Yield a series for each pair of variants with a dual accuracy, for every model and parser that answered both.

    An answer is correct if the question is right as published, and refused when the refusal is right. As in
    ``dual_accuracy_answerable`` (`known_unknowns.metrics.dual`), questions whose published answer is the refusal are
    left out.
    """
    by_series = {(a.series.model, a.series.parser, a.series.variant): a for a in answers}
    for pair in dual.combinations(params, benchmark):
        for (model, parser, variant), first in by_series.items():
            second = by_series.get((model, parser, pair.variants[1]))
            if variant == pair.variants[0] and second is not None:
                at_second, at_first = _common_places(second.ids, first.ids)
                counted = second.refusal_is_right[at_second] & ~first.refusal_is_right[at_first]
                if counted.any():
                    yield _both_correct(pair.name, first, second, at_first[counted], at_second[counted])


def _both_correct(name: str, first: Answers, second: Answers, at_first: np.ndarray, at_second: np.ndarray) -> Answers:
    """Return the questions of a pair of variants. One seed of a variant is combined with every seed of the other."""
    pairs = {each: (each, each) for each in sorted(first.correct.keys() & second.correct.keys())}
    if len(second.correct) == 1:
        pairs = {each: (each, next(iter(second.correct))) for each in first.correct}
    elif len(first.correct) == 1:
        pairs = {each: (next(iter(first.correct)), each) for each in second.correct}
    return Answers(
        replace(first.series, variant=name),
        tuple(first.ids[place] for place in at_first),
        first.groups[at_first],
        {each: first.correct[a][at_first] & second.correct[b][at_second] for each, (a, b) in pairs.items()},
        np.full(len(at_first), True),
    )


def compare_pairs(benchmark: str, answers: Sequence[Answers], *, confidence: float = 0.95) -> list[PairedRow]:
    """Compare all pairs of series, and correct the tests for the number of pairs.

    A pair is compared on the questions and seeds that both have. ``confidence`` is the level of each interval, and of
    all ranks together.
    """
    rows = [_compare(benchmark, a, b, confidence) for a, b in combinations(answers, 2)]
    return correct_for_pairs(rows, confidence=confidence)


def _compare(benchmark: str, a: Answers, b: Answers, confidence: float) -> PairedRow:
    """Compare two series. The corrected p-value, and the ranks, follow when all pairs are known."""
    repeats = sorted(a.correct.keys() & b.correct.keys())
    at_a, at_b = _common_places(a.ids, b.ids if repeats else ())
    right_a, right_b = (
        np.array([part.correct[each][at] for each in repeats], dtype=int).reshape(len(repeats), len(at))
        for part, at in ((a, at_a), (b, at_b))
    )
    difference = paired_difference(
        right_a.sum(axis=0), right_b.sum(axis=0), a.groups[at_a], seeds=max(len(repeats), 1), confidence=confidence
    )
    varies = bool(right_a.size) and right_a.std() > 0 and right_b.std() > 0
    return PairedRow(
        benchmark=benchmark,
        **{f"{name}_a": value for name, value in asdict(a.series).items()},
        **{f"{name}_b": value for name, value in asdict(b.series).items()},
        **difference._asdict(),
        seeds=len(repeats),
        only_a=len(a.ids) - difference.n,
        only_b=len(b.ids) - difference.n,
        accuracy_a=float(right_a.mean()) if right_a.size else None,
        accuracy_b=float(right_b.mean()) if right_b.size else None,
        confidence=confidence,
        p_holm=None,
        pairs=0,
        correlation=float(np.corrcoef(right_a.ravel(), right_b.ravel())[0, 1]) if varies else None,
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


@dataclass(frozen=True)
class Selection:
    """What to compare. One of models, variants and parsers is compared in pairs, for each of the others.

    Without ``variants``, all variants of the benchmark with content are compared.
    """

    models: Sequence[str]
    benchmarks: Sequence[str]
    variants: Sequence[str]
    parsers: Sequence[str]

    @property
    def compared(self) -> str:
        """The attribute of a `Series` that differs within a pair. ConfigError if there is no such pair."""
        several = [("variant", self.variants), ("parser", self.parsers)]
        varied = ["model"] if len(self.models) > 1 else [name for name, chosen in several if len(chosen) > 1]
        if len(varied) != 1:
            raise ConfigError("a comparison needs two models, or one model and two variants or two parsers")
        return varied[0]

    def check(self, params: Params) -> None:
        """Raise ConfigError if a name is unknown, or a selected variant has no content."""
        for name in self.models:
            params.model(name)
        variants = {name for benchmark in self.benchmarks for name in params.variants(benchmark)}
        for option, names, known in (
            ("--benchmark", self.benchmarks, params.file.benchmarks),
            ("--variant", self.variants, variants),
            ("--parser", self.parsers, params.parsers),
        ):
            for name in names:
                if name not in known:
                    raise ConfigError(unknown_name(name, known), path=option)
        for benchmark in self.benchmarks:
            if free := content_free(params, benchmark) & set(self.variants):
                text = f"{min(free)!r} has no content, so that it is not compared by accuracy; its metric is recognised"
                raise ConfigError(text, path="--variant")


def compare_selection(params: Params, selection: Selection, files: EditionFiles) -> list[PairedRow]:
    """Compare what was selected, in all pairs. DataError if answers are missing.

    Variants without content (`Variant.content_free`) are left out. Models are also compared by their dual accuracy of
    answerable questions on two selected variants (`known_unknowns.metrics.dual`); the variant of such a row is
    ``<first>+<second>``. The tests are corrected for the pairs that have the same benchmark and, if models are
    compared, the same variant and parser. Pairs of two models are corrected without the pairs that have a baseline.
    """
    selection.check(params)
    rows: list[PairedRow] = []
    for benchmark in selection.benchmarks:
        families: dict[tuple[str, ...], list[Answers]] = {}
        found = list(_read(params, selection, benchmark, files))
        if selection.compared == "model":
            found += dual_series(params, benchmark, found)
        for answers in found:
            families.setdefault(common_to_both(answers.series, selection.compared), []).append(answers)
        for family in families.values():
            pairs = compare_pairs(benchmark, family, confidence=params.statistics.confidence)
            rows += _without_baselines(params, pairs) if selection.compared == "model" else pairs
    return rows


def _without_baselines(params: Params, rows: Sequence[PairedRow]) -> list[PairedRow]:
    """Correct pairs of two models for these pairs alone. A pair with a baseline stays corrected for all pairs."""
    baselines = {row.model_a for row in rows if is_baseline(params, row.model_a)}
    baselines |= {row.model_b for row in rows if is_baseline(params, row.model_b)}
    own = [row for row in rows if baselines.isdisjoint({row.model_a, row.model_b})]
    corrected = {(row.a, row.b): row for row in correct_for_pairs(own, confidence=params.statistics.confidence)}
    return [corrected.get((row.a, row.b), row) for row in rows]


def compare_edition(params: Params, files: EditionFiles, out: Path) -> None:
    """Write the comparison of the edition's models with each other, by the main parser; no row if there is only one."""
    rows: list[PairedRow] = []
    if len(params.models) > 1:
        selection = Selection(params.models, params.benchmarks, (), (main_parser(params.parsers),))
        rows = compare_selection(params, selection, files)
        print(as_text(rows, selection.compared))
    write_model_comparison(out, rows)


def _read(params: Params, selection: Selection, benchmark: str, files: EditionFiles) -> Iterator[Answers]:
    """The selected answers to a benchmark's variants with content. Imported models have some of the variants only."""
    left_out = content_free(params, benchmark)
    for model in dict.fromkeys(selection.models):
        cells = params.cells(benchmark, model)
        for variant in dict.fromkeys(cell.variant for cell in cells):
            if variant not in left_out and (not selection.variants or variant in selection.variants):
                yield from read_answers(
                    files.variants(benchmark),
                    files.answers(model, benchmark),
                    model=model,
                    variant=variant,
                    parsers=list(dict.fromkeys(selection.parsers)),
                    repeats=[cell.repeat for cell in cells if cell.variant == variant],
                )
