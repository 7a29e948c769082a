"""Questions, replies and scores in one table: a row per question and turn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from known_unknowns import tables
from known_unknowns.errors import DataError
from known_unknowns.scoring import has_input
from known_unknowns.scoring.table import read_turns

_COLUMNS = ("question_id", "category", "turn", "step", "answer", "reply", "error")


def reply_rows(
    questions: Path, replies: Path, scores: Path, scorers: Sequence[str]
) -> tuple[list[str], list[list[Any]]]:
    """Join the tables of questions, replies and scores of a variant and seed.

    Returns
    -------
    columns : list of str
        For each scorer there are ``<scorer>`` (the parsed label), ``<scorer>.outcome`` and ``<scorer>.correct``. They
        are None for a turn that is not scored, and for a scorer without input (`known_unknowns.scoring.has_input`).
    rows : list of list
        One row per question and turn.

    Raises
    ------
    DataError
        If a question has no reply, or a scorer no score of a turn with options.
    """
    pairs = read_turns(questions, replies)
    turns = [turn for _, turns in pairs for turn in turns]
    found = {(score.question_id, score.turn, score.scorer): score for score in tables.read_scores(scores)}
    scored_by = [name for name in scorers if has_input(name, turns)]
    needed = {(t.question_id, t.turn, scorer) for t in turns if t.labels is not None for scorer in scored_by}
    if missing := needed - found.keys():
        raise DataError(
            f"{len(missing)} scores are missing, such as {min(missing)}; delete it and run again", file=scores
        )
    rows = []
    for question, of_question in pairs:
        answer = None if question.answer is None else question.labels[question.answer]
        for turn in of_question:
            row = [question.id, question.category, turn.turn, turn.step, answer, turn.reply.text, turn.reply.error]
            for scorer in scorers:
                score = found.get((question.id, turn.turn, scorer))
                row += [score.label, score.outcome, score.correct] if score else [None] * 3
            rows.append(row)
    return [*_COLUMNS, *(scorer + suffix for scorer in scorers for suffix in ("", ".outcome", ".correct"))], rows
