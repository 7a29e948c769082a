"""Load the scores of one variant and seed, and convert them to the arrays that metrics are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from known_unknowns import tables
from known_unknowns.errors import DataError
from known_unknowns.metrics import benchmark_hooks
from known_unknowns.metrics.benchmark_hooks import ScoredAnswers
from known_unknowns.metrics.proportions import Ratio, ScoreArrays
from known_unknowns.metrics.selective import RiskCoverage
from known_unknowns.records import OVERALL, UNPARSED, AnsweredTurn, Question, Score
from known_unknowns.scoring import has_input
from known_unknowns.scoring.table import final_answers, read_turns


@dataclass(frozen=True)
class ScoreTable:
    """The scores of one variant and seed under each scorer.

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
        The answers as each scorer parsed them.
    arrays : mapping from str to ScoreArrays
        The same as arrays.
    benchmark_ratios : mapping from str to mapping from str to Ratio
        The benchmark's own metrics under each scorer.
    curves : mapping from str to mapping from str to RiskCoverage
        The benchmark's own curves of risk and coverage under each scorer.
    without_input : frozenset of str
        Scorers that lack what they need (`known_unknowns.scoring.has_input`). Their metrics are undefined.
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
        """Build the table from each scorer's ``answers`` to the same questions in the same order."""
        questions = next(iter(answers.values())).questions
        benchmark = questions[0].benchmark if questions else ""
        hooks = benchmark_hooks.of(benchmark)
        return cls(
            variant=variant,
            seed=seed,
            ids=tuple(question.id for question in questions),
            groups=np.array([question.group for question in questions]),
            categories=_categories(benchmark, questions),
            labels=frozenset(label for question in questions for label in question.labels),
            answers=answers,
            arrays={scorer: ScoreArrays.of(questions, scored.scores) for scorer, scored in answers.items()},
            benchmark_ratios={scorer: hooks.ratios(scored) for scorer, scored in answers.items()},
            curves={scorer: hooks.risk_coverage(scored) for scorer, scored in answers.items()},
            without_input=frozenset(name for name, scored in answers.items() if not has_input(name, scored.turns)),
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
        The answers under each variant, by scorer.
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
        places = [{question: place for place, question in enumerate(table.ids)} for table in tables]
        ids = [question for question in tables[0].ids if all(question in found for found in places)]
        of_each = [[found[question] for question in ids] for found in places]
        first = np.array(of_each[0], dtype=int)
        categories = {name: members[first] for name, members in tables[0].categories.items()}
        return cls(
            groups=tables[0].groups[first],
            categories={name: members for name, members in categories.items() if members.any()},
            answers={
                scorer: [table.answers[scorer].select(at) for table, at in zip(tables, of_each, strict=True)]
                for scorer in tables[0].answers
            },
            left_out={
                name: tuple(_ids(table, name).difference(ids) for table in tables)
                for name in dict.fromkeys(name for table in tables for name in table.categories)
            },
        )


def _ids(table: ScoreTable, category: str) -> frozenset[str]:
    """The questions of a category."""
    if category not in table.categories:
        return frozenset()
    return frozenset(table.ids[place] for place in np.flatnonzero(table.categories[category]))


def _categories(benchmark: str, questions: Sequence[Question]) -> dict[str, np.ndarray]:
    """All questions, the benchmark's own non-empty sets, and each category of a question, sorted."""
    category = np.array([question.category for question in questions])
    flags = {OVERALL: np.full(len(questions), True)} | dict(benchmark_hooks.of(benchmark).categories(questions))
    flags |= {name: category == name for name in np.unique(category).tolist()}
    return {name: members for name, members in flags.items() if name == OVERALL or members.any()}


def load(
    questions: Path, scores: Path, replies: Path, *, variant: str, seed: int, scorers: Sequence[str]
) -> ScoreTable:
    """Load one variant and seed.

    Parameters
    ----------
    questions, scores, replies : Path
        Folders of <variant>/seed<k>.parquet.
    variant : str
        Name of the variant.
    seed : int
        The seed.
    scorers : sequence of str
        Names of the scorers to load.

    Returns
    -------
    ScoreTable

    Raises
    ------
    DataError
        If a scorer's score of a question's answer is missing or doubled.
    """
    name = Path(variant) / f"seed{seed}.parquet"
    pairs = read_turns(questions / name, replies / name)
    answered = list(final_answers(pairs, file=replies / name))
    turn_numbers = {question.id: turn.turn for question, turn in answered}
    with_input = [name for name in scorers if has_input(name, (turn for _, turns in pairs for turn in turns))]
    answer_scores, other_scores = _scores(scores / name, turn_numbers, with_input)
    for scorer in set(scorers) - set(with_input):
        answer_scores[scorer] = [_unparsed(turn, scorer) for _, turn in answered]
        other_scores[scorer] = [{} for _ in answered]
    answered_questions, turns = zip(*answered, strict=True) if answered else ((), ())
    dialogues = [dialogue for _, dialogue in pairs]
    scored = {
        scorer: ScoredAnswers(scorer, answered_questions, turns, answer_scores[scorer], other_scores[scorer], dialogues)
        for scorer in scorers
    }
    return ScoreTable.of(variant, seed, scored)


def _unparsed(turn: AnsweredTurn, scorer: str) -> Score:
    return Score(turn.question_id, turn.turn, turn.step, scorer, UNPARSED, None, None, False)


_AnswerScores = dict[str, list[Score]]
_OtherScores = dict[str, list[Mapping[str, Score]]]


def _scores(file: Path, turn_numbers: Mapping[str, int], scorers: Sequence[str]) -> tuple[_AnswerScores, _OtherScores]:
    """Scores by scorer, in the order of ``turn_numbers``: of the turn that answers each question, and of its other
    turns by step (the last turn of a step that was taken twice)."""
    answer: dict[str, dict[str, Score]] = {scorer: {} for scorer in scorers}
    other: dict[str, dict[str, dict[str, Score]]] = {scorer: {id: {} for id in turn_numbers} for scorer in scorers}
    for row, score in enumerate(tables.read_scores(file)):
        if score.question_id not in turn_numbers:
            raise DataError(f"question {score.question_id!r} was never asked; score again", file=file, row=row)
        if score.scorer not in answer:
            continue
        if score.turn != turn_numbers[score.question_id]:
            other[score.scorer][score.question_id][score.step] = score
            continue
        if score.question_id in answer[score.scorer]:
            message = f"question {score.question_id!r} is scored twice by {score.scorer!r}; score again"
            raise DataError(message, file=file, row=row)
        answer[score.scorer][score.question_id] = score
    for scorer, by_question in answer.items():
        missing = next((id for id in turn_numbers if id not in by_question), None)
        if missing is not None:
            raise DataError(f"question {missing!r} is not scored by {scorer!r}; score again", file=file)
    return (
        {scorer: [by_question[id] for id in turn_numbers] for scorer, by_question in answer.items()},
        {scorer: [by_question[id] for id in turn_numbers] for scorer, by_question in other.items()},
    )
