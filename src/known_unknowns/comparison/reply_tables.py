"""What only replies to each question show: parsers, variants and models compared question by question.

| table           | one row is                                                                                     |
|-----------------|------------------------------------------------------------------------------------------------|
| parsers.csv     | a model and a variant: the official and the robust parser on the same replies                   |
| sensitivity.csv | a model and a variant: accuracy, and shares of refused and of abstained questions, less those of  |
|                 | the questions as published                                                                     |
| agreement.csv   | two models and a variant: how often both give the same answer                                   |
| questions.csv   | a question as published: how many models are right, and the answer of most of them              |
| all_wrong.csv   | the questions of questions.csv that no model answers correctly                                  |

Differences are paired by question, with intervals clustered by group (`known_unknowns.metrics.paired`). A question that
no model answers correctly may have a wrong label: it is a candidate for a review, not an error. On variants without
content (`Variant.content_free`) accuracies are not compared, and only the official one is stated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from known_unknowns import tables
from known_unknowns.benchmark.metrics import ScoreArrays
from known_unknowns.edition_files import asked, scores_table
from known_unknowns.errors import DataError
from known_unknowns.files import write_text
from known_unknowns.metrics.paired import paired_difference
from known_unknowns.records import Question
from known_unknowns.scoring.dialogues import final_scores
from known_unknowns.variants.of_benchmark import content_free

if TYPE_CHECKING:
    from known_unknowns.config import Params

OFFICIAL, ROBUST = "official", "robust"
_PARSERS = (OFFICIAL, ROBUST)
TABLES = ("parsers", "sensitivity", "agreement", "questions", "all_wrong")


@dataclass(frozen=True)
class Variant:
    """A variant with the scores of every model that has some, by model and parser."""

    name: str
    groups: np.ndarray
    questions: Sequence[Question]
    answers: Mapping[tuple[str, str], ScoreArrays]
    content_free: bool = False

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(model for model, _ in self.answers))


def write_tables(params: Params, benchmark: str, *, variants: Path, scores: Path, out: Path) -> None:
    """Write the tables of the module's docstring. A table without rows has its header only.

    ``variants`` is the benchmark's folder of variants, ``scores`` the edition's folder of scores; of each variant, the
    first seed counts.

    Raises
    ------
    DataError
        If scores are missing, or are not those of the questions.
    """
    found = {name: _read(params, benchmark, name, variants, scores) for name in params.variants(benchmark)}
    confidence = params.statistics.confidence
    base = next((v for name, v in found.items() if params.variant(name).function == "original"), None)
    as_published = list(_questions(base)) if base is not None else []
    written = {
        "parsers": (_PARSER_COLUMNS, _parsers(found.values(), confidence)),
        "sensitivity": (_SENSITIVITY_COLUMNS, _sensitivity(base, found.values(), confidence) if base else ()),
        "agreement": (_AGREEMENT_COLUMNS, _agreement(found.values())),
        "questions": (_QUESTION_COLUMNS, as_published),
        "all_wrong": (_QUESTION_COLUMNS, [row for row in as_published if row["right"] == 0 and row["models"] > 1]),
    }
    for name, (columns, rows) in written.items():
        frame = pd.DataFrame(list(rows), columns=list(columns))
        write_text(out / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))


def _read(params: Params, benchmark: str, variant: str, variants: Path, scores: Path) -> Variant:
    seed = params.seeds_of(benchmark, variant)[0]
    models = [model for model in params.models if (variant, seed) in params.cells(benchmark, model)]
    if not models:
        return Variant(variant, np.array([]), (), {})
    questions = tables.read_questions(asked(variants, variant, seed))
    answers = {
        (model, parser): found
        for model in models
        for parser, found in _answers(
            tables.Part(scores_table(scores, model, benchmark), seed, variant), questions
        ).items()
    }
    groups = np.unique([question.group for question in questions], return_inverse=True)[1]
    return Variant(variant, groups, questions, answers, variant in content_free(params, benchmark))


def _answers(file: tables.Part, questions: Sequence[Question]) -> dict[str, ScoreArrays]:
    """The scores of the answer to each question, by parser."""
    scores = final_scores(tables.read_scores(file))
    found = {}
    for parser in _PARSERS:
        if of_parser := scores.get(parser):
            if of_parser.keys() != {question.id for question in questions}:
                raise DataError("not the scores of these questions; score again", file=file)
            found[parser] = ScoreArrays.of(questions, [of_parser[question.id] for question in questions])
    return found


_DIFFERENCE = ("difference", "low", "high", "p", "method", "test")
_PARSER_COLUMNS = (
    *("model", "variant", "n", "failed", "changed", "official", "robust", *_DIFFERENCE),
    *("official_refused", "robust_refused", "robust_abstained"),
)


def _parsers(variants: Any, confidence: float) -> Iterator[dict[str, Any]]:
    """Robust less official accuracy. ``changed`` counts replies that the parsers parse differently."""
    for variant in variants:
        for model in variant.models:
            official, robust = (variant.answers.get((model, parser)) for parser in _PARSERS)
            if official is None or robust is None:
                continue
            changed = official.choice != robust.choice
            changed |= (official.refused != robust.refused) | (official.abstained != robust.abstained)
            compared = {}
            if not variant.content_free:
                compared = {"robust": robust.correct.mean()}
                compared |= _difference(robust.correct, official.correct, variant.groups, confidence)
            yield {
                "model": model,
                "variant": variant.name,
                "n": len(official.correct),
                "failed": int(official.failed.sum()),
                "changed": int(changed.sum()),
                "official": official.correct.mean(),
                **compared,
                "official_refused": official.refused.mean(),
                "robust_refused": robust.refused.mean(),
                "robust_abstained": robust.abstained.mean(),
            }


def _difference(first: np.ndarray, second: np.ndarray, groups: np.ndarray, confidence: float) -> dict[str, Any]:
    found = paired_difference(first.astype(int), second.astype(int), groups, confidence=confidence)
    return {name: getattr(found, name) for name in _DIFFERENCE}


_SENSITIVITY_COLUMNS = ("model", "variant", "parser", "measure", "n", "as_published", "changed", *_DIFFERENCE)


def _sensitivity(base: Variant, variants: Any, confidence: float) -> Iterator[dict[str, Any]]:
    """The changes of accuracy, and of the shares of refused and abstained questions, when the question is changed."""
    place = {question.id: index for index, question in enumerate(base.questions)}
    for variant in variants:
        if variant.name == base.name:
            continue
        here = [i for i, question in enumerate(variant.questions) if question.id in place]
        there = [place[variant.questions[i].id] for i in here]
        for (model, parser), changed in variant.answers.items():
            published = base.answers.get((model, parser))
            if published is None or not here:
                continue
            measures = {"accuracy": "correct", "refused": "refused", "abstained": "abstained"}
            for measure, name in list(measures.items())[variant.content_free :]:
                first, second = getattr(changed, name)[here], getattr(published, name)[there]
                yield {
                    "model": model,
                    "variant": variant.name,
                    "parser": parser,
                    "measure": measure,
                    "n": len(here),
                    "as_published": second.mean(),
                    "changed": first.mean(),
                    **_difference(first, second, base.groups[there], confidence),
                }


_AGREEMENT_COLUMNS = ("variant", "parser", "model_a", "model_b", "n", "same", "kappa", "both_wrong", "same_wrong")


def _agreement(variants: Any) -> Iterator[dict[str, Any]]:
    """Share of questions to which two models give the same option, of those to which both give one; Cohen's kappa.

    ``same_wrong`` is the share of the same option among the questions that both answer with a wrong one.
    """
    for variant in variants:
        for parser in _PARSERS:
            models = [model for model in variant.models if (model, parser) in variant.answers]
            for a, b in combinations(models, 2):
                first, second = variant.answers[a, parser], variant.answers[b, parser]
                both = (first.choice >= 0) & (second.choice >= 0)
                n = int(both.sum())
                wrong = both & ~first.correct & ~second.correct
                same = first.choice == second.choice
                yield {
                    "variant": variant.name,
                    "parser": parser,
                    "model_a": a,
                    "model_b": b,
                    "n": n,
                    "same": float(same[both].mean()) if n else None,
                    "kappa": _kappa(first.choice[both], second.choice[both]),
                    "both_wrong": int(wrong.sum()),
                    "same_wrong": float(same[wrong].mean()) if wrong.any() else None,
                }


def _kappa(first: np.ndarray, second: np.ndarray) -> float | None:
    """Cohen's kappa of two series of options; None if it is undefined."""
    if not len(first):
        return None
    options = int(max(first.max(), second.max())) + 1
    a, b = (np.bincount(part, minlength=options) / len(part) for part in (first, second))
    expected = float(a @ b)
    return None if expected == 1 else (float((first == second).mean()) - expected) / (1 - expected)


_QUESTION_COLUMNS = (
    *("id", "category", "group", "models", "right", "refused", "abstained", "top", "top_count", "label", "question"),
)


def _questions(base: Variant) -> Iterator[dict[str, Any]]:
    """How many models answer each question correctly, by the robust parser, and what most of them answer."""
    found = [answers for (_, parser), answers in base.answers.items() if parser == ROBUST]
    if not found:
        return
    sums = {
        name: np.sum([getattr(each, name) for each in found], axis=0) for name in ("correct", "refused", "abstained")
    }
    options = np.arange(max(len(question.options) for question in base.questions))
    counts = (np.stack([each.choice for each in found])[..., None] == options).sum(axis=0)
    for index, question in enumerate(base.questions):
        top, count = int(counts[index].argmax()), int(counts[index].max())
        yield {
            "id": question.id,
            "category": question.category,
            "group": question.group,
            "models": len(found),
            "right": int(sums["correct"][index]),
            "refused": int(sums["refused"][index]),
            "abstained": int(sums["abstained"][index]),
            "top": question.labels[top] if count else "",
            "top_count": count,
            "label": "" if question.answer is None else question.labels[question.answer],
            "question": question.rendered,
        }
