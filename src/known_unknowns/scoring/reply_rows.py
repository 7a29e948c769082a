"""Questions, replies and what parsers made of them in one table: a row per question and turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from known_unknowns.errors import DataError
from known_unknowns.scoring import has_input
from known_unknowns.scoring.dialogues import read_scores, read_turns
from known_unknowns.tables.parquet import Source

_COLUMNS = ("question_id", "category", "turn", "step", "answer", "reply", "error")


def reply_rows(
    questions: Source, replies: Source, answers: Source, parsers: Sequence[str]
) -> tuple[list[str], list[list[Any]]]:
    """Join the tables of questions, replies and answers of a variant and seed.

    Returns
    -------
    columns : list of str
        For each parser there are ``<parser>`` (the parsed label), ``<parser>.outcome`` and ``<parser>.correct``. They
        are None for a turn that is not scored, and for a parser without input (`known_unknowns.scoring.has_input`).
    rows : list of list
        One row per question and turn.

    Raises
    ------
    DataError
        If a question has no reply, or a parser no score of a turn with options.
    """
    pairs = read_turns(questions, replies)
    turns = [turn for _, of_question in pairs for turn in of_question]
    scored = read_scores(answers, pairs, [name for name in parsers if has_input(name, turns)])
    missing = [
        (turn.question_id, turn.turn, parser)
        for parser, of_parser in scored.items()
        for turn in turns
        if turn.labels is not None and (turn.question_id, turn.turn) not in of_parser
    ]
    if missing:
        message = f"{len(missing)} scores are missing, such as {min(missing)}; delete it and run again"
        raise DataError(message, file=answers)
    rows = []
    for question, turn in ((question, turn) for question, of_question in pairs for turn in of_question):
        answer = None if question.answer is None else question.labels[question.answer]
        reply = turn.reply
        row = [question.id, question.category, turn.turn, turn.step, answer, reply.text, reply.error]
        for parser in parsers:
            score = scored.get(parser, {}).get((question.id, turn.turn))
            row += [None] * 3 if score is None else [score.label, score.outcome, score.correct]
        rows.append(row)
    return [*_COLUMNS, *(parser + suffix for parser in parsers for suffix in ("", ".outcome", ".correct"))], rows
