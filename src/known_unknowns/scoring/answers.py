"""The table of answers, from which all metrics are computed: a row per question and parser (`records.Answer`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa

from known_unknowns import tables
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.answer_columns import answer_schema
from known_unknowns.benchmark.metrics import ScoredReply
from known_unknowns.benchmark.protocol import ANSWER, CONFIDENCE, FORCED
from known_unknowns.benchmark.protocol import LIKELIHOOD as TEXTS
from known_unknowns.errors import DataError
from known_unknowns.records import (
    ABSTAINED,
    ANSWERED,
    FAILED,
    LIKELIHOOD,
    NO_INPUT,
    REFUSED,
    UNPARSED,
    Answer,
    AnsweredTurn,
    Question,
    Score,
)
from known_unknowns.scoring import confidence, has_input
from known_unknowns.scoring.dialogues import ScoresByTurn, final_answers
from known_unknowns.scoring.likelihood import label_follows_text, label_mass
from known_unknowns.scoring.option_text import OPTION_TEXT, OPTION_TEXT_SUM
from known_unknowns.tables.confidence_sources import FOLLOWS_TEXT, PARSER, low_mass
from known_unknowns.tables.parquet import Source, checked

_TURN = attrgetter("turn", "step", "outcome", "label", "choice", "correct")


def answer_table(
    benchmark: str,
    pairs: Sequence[tuple[Question, Sequence[AnsweredTurn]]],
    parsers: Sequence[str],
    scores: Mapping[str, ScoresByTurn],
    *,
    file: Source,
    kept: str | None = None,
) -> pa.Table:
    """Return the answers to one variant with one seed: for each parser a row per question, in the order of ``pairs``.

    Parameters
    ----------
    benchmark : str
        The benchmark of the questions.
    pairs : sequence of (Question, sequence of AnsweredTurn)
        Each question with its turns, as `dialogues.read_turns` returns them.
    parsers : sequence of str
        The parsers.
    scores : mapping from str to ScoresByTurn
        The scores of each parser. The answers of a parser without any, because it has no input, are unparsed.
    file : str, Path or Part
        The table that is named in errors.
    kept : str, optional
        What the official parser reads of a reply (`known_unknowns.benchmark.kept_part`).

    Raises
    ------
    DataError
        If a question has no answer, or a parser no score of it.
    """
    hooks, schema = registry.get(benchmark).metrics(), answer_schema(benchmark)
    values = attrgetter(*tables.ANSWERS.names)
    own_values = attrgetter(*schema.names[len(tables.ANSWERS) :]) if hooks.columns is not None else None
    answers = [turn for _, turn in final_answers(pairs, file=file)]
    of_questions = [_of_question(question, turn) for (question, _), turn in zip(pairs, answers, strict=True)]
    masses = [columns["label_mass"] for columns in of_questions]
    little_mass = low_mass(mass for mass in masses if mass is not None)
    if not any(mass is not None for mass in masses) and any(each["label_follows_text"] for each in of_questions):
        little_mass = FOLLOWS_TEXT  # no reply begins with a label
    rows = []
    for parser in parsers:
        undefined = _undefined(parser, pairs, little_mass)
        for (question, turns), answer, of_question in zip(pairs, answers, of_questions, strict=True):
            of_turns = _scores_of(question, turns, answer, parser, scores.get(parser), file)
            has_scores = parser in scores
            parsed_turns = [_TURN(each) for each in of_turns.values()] if has_scores else []
            score = of_turns.pop(answer.turn)
            forced = None
            if parser not in (OPTION_TEXT, OPTION_TEXT_SUM):  # no likelihoods are asked without the refusal option
                forced = next((other for other in reversed(of_turns.values()) if other.step == FORCED), None)
            of_score = _of_score(question, score, forced)
            of_score["turns"] = parsed_turns
            if parser == PARSER:
                of_score |= _confidences(question, turns, answer, score, forced, little_mass)
            row = values(Answer(parser=parser, undefined=undefined, **of_question, **of_score))
            if own_values is not None:
                row += own_values(hooks.row(ScoredReply(question, turns, answer, score, kept)))
            rows.append(row)
    return checked(file, tables.table_of(file, rows, schema))


def _undefined(parser: str, pairs: Sequence[tuple[Question, Sequence[AnsweredTurn]]], little_mass: str) -> str:
    """Why the parser's metrics are undefined; "" if they are defined."""
    if not has_input(parser, (turn for _, turns in pairs for turn in turns)):
        return NO_INPUT
    return little_mass if parser == LIKELIHOOD else ""


