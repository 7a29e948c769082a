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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from known_unknowns import tables
from known_unknowns.edition_files import answers_table, asked
from known_unknowns.errors import DataError
from known_unknowns.files import write_text
from known_unknowns.metrics.paired import paired_difference
from known_unknowns.records import ABSTAINED, FAILED, REFUSED, Cell, Question
from known_unknowns.variants.of_benchmark import content_free

if TYPE_CHECKING:
    from known_unknowns.config import Params

_PARSERS = ("official", "robust")
_DIFFERENCE = ("difference", "low", "high", "p", "method", "test")
_QUESTION = ("id", "category", "group", "models", "right", "refused", "abstained", "top", "top_count", "label")
_COLUMNS: Mapping[str, Sequence[str]] = {
    "parsers": (
        *("model", "variant", "n", "failed", "changed", "official", "robust", *_DIFFERENCE),
        *("official_refused", "robust_refused", "robust_abstained"),
    ),
    "sensitivity": ("model", "variant", "parser", "measure", "n", "as_published", "changed", *_DIFFERENCE),
    "agreement": ("variant", "parser", "model_a", "model_b", "n", "same", "kappa", "both_wrong", "same_wrong"),
    "questions": (*_QUESTION, "question"),
    "all_wrong": (*_QUESTION, "question"),
}
TABLES = tuple(_COLUMNS)
Cells = Iterator[Sequence[Any]]
"""Rows of a table, in the order of its columns."""


@dataclass(frozen=True)
class Variant:
    """A variant with the answers of every model that has some, by model and parser.

    The answers are `_answers`. They and the groups, as numbers, have the questions' ids as index.
    """

    name: str
    groups: pd.Series
    questions: Sequence[Question]
    answers: Mapping[tuple[str, str], pd.DataFrame]
    content_free: bool = False


def write_tables(params: Params, benchmark: str, *, variants: Path, answers: Path, out: Path) -> None:
    """Write the tables of the module's docstring. A table without rows has its header only.

    ``variants`` is the benchmark's folder of variants, ``answers`` the edition's folder of answers; of each variant,
    the first seed counts.

    Raises
    ------
    DataError
        If answers are missing, or are not those of the questions.
    """
    by_variant = {name: _read(params, benchmark, name, variants, answers) for name in params.variants(benchmark)}
    base = next((v for name, v in by_variant.items() if params.variant(name).function == "original"), None)
    as_published = [] if base is None else list(_questions(base))
    number, right = _QUESTION.index("models"), _QUESTION.index("right")
    rows: dict[str, Iterable[Sequence[Any]]] = {
        "parsers": _parsers(by_variant.values(), params.statistics.confidence),
        "sensitivity": () if base is None else _sensitivity(base, by_variant.values(), params.statistics.confidence),
        "agreement": _agreement(by_variant.values()),
        "questions": as_published,
        "all_wrong": [row for row in as_published if row[right] == 0 and row[number] > 1],
    }
    for name, of_table in rows.items():
        frame = pd.DataFrame(list(of_table), columns=list(_COLUMNS[name]))
        write_text(out / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))


def _read(params: Params, benchmark: str, variant: str, variants: Path, answers: Path) -> Variant:
    cell = Cell(variant, params.seeds_of(benchmark, variant)[0])
    models = [model for model in params.models if cell in params.cells(benchmark, model)]
    if not models:
        return Variant(variant, pd.Series(dtype=int), (), {})
    questions = tables.read_questions(asked(variants, variant, cell.seed))
    ids = [question.id for question in questions]
    by_parser = {}
    for model in models:
        file = tables.Part(answers_table(answers, model, benchmark), cell)
        of_model = tables.read_answers(file, ["question_id", "parser", "outcome", "choice", "correct"])
        for parser in _PARSERS:
            of_parser = of_model[of_model["parser"] == parser].set_index("question_id")
            if of_parser.empty:
                continue
            if of_parser.index.tolist() != ids:
                raise DataError("not the answers to these questions; score again", file=file)
            by_parser[model, parser] = _answers(of_parser)
    groups = np.unique([question.group for question in questions], return_inverse=True)[1]
    return Variant(
        variant, pd.Series(groups, index=ids), questions, by_parser, variant in content_free(params, benchmark)
    )


def _answers(answers: pd.DataFrame) -> pd.DataFrame:
    """The chosen option, -1 if none was, and flags of some outcomes, by question."""
    return pd.DataFrame(
        {
            "choice": answers["choice"].fillna(-1).astype(int),
            "correct": answers["correct"],
            "refused": answers["outcome"] == REFUSED,
            "abstained": answers["outcome"] == ABSTAINED,
            "failed": answers["outcome"] == FAILED,
        }
    )


