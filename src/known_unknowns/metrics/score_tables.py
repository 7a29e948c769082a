"""Load the scores of one variant and seed, and convert them to the arrays that metrics are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from known_unknowns.benchmark import registry
from known_unknowns.benchmark.metrics import Ratio, RiskCoverage, ScoreArrays, ScoredAnswers
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.edition_files import asked
from known_unknowns.errors import DataError
from known_unknowns.metrics.confidence_sources import Confidences, low_mass
from known_unknowns.records import OVERALL, UNPARSED, AnsweredTurn, Question, Score
from known_unknowns.scoring import has_input
from known_unknowns.scoring.dialogues import ScoresByTurn, final_answers, read_scores, read_turns
from known_unknowns.scoring.likelihood import LIKELIHOOD, label_mass
from known_unknowns.tables import Part
from known_unknowns.tables.confidence_sources import PARSER

LABEL_MASS = "label_mass"


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
    arrays : mapping from str to ScoreArrays
        The scores under each parser.
    benchmark_ratios : mapping from str to mapping from str to Ratio
        The benchmark's own metrics under each parser.
    curves : mapping from str to mapping from str to RiskCoverage
        The benchmark's own curves of risk and coverage under each parser.
    undefined : mapping from str to str
        Parsers whose metrics are undefined, with the reason: they lack what they need
        (`known_unknowns.scoring.has_input`), or the labels have less than `likelihood.LEAST_MASS` of the probability.
    confidences : Confidences, optional
        The confidences of single dialogues; None without the robust parser.
    """

    variant: str
    seed: int
    ids: tuple[str, ...]
    groups: np.ndarray
    categories: Mapping[str, np.ndarray]
    labels: frozenset[str]
    arrays: Mapping[str, ScoreArrays]
    benchmark_ratios: Mapping[str, Mapping[str, Ratio]]
    curves: Mapping[str, Mapping[str, RiskCoverage]]
    undefined: Mapping[str, str] = field(default_factory=dict)
    confidences: Confidences | None = None

    @classmethod
    def of(cls, variant: str, seed: int, answers: Mapping[str, ScoredAnswers]) -> ScoreTable:
        """Build the table from each parser's ``answers`` to the same questions in the same order."""
        questions = next(iter(answers.values())).questions
        benchmark = questions[0].benchmark if questions else ""
        hooks = registry.get(benchmark).metrics()
        return cls(
            variant=variant,
            seed=seed,
            ids=tuple(question.id for question in questions),
            groups=np.array([question.group for question in questions]),
            categories=_categories(benchmark, questions),
            labels=frozenset(label for question in questions for label in question.labels),
            arrays={parser: scored.arrays for parser, scored in answers.items()},
            benchmark_ratios={
                parser: {**hooks.ratios(scored), **_label_mass(scored)} for parser, scored in answers.items()
            },
            curves={parser: hooks.risk_coverage(scored) for parser, scored in answers.items()},
            undefined={parser: reason for parser, scored in answers.items() if (reason := _undefined(scored))},
            confidences=Confidences.of(answers[PARSER]) if PARSER in answers else None,
        )


def _label_mass(scored: ScoredAnswers) -> dict[str, Ratio]:
    """The mean probability of all labels together, under the likelihood parser alone; see `label_mass`."""
    if scored.parser != LIKELIHOOD:
        return {}
    masses = [label_mass(turn) for turn in scored.answers]
    known = np.array([mass is not None for mass in masses], dtype=float)
    return {LABEL_MASS: Ratio(np.array([mass or 0.0 for mass in masses]), known)}


def _undefined(scored: ScoredAnswers) -> str:
    """Why the parser's metrics are undefined; "" if they are defined."""
    if not has_input(scored.parser, scored.turns):
        return "undefined: no reply has what the parser needs"
    return low_mass(scored.answers) if scored.parser == LIKELIHOOD else ""


@dataclass(frozen=True)
class CommonQuestions:
    """Scores of one seed for the questions that several variants have in common.

    Attributes
    ----------
    groups : ndarray of str, shape (questions,)
        The group of each question.
    categories : mapping from str to ndarray of bool, shape (questions,)
        The questions of each non-empty category of the first variant.
    arrays : mapping from str to list of ScoreArrays
        The scores under each variant, by parser.
    left_out : mapping from str to tuple of frozenset of str
        By category, the ids of each variant's questions that another variant lacks.
    """

    groups: np.ndarray
    categories: Mapping[str, np.ndarray]
    arrays: Mapping[str, list[ScoreArrays]]
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
            arrays={
                parser: [table.arrays[parser].select(at) for table, at in zip(tables, of_each, strict=True)]
                for parser in tables[0].arrays
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
    flags = {OVERALL: np.full(len(questions), True)} | dict(registry.get(benchmark).metrics().categories(questions))
    flags |= {name: category == name for name in np.unique(category).tolist()}
    return {name: members for name, members in flags.items() if name == OVERALL or members.any()}


def load(
    variants: Path,
    scores: Path,
    replies: Path,
    *,
    variant: str,
    seed: int,
    parsers: Sequence[str],
    kept: str | None = None,
) -> ScoreTable:
    """Load the scores of a model for one variant and seed. ``variants`` is the benchmark's folder of variants.

    ``kept`` is the pattern of what the official parser reads of a reply (`known_unknowns.benchmark.kept_part`).

    Raises
    ------
    DataError
        If a parser's score of a question's answer is missing or doubled.
    """
    part, file = Part(replies, seed, variant), Part(scores, seed, variant)
    pairs = read_turns(asked(variants, variant, seed), part)
    answers = [turn for _, turn in final_answers(pairs, file=part)]
    turns = [turn for _, of_question in pairs for turn in of_question]
    scored = read_scores(file, pairs, [parser for parser in parsers if has_input(parser, turns)])
    found = {parser: _scored_answers(parser, pairs, answers, scored.get(parser), file, kept) for parser in parsers}
    return ScoreTable.of(variant, seed, found)


def _scored_answers(
    parser: str,
    pairs: Sequence[tuple[Question, list[AnsweredTurn]]],
    answers: Sequence[AnsweredTurn],
    scored: ScoresByTurn | None,
    file: Part,
    kept: str | None,
) -> ScoredAnswers:
    """The answers as one parser parsed them; unparsed if the parser has no input."""
    scores: list[Score] = []
    others: list[dict[str, Score]] = []
    for (question, turns), answer in zip(pairs, answers, strict=True):
        unparsed = Score(question.id, answer.turn, ANSWER, parser, UNPARSED, None, None, False)
        found = (
            {answer.turn: unparsed}
            if scored is None
            else {turn.turn: scored[question.id, turn.turn] for turn in turns if (question.id, turn.turn) in scored}
        )
        if answer.turn not in found:
            raise DataError(f"question {question.id!r} is not scored by {parser!r}; score again", file=file)
        scores.append(found.pop(answer.turn))
        others.append({score.step: score for score in found.values()})
    return ScoredAnswers(
        parser=parser,
        questions=[question for question, _ in pairs],
        answers=answers,
        scores=scores,
        other_scores=others,
        dialogues=[turns for _, turns in pairs],
        kept=kept,
    )
