"""One variant and seed, reduced to the arrays that metrics are counted from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from known_unknowns import tables
from known_unknowns.errors import DataError
from known_unknowns.metrics import benchmark_hooks
from known_unknowns.metrics.benchmark_hooks import Scored
from known_unknowns.metrics.proportions import Observed, Ratio
from known_unknowns.metrics.selective import RiskCoverage
from known_unknowns.records import OVERALL, Question, Score
from known_unknowns.scoring.table import answers, paired


@dataclass(frozen=True)
class Table:
    """What became of every question of one variant and seed, under each scorer.

    ``groups`` is an array (questions,), ``categories`` has one of flags for each; ``labels`` are all that the
    questions offer; ``own`` and ``curves`` are what only this benchmark counts.
    """

    variant: str
    seed: int
    ids: tuple[str, ...]
    groups: np.ndarray
    categories: Mapping[str, np.ndarray]
    labels: frozenset[str]
    scored: Mapping[str, Scored]
    observed: Mapping[str, Observed]
    own: Mapping[str, Mapping[str, Ratio]]
    curves: Mapping[str, Mapping[str, RiskCoverage]]

    @classmethod
    def of(cls, variant: str, seed: int, scored: Mapping[str, Scored]) -> Table:
        """``scored`` is what each scorer made of the same questions in the same order."""
        questions = next(iter(scored.values())).questions
        benchmark = questions[0].benchmark if questions else ""
        return cls(
            variant=variant,
            seed=seed,
            ids=tuple(question.id for question in questions),
            groups=np.array([question.group for question in questions]),
            categories=_categories(benchmark, questions),
            labels=frozenset(label for question in questions for label in question.labels),
            scored=scored,
            observed={scorer: Observed.of(questions, s.readings) for scorer, s in scored.items()},
            own={scorer: benchmark_hooks.of(benchmark).ratios(s) for scorer, s in scored.items()},
            curves={scorer: benchmark_hooks.of(benchmark).risk_coverage(s) for scorer, s in scored.items()},
        )


def _categories(benchmark: str, questions: Sequence[Question]) -> dict[str, np.ndarray]:
    """All questions, the benchmark's own sets that are not empty, and each category of a question, sorted."""
    of_question = np.array([question.category for question in questions])
    found = {OVERALL: np.full(len(questions), True)} | dict(benchmark_hooks.of(benchmark).categories(questions))
    found |= {name: of_question == name for name in np.unique(of_question).tolist()}
    return {name: among for name, among in found.items() if name == OVERALL or among.any()}


def load(questions: Path, scores: Path, replies: Path, *, variant: str, seed: int, scorers: Sequence[str]) -> Table:
    """Read one variant and seed; the folders are as in `known_unknowns.metrics.measure`.

    Raises DataError unless every scorer has read every question's answer exactly once.
    """
    name = Path(variant) / f"seed{seed}.parquet"
    pairs = paired(questions / name, replies / name)
    answered = list(answers(pairs, file=replies / name))
    turns = {question.id: asked.turn for question, asked in answered}
    read, later = _scores(scores / name, turns, scorers)
    asked_of, asked = zip(*answered, strict=True) if answered else ((), ())
    dialogues = [asked for _, asked in pairs]
    scored = {scorer: Scored(scorer, asked_of, asked, read[scorer], later[scorer], dialogues) for scorer in scorers}
    return Table.of(variant, seed, scored)


_Readings = dict[str, list[Score]]
_Later = dict[str, list[Mapping[str, Score]]]


def _scores(file: Path, turns: Mapping[str, int], scorers: Sequence[str]) -> tuple[_Readings, _Later]:
    """Each scorer's reading of the turn that answers each question, and of its other turns, by step (of a step that
    was taken twice, the last), in the order of ``turns``."""
    found: dict[str, dict[str, Score]] = {scorer: {} for scorer in scorers}
    later: dict[str, dict[str, dict[str, Score]]] = {scorer: {id: {} for id in turns} for scorer in scorers}
    for row, score in enumerate(tables.read_scores(file)):
        if score.question_id not in turns:
            raise DataError(f"question {score.question_id!r} was never asked; score again", file=file, row=row)
        if score.scorer not in found:
            continue
        if score.turn != turns[score.question_id]:
            later[score.scorer][score.question_id][score.step] = score
            continue
        if score.question_id in found[score.scorer]:
            message = f"question {score.question_id!r} is scored twice by {score.scorer!r}; score again"
            raise DataError(message, file=file, row=row)
        found[score.scorer][score.question_id] = score
    for scorer, by_question in found.items():
        missing = next((identifier for identifier in turns if identifier not in by_question), None)
        if missing is not None:
            raise DataError(f"question {missing!r} is not scored by {scorer!r}; score again", file=file)
    return (
        {scorer: [by_question[identifier] for identifier in turns] for scorer, by_question in found.items()},
        {scorer: [by_question[identifier] for identifier in turns] for scorer, by_question in later.items()},
    )