def _scores_of(
    question: Question,
    turns: Sequence[AnsweredTurn],
    answer: AnsweredTurn,
    parser: str,
    scores: ScoresByTurn | None,
    file: Source,
) -> dict[int, Score]:
    """The parser's scores of the turns of a question."""
    if scores is None:
        return {answer.turn: Score(question.id, answer.turn, ANSWER, parser, UNPARSED, None, None, False)}
    found = {turn.turn: scores[question.id, turn.turn] for turn in turns if (question.id, turn.turn) in scores}
    if answer.turn not in found:
        raise DataError(f"question {question.id!r} is not scored by {parser!r}; score again", file=file)
    return found


def _of_question(question: Question, answer: AnsweredTurn) -> dict[str, Any]:
    """The columns that no parser decides."""
    options = question.options
    return {
        "question_id": question.id,
        "category": question.category,
        "group": question.group,
        "right_label": None if question.answer is None else options[question.answer].label,
        "refusal_label": None if question.refusal is None else options[question.refusal].label,
        "refusal_is_correct": question.answer is not None and question.answer == question.refusal,
        "chance": 0.0 if question.answer is None else 1 / len(options),
        "options": json.dumps({option.label: option.text for option in options}),
        "label_mass": label_mass(answer),
        "label_follows_text": label_follows_text(answer),
    }


def _of_score(question: Question, score: Score, forced: Score | None) -> dict[str, Any]:
    """The columns of what a parser finds; ``forced`` is the score of the answer without the refusal option."""
    return {
        "outcome": score.outcome,
        "label": score.label,
        "choice": score.choice,
        "chosen_text": None if score.choice is None else question.options[score.choice].text,
        "correct": score.correct,
        "forced_outcome": "" if forced is None else forced.outcome,
        "forced_correct": forced is not None and forced.correct,
    }


def _confidences(
    question: Question,
    turns: Sequence[AnsweredTurn],
    answer: AnsweredTurn,
    score: Score,
    forced: Score | None,
    little_mass: str,
) -> dict[str, Any]:
    """Whether the answer is or would be right, and the confidences in it.

    ``little_mass`` is why the labels' probabilities say nothing, or "".
    """
    last = {turn.step: turn for turn in turns}
    texts, said = last.get(TEXTS), last.get(CONFIDENCE)
    found: dict[str, Any] = {"would_be_right": _would_be_right(question, score, forced)}
    if not little_mass:
        found["letters"] = confidence.letters(answer, question, score.choice)
    if texts is not None:
        found["option_text"] = confidence.option_text(texts, question, score.choice)
        found["option_text_sum"] = confidence.option_text(texts, question, score.choice, normalise=False)
        found["option_text_error"] = texts.reply.error or ""
    if said is not None:
        found["verbalised"] = confidence.verbalised(said)
        found["verbalised_error"] = said.reply.error or ""
    return found


def _would_be_right(question: Question, score: Score, forced: Score | None) -> bool | None:
    """Whether the answer, or the one that a refusal replaces, is right; None if it is not known."""
    if score.outcome == ANSWERED:
        return score.correct
    if score.outcome not in (REFUSED, ABSTAINED):
        return None
    if question.answer is None or question.answer == question.refusal:
        return False  # no option but the refusal is right
    if score.outcome == REFUSED and forced is not None and forced.outcome != FAILED:
        return forced.correct
    return None
