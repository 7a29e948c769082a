"""Load the scores of one variant and seed, and convert them to the arrays that metrics are computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.metrics import OnDemand, Ratio, RiskCoverage, ScoreColumns, ScoredAnswers
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.edition_files import asked
from known_unknowns.errors import DataError
from known_unknowns.metrics.proportions import ScoreArrays
from known_unknowns.records import OVERALL, UNPARSED, AnsweredTurn, Question, Score
from known_unknowns.scoring import has_input
from known_unknowns.scoring.reply_table import ReplyTable, ScoreRows
from known_unknowns.scoring.table import read_turns
from known_unknowns.tables import Part


@dataclass(frozen=True)
class QuestionArrays:
    """The questions of one variant and seed, and what follows from them; the same for all models.

    Attributes
    ----------
    questions : sequence of Question
    ids, groups, categories, labels
        As in `ScoreTable`.
    refusal_is_correct, chance : ndarray, shape (questions,)
        As in `ScoreArrays`.
    """

    questions: Sequence[Question]
    ids: tuple[str, ...]
    groups: np.ndarray
    categories: Mapping[str, np.ndarray]
    labels: frozenset[str]
    refusal_is_correct: np.ndarray
    chance: np.ndarray

    @property
    def benchmark(self) -> str:
        """The benchmark's name; "" without questions."""
        return self.questions[0].benchmark if self.questions else ""

    @classmethod
    def of(cls, questions: Sequence[Question]) -> QuestionArrays:
        """Compute the arrays of the questions."""
        return cls(
            questions=questions,
            ids=tuple(question.id for question in questions),
            groups=np.array([question.group for question in questions]),
            categories=_categories(questions[0].benchmark if questions else "", questions),
            labels=frozenset(label for question in questions for label in question.labels),
            refusal_is_correct=np.array([q.answer is not None and q.answer == q.refusal for q in questions]),
            chance=np.array([0.0 if q.answer is None else 1 / len(q.options) for q in questions]),
        )


@dataclass(frozen=True)
class ScoreTable:
    """The scores of one variant and seed under each parser.

    Attributes
    ----------
    variant : str
        Name of the variant.
    seed : int
        The seed.
    ids : tuple of str
        Identifiers of the questions.
    groups : ndarray of str, shape (questions,)
        The group of each question, the cluster of the confidence intervals.
    categories : mapping from str to ndarray of bool, shape (questions,)
        The questions of each category.
    labels : frozenset of str
        All labels that the questions offer.
    answers : mapping from str to ScoredAnswers
        The answers as each parser parsed them.
    arrays : mapping from str to ScoreArrays
        The same as arrays.
    benchmark_ratios : mapping from str to mapping from str to Ratio
        The benchmark's own metrics under each parser.
    curves : mapping from str to mapping from str to RiskCoverage
        The benchmark's own curves of risk and coverage under each parser.
    without_input : frozenset of str
        Parsers that lack what they need (`known_unknowns.scoring.has_input`). Their metrics are undefined.
    """

    variant: str
    seed: int
    ids: tuple[str, ...]
    groups: np.ndarray
    categories: Mapping[str, np.ndarray]
    labels: frozenset[str]
    answers: Mapping[str, ScoredAnswers]
    arrays: Mapping[str, ScoreArrays]
    benchmark_ratios: Mapping[str, Mapping[str, Ratio]]
    curves: Mapping[str, Mapping[str, RiskCoverage]]
    without_input: frozenset[str] = frozenset()

    @classmethod
    def of(cls, variant: str, seed: int, answers: Mapping[str, ScoredAnswers]) -> ScoreTable:
        """Build the table from each parser's ``answers`` to the same questions in the same order."""
        asked = QuestionArrays.of(next(iter(answers.values())).questions)
        lacking = frozenset(name for name, scored in answers.items() if not has_input(name, scored.turns))
        return cls.of_asked(variant, seed, asked, answers, lacking)

    @classmethod
    def of_asked(
        cls,
        variant: str,
        seed: int,
        asked: QuestionArrays,
        answers: Mapping[str, ScoredAnswers],
        lacking: frozenset[str],
    ) -> ScoreTable:
        """Build the table of answers to questions whose arrays are known."""
        hooks = registry.get(asked.benchmark).metrics()
        return cls(
            variant=variant,
            seed=seed,
            ids=asked.ids,
            groups=asked.groups,
            categories=asked.categories,
            labels=asked.labels,
            answers=answers,
            arrays={
                parser: ScoreArrays(
                    scored.outcome, scored.label, scored.correct, asked.refusal_is_correct, asked.chance
                )
                for parser, scored in answers.items()
            },
            benchmark_ratios={parser: hooks.ratios(scored) for parser, scored in answers.items()},
            curves={parser: hooks.risk_coverage(scored) for parser, scored in answers.items()},
            without_input=lacking,
        )