def _parsers(variants: Iterable[Variant], confidence: float) -> Cells:
    """Robust less official accuracy. ``changed`` counts replies that the parsers parse differently."""
    for variant in variants:
        for model in dict.fromkeys(model for model, _ in variant.answers):
            official, robust = (variant.answers.get((model, parser)) for parser in _PARSERS)
            if official is None or robust is None:
                continue
            changed = (official != robust)[["choice", "refused", "abstained"]].any(axis=1)
            compared: Sequence[Any] = [None] * (1 + len(_DIFFERENCE))
            if not variant.content_free:
                difference = _difference(robust.correct, official.correct, variant.groups, confidence)
                compared = [robust.correct.mean(), *difference]
            counts = len(official.correct), int(official.failed.sum()), int(changed.sum())
            shares = official.refused.mean(), robust.refused.mean(), robust.abstained.mean()
            yield model, variant.name, *counts, official.correct.mean(), *compared, *shares


def _difference(first: pd.Series, second: pd.Series, groups: pd.Series, confidence: float) -> list[Any]:
    rights = first.to_numpy(int), second.to_numpy(int)
    found = paired_difference(*rights, groups.to_numpy(), confidence=confidence)
    return [getattr(found, name) for name in _DIFFERENCE]


def _sensitivity(base: Variant, variants: Iterable[Variant], confidence: float) -> Cells:
    """The changes of accuracy, and of the shares of refused and abstained questions, when the question is changed."""
    measures = {"accuracy": "correct", "refused": "refused", "abstained": "abstained"}
    for variant in (each for each in variants if each.name != base.name):
        common = variant.groups.index.intersection(base.groups.index, sort=False)
        for (model, parser), changed in variant.answers.items():
            published = base.answers.get((model, parser))
            if published is None or common.empty:
                continue
            for measure, name in list(measures.items())[variant.content_free :]:
                first, second = changed.loc[common, name], published.loc[common, name]
                difference = _difference(first, second, base.groups[common], confidence)
                yield model, variant.name, parser, measure, len(common), second.mean(), first.mean(), *difference


def _agreement(variants: Iterable[Variant]) -> Cells:
    """Share of questions to which two models give the same option, of those to which both give one; Cohen's kappa.

    ``same_wrong`` is the share of the same option among the questions that both answer with a wrong one.
    """
    for variant in variants:
        for parser in _PARSERS:
            of_parser = {model: scores for (model, name), scores in variant.answers.items() if name == parser}
            for (a, first), (b, second) in combinations(of_parser.items(), 2):
                both = (first.choice >= 0) & (second.choice >= 0)
                wrong = both & ~first.correct & ~second.correct
                same = first.choice == second.choice
                shares = [float(same[of].mean()) if of.any() else None for of in (both, wrong)]
                kappa = _kappa(first["choice"].to_numpy()[both], second["choice"].to_numpy()[both])
                yield variant.name, parser, a, b, int(both.sum()), shares[0], kappa, int(wrong.sum()), shares[1]


def _kappa(first: np.ndarray, second: np.ndarray) -> float | None:
    """Cohen's kappa of two series of options; None if it is undefined."""
    if not len(first):
        return None
    options = int(max(first.max(), second.max())) + 1
    a, b = (np.bincount(part, minlength=options) / len(part) for part in (first, second))
    expected = float(a @ b)
    return None if expected == 1 else (float((first == second).mean()) - expected) / (1 - expected)


def _questions(base: Variant) -> Cells:
    """How many models answer each question correctly, by the robust parser, and what most of them answer."""
    parsed = [answers for (_, parser), answers in base.answers.items() if parser == "robust"]
    if not parsed:
        return
    sums = [np.sum([each[name] for each in parsed], axis=0) for name in ("correct", "refused", "abstained")]
    options = np.arange(max(len(question.options) for question in base.questions))
    counts = (np.stack([each["choice"] for each in parsed])[..., None] == options).sum(axis=0)
    for index, question in enumerate(base.questions):
        top, count = int(counts[index].argmax()), int(counts[index].max())
        label = "" if question.answer is None else question.labels[question.answer]
        answered = len(parsed), *(int(of[index]) for of in sums), question.labels[top] if count else "", count, label
        yield question.id, question.category, question.group, *answered, question.rendered
