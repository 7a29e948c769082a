"""The turns of each question and their scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from known_unknowns import tables
from known_unknowns.benchmark.parsed_answer import ParsedAnswer, Parser
from known_unknowns.benchmark.protocol import ANSWER, VIEW
from known_unknowns.errors import DataError
from known_unknowns.records import CUT, FAILED, UNPARSED, AnsweredTurn, Question, Score
from known_unknowns.scoring import PARSERS, WITHOUT_TEXT
from known_unknowns.scoring.robust import ended_by_limit
from known_unknowns.tables.parquet import Source

ScoresByTurn = dict[tuple[str, int], Score]
"""One parser's scores, by question and turn."""


def combine_views(scores: Sequence[Score]) -> list[Score]:
    """Replace an incorrect answer by the first correct answer about a view.

    ``scores`` are one parser's of one question's turns, in order. An incorrect score of the step "answer" gets the
    result of the first correct score of the step "view" before it. The scores of views do not change.
    """
    combined: list[Score] = []
    correct_view: Score | None = None
    for score in scores:
        if score.step == VIEW and score.correct and correct_view is None:
            correct_view = score
        if score.step == ANSWER and not score.correct and correct_view is not None:
            score = replace(correct_view, turn=score.turn, step=score.step)
        combined.append(score)
    return combined


def score_turn(turn: AnsweredTurn, question: Question, parser: str, parse: Parser | None = None) -> Score:
    """Return the score of one turn by the parser of this name; ``parse`` is its function, by default of `PARSERS`."""
    parsed = parsed_answer(turn, question, parser, PARSERS[parser] if parse is None else parse)
    correct = parsed.choice is not None and parsed.choice == question.answer
    return Score(question.id, turn.turn, turn.step, parser, parsed.outcome, parsed.label, parsed.choice, correct)


def parsed_answer(turn: AnsweredTurn, question: Question, name: str, parse: Parser) -> ParsedAnswer:
    """Return the answer that a parser parses from a turn, with the outcomes that no parser decides.

    A failed reply is not parsed; its outcome is "failed" for every parser. A reply in which a parser of the text finds
    neither an answer nor a label is "cut" if the limit ended it (`known_unknowns.scoring.robust.ended_by_limit`).
    """
    if turn.reply.error is not None:
        return ParsedAnswer(FAILED)
    parsed = parse(turn, question)
    if name in WITHOUT_TEXT or parsed.outcome != UNPARSED or parsed.label is not None:
        return parsed
    return ParsedAnswer(CUT) if ended_by_limit(turn.reply) else parsed


def read_turns(questions: Source, replies: Source) -> list[tuple[Question, list[AnsweredTurn]]]:
    """Read every question with its turns, in the order of the table of questions and in which turns were asked.

    Raises
    ------
    DataError
        If a question has no replies, a reply has no question, or a turn occurs twice or is missing.
    """
    in_table = tables.read_questions(questions)
    turns: dict[str, dict[int, AnsweredTurn]] = {question.id: {} for question in in_table}
    for row, reply in enumerate(tables.read_replies(replies)):
        if reply.question_id not in turns:
            raise DataError(
                f"a reply to question {reply.question_id!r}, which is not in {questions}; ask again",
                file=replies,
                row=row,
            )
        if reply.turn in turns[reply.question_id]:
            raise DataError(f"turn {reply.turn} of question {reply.question_id!r} occurs twice", file=replies, row=row)
        turns[reply.question_id][reply.turn] = reply
    return [(question, _in_order(question, turns[question.id], replies)) for question in in_table]


def _in_order(question: Question, turns: dict[int, AnsweredTurn], file: Source) -> list[AnsweredTurn]:
    if not turns:
        raise DataError(f"no reply to question {question.id!r}; ask again", file=file)
    if sorted(turns) != list(range(len(turns))):
        raise DataError(f"question {question.id!r} has the turns {sorted(turns)}: one is missing", file=file)
    return [turns[number] for number in range(len(turns))]


def final_answers(
    pairs: Sequence[tuple[Question, Sequence[AnsweredTurn]]], *, file: Source
) -> Iterator[tuple[Question, AnsweredTurn]]:
    """Yield every question with its last turn of the step "answer", which holds its answer.

    ``pairs`` is the result of `read_turns`; ``file`` is the table of replies, for the error.

    Raises
    ------
    DataError
        If a question has no turn of the step "answer".
    """
    for question, turns in pairs:
        turn = next((turn for turn in reversed(turns) if turn.step == ANSWER), None)
        if turn is None:
            raise DataError(f"question {question.id!r} has no turn of the step {ANSWER!r}", file=file)
        yield question, turn


def read_scores(
    answers: Source, pairs: Iterable[tuple[Question, list[AnsweredTurn]]], parsers: Iterable[str]
) -> dict[str, ScoresByTurn]:
    """Read the scores of some parsers, by parser; by question and turn. Scores of turns without a reply are left out.

    ``answers`` is the table of answers, and ``pairs`` the result of `read_turns`.

    Raises
    ------
    DataError
        If a score has no question, or a turn is scored twice.
    """
    turns = {question.id: len(of_question) for question, of_question in pairs}
    found: dict[str, ScoresByTurn] = {parser: {} for parser in parsers}
    for row, score in enumerate(tables.read_scores(answers)):
        if score.question_id not in turns:
            raise DataError(f"question {score.question_id!r} was never asked; score again", file=answers, row=row)
        if score.parser not in found or not 0 <= score.turn < turns[score.question_id]:
            continue
        of_parser, turn = found[score.parser], (score.question_id, score.turn)
        if turn in of_parser:
            raise DataError(
                f"question {score.question_id!r} is scored twice by {score.parser!r}; score again", file=answers
            )
        of_parser[turn] = score
    return found