@dataclass(frozen=True)
class CommonQuestions:
    """Answers of one seed to the questions that several variants have in common.

    Attributes
    ----------
    groups : ndarray of str, shape (questions,)
        The group of each question.
    categories : mapping from str to ndarray of bool, shape (questions,)
        The questions of each non-empty category of the first variant.
    answers : mapping from str to list of ScoredAnswers
        The answers under each variant, by parser.
    left_out : mapping from str to tuple of frozenset of str
        By category, the ids of each variant's questions that another variant lacks.
    """

    groups: np.ndarray
    categories: Mapping[str, np.ndarray]
    answers: Mapping[str, list[ScoredAnswers]]
    left_out: Mapping[str, tuple[frozenset[str], ...]]

    @classmethod
    def of(cls, tables: Sequence[ScoreTable]) -> CommonQuestions:
        """Select the questions that all ``tables`` have, by id, in the order of the first table."""
        if all(table.ids == tables[0].ids for table in tables):
            return cls._all(tables)
        places = [{question: place for place, question in enumerate(table.ids)} for table in tables]
        ids = [question for question in tables[0].ids if all(question in found for found in places)]
        of_each = [[found[question] for question in ids] for found in places]
        first = np.array(of_each[0], dtype=int)
        categories = {name: members[first] for name, members in tables[0].categories.items()}
        return cls(
            groups=tables[0].groups[first],
            categories={name: members for name, members in categories.items() if members.any()},
            answers={
                parser: [table.answers[parser].select(at) for table, at in zip(tables, of_each, strict=True)]
                for parser in tables[0].answers
            },
            left_out={
                name: tuple(_ids(table, name).difference(ids) for table in tables)
                for name in dict.fromkeys(name for table in tables for name in table.categories)
            },
        )

    @classmethod
    def _all(cls, tables: Sequence[ScoreTable]) -> CommonQuestions:
        """The questions of tables that have the same questions in the same order."""
        nothing: tuple[frozenset[str], ...] = (frozenset(),) * len(tables)
        return cls(
            groups=tables[0].groups,
            categories={name: members for name, members in tables[0].categories.items() if members.any()},
            answers={parser: [table.answers[parser] for table in tables] for parser in tables[0].answers},
            left_out=dict.fromkeys((name for table in tables for name in table.categories), nothing),
        )


def _ids(table: ScoreTable, category: str) -> frozenset[str]:
    """The questions of a category."""
    if category not in table.categories:
        return frozenset()
    return frozenset(table.ids[place] for place in np.flatnonzero(table.categories[category]))


def _categories(benchmark: str, questions: Sequence[Question]) -> dict[str, np.ndarray]:
    """All questions, the benchmark's own non-empty sets, and each category of a question, sorted."""
    category = np.array([question.category for question in questions])
    flags = {OVERALL: np.full(len(questions), True)} | dict(registry.get(benchmark).metrics().categories(questions))
    flags |= {name: category == name for name in np.unique(category).tolist()}
    return {name: members for name, members in flags.items() if name == OVERALL or members.any()}


