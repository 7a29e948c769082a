"""One variant and seed, reduced to the arrays that metrics are counted from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from known_unknowns import benchmarks, tables
from known_unknowns.errors import DataError
from known_unknowns.metrics.proportions import Observed, Ratio
from known_unknowns.records import Asked, Question, Score
from known_unknowns.scoring import answers, paired

OFFICIAL = "official"


@dataclass(frozen=True)
class Table:
    """What became of every question of one variant and seed, under each scorer.

    ``groups`` and ``categories`` are arrays (questions,); ``letters`` are all that the questions offer;
    ``released`` has the metrics that only the benchmark's released code counts.
    """

    variant: str
    seed: int
    ids: tuple[str, ...]
    groups: np.ndarray
    categories: np.ndarray
    letters: frozenset[str]
    observed: Mapping[str, Observed]
    released: Mapping[str, Ratio]

    @classmethod
    def of(
        cls,
        variant: str,
        seed: int,
        answered: Sequence[tuple[Question, Asked]],
        scores: Mapping[str, Sequence[Score]],
    ) -> Table:
        """``answered`` are the questions, each with the turn that answers it; ``scores`` each scorer's readings of
        these turns, in the same order."""
        questions = [question for question, _ in answered]
        return cls(
            variant=variant,
            seed=seed,
            ids=tuple(question.id for question in questions),
            groups=np.array([question.group for question in questions]),
            categories=np.array([question.category for question in questions]),
            letters=frozenset(letter for question in questions for letter in question.letters),
            observed={scorer: Observed.of(questions, read) for scorer, read in scores.items()},
            released=_released(answered, scores[OFFICIAL]) if OFFICIAL in scores else {},
        )


def load(questions: Path, scores: Path, replies: Path, *, variant: str, seed: int, scorers: Sequence[str]) -> Table:
    """Read one variant and seed; the folders are as in `known_unknowns.metrics.measure`.

    Raises DataError unless every scorer has read every question's answer exactly once.
    """
    name = Path(variant) / f"seed{seed}.parquet"
    answered = list(answers(paired(questions / name, replies / name), file=replies / name))
    turns = {question.id: asked.turn for question, asked in answered}
    return Table.of(variant, seed, answered, _scores(scores / name, turns, scorers))


def _scores(file: Path, turns: Mapping[str, int], scorers: Sequence[str]) -> dict[str, list[Score]]:
    """Each scorer's reading of the turn that answers each question, in the order of ``turns``."""
    found: dict[str, dict[str, Score]] = {scorer: {} for scorer in scorers}
    for row, score in enumerate(tables.read_scores(file)):
        if score.question_id not in turns:
            raise DataError(f"question {score.question_id!r} was never asked; score again", file=file, row=row)
        if score.scorer not in found or score.turn != turns[score.question_id]:
            continue
        if score.question_id in found[score.scorer]:
            message = f"question {score.question_id!r} is scored twice by {score.scorer!r}; score again"
            raise DataError(message, file=file, row=row)
        found[score.scorer][score.question_id] = score
    for scorer, by_question in found.items():
        missing = next((identifier for identifier in turns if identifier not in by_question), None)
        if missing is not None:
            raise DataError(f"question {missing!r} is not scored by {scorer!r}; score again", file=file)
    return {scorer: [by_question[identifier] for identifier in turns] for scorer, by_question in found.items()}


def _released(answered: Sequence[tuple[Question, Asked]], scores: Sequence[Score]) -> dict[str, Ratio]:
    """What the benchmark's released code counts besides: ``official_metrics`` of its module, where it has any."""
    questions = [question for question, _ in answered]
    count = getattr(benchmarks.get(questions[0].benchmark), "official_metrics", None) if questions else None
    if count is None:
        return {}
    texts = ["" if asked.reply.error is not None else asked.reply.text for _, asked in answered]
    counted = count(questions, texts, [score.letter for score in scores])
    return {name: Ratio(np.array(above), np.array(below)) for name, (above, below) in counted.items()}