def load(variants: Path, scores: Path, replies: Path, *, variant: str, seed: int, parsers: Sequence[str]) -> ScoreTable:
    """Load one variant and seed.

    Parameters
    ----------
    variants : Path
        The benchmark's folder of variants.
    scores, replies : Path
        The tables of a model's scores and replies.
    variant : str
        Name of the variant.
    seed : int
        The seed.
    parsers : sequence of str
        Names of the parsers to load.

    Returns
    -------
    ScoreTable

    Raises
    ------
    DataError
        If a parser's score of a question's answer is missing or doubled.
    """
    file, part = asked(variants, variant, seed), Part(replies, seed, variant)
    arrays = QuestionArrays.of(tables.read_questions(file))
    columns = ("step", "letters", "reply", "logprobs", "error")
    found = ReplyTable.read(file, arrays.ids, part, columns)
    answering = found.answering_rows()
    with_input = [parser for parser in parsers if found.has_input(parser)]
    scored = ScoreRows.read(Part(scores, seed, variant), found, with_input)
    dialogues = OnDemand(len(arrays.ids), partial(_dialogues, file, part))
    answers = {parser: _scored_answers(parser, arrays, found, answering, scored, dialogues) for parser in parsers}
    return ScoreTable.of_asked(variant, seed, arrays, answers, frozenset(parsers) - frozenset(with_input))


def _dialogues(questions: Part, replies: Part) -> list[list[AnsweredTurn]]:
    return [turns for _, turns in read_turns(questions, replies)]


def _scored_answers(
    parser: str,
    asked: QuestionArrays,
    replies: ReplyTable,
    answering: np.ndarray,
    scores: ScoreRows,
    dialogues: OnDemand,
) -> ScoredAnswers:
    """The answers as one parser parsed them; unparsed if the parser has no input."""
    count, first = len(asked.ids), replies.starts[:-1]
    rows = scores.row_of.get(parser)
    if rows is not None and (rows[answering] < 0).any():
        name = asked.ids[int(np.argmax(rows[answering] < 0))]
        raise DataError(f"question {name!r} is not scored by {parser!r}; score again", file=scores.path)
    texts = partial(_texts, replies, answering)
    columns = _score_columns(scores, None if rows is None else rows[answering], count, texts)
    turns = (answering - first).tolist()

    def score(row: int, place: int) -> Score:
        if rows is None:
            return Score(asked.ids[place], turns[place], ANSWER, parser, UNPARSED, None, None, False)
        values = [column[int(rows[row])].as_py() for column in scores.columns.columns]
        step = replies.rows.column("step")[row].as_py()
        return Score(asked.ids[place], row - int(first[place]), step, parser, *values)

    def others() -> Sequence[Mapping[str, Score]]:
        found: list[dict[str, Score]] = [{} for _ in range(count)]
        if rows is not None:
            is_other = rows >= 0
            is_other[answering] = False
            places = np.searchsorted(first, np.flatnonzero(is_other), side="right") - 1
            for row, place in zip(np.flatnonzero(is_other).tolist(), places.tolist(), strict=True):
                other = score(row, place)
                found[place][other.step] = other
        return found

    return ScoredAnswers(
        parser,
        asked.questions,
        OnDemand(count, lambda: [turns_[turn] for turns_, turn in zip(dialogues, turns, strict=True)]),
        OnDemand(count, lambda: [score(row, place) for place, row in enumerate(answering.tolist())]),
        OnDemand(count, others),
        dialogues,
        columns,
    )


def _score_columns(
    scores: ScoreRows, rows: np.ndarray | None, count: int, texts: Callable[[], list[str]]
) -> ScoreColumns:
    """The scores of these rows; unparsed without rows."""
    if rows is None:
        return ScoreColumns(
            np.full(count, UNPARSED), np.full(count, ""), np.full(count, -1), np.zeros(count, dtype=bool), texts
        )
    found = scores.columns.take(pa.array(rows))
    return ScoreColumns(
        outcome=_strings(found.column("outcome")),
        label=_strings(found.column("letter")),
        choice=pc.fill_null(found.column("choice"), -1).to_numpy(),
        correct=found.column("correct").to_numpy(),
        texts=texts,
    )


def _strings(column: pa.ChunkedArray) -> np.ndarray:
    """The column as an array of str, "" for null. Equal values are converted once."""
    encoded = pc.fill_null(column, "").combine_chunks().dictionary_encode()
    values = np.array(encoded.dictionary.to_pylist() or [""])
    return values[encoded.indices.to_numpy()]


def _texts(replies: ReplyTable, answering: np.ndarray) -> list[str]:
    """The raw replies of these rows; "" for a failed request."""
    rows = replies.rows.take(pa.array(answering))
    failed = pc.is_valid(rows.column("error"))
    texts: list[str] = pc.if_else(failed, "", rows.column("reply")).to_pylist()
    return texts
