"""From a table of replies to a table of scores: every reply is read by every scorer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from known_unknowns import tables
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.progress import progress
from known_unknowns.protocols import ANSWER, VIEW
from known_unknowns.records import FAILED, AnsweredTurn, Question, Score
from known_unknowns.scoring import SCORERS, Parsed


def score_tables(
    questions: Path, replies: Path, out: Path, *, cells: Iterable[tuple[str, int]], scorers: Sequence[str]
) -> None:
    """`score_table` for each of a benchmark's ``cells`` (variant, seed): <variant>/seed<k>.parquet in all folders."""
    files = [Path(variant) / f"seed{seed}.parquet" for variant, seed in cells]
    with progress("scoring", len(files)) as advance:
        for file in files:
            score_table(questions / file, replies / file, out / file, scorers=scorers)
            advance(1)


def score_table(questions: Path, replies: Path, out: Path, *, scorers: Sequence[str]) -> None:
    """Write one `Score` per question, scored turn (a turn with options) and scorer, in this order.

    A question that is asked about several views is correct if any view has the correct answer [1]_ (see `counted`).
    This favours models that choose many views, because each view is another chance.

    Parameters
    ----------
    questions, replies : Path
        Tables of questions and of their replies.
    out : Path
        The table of scores.
    scorers : sequence of str
        Names of the scorers.

    Raises
    ------
    ConfigError
        If a scorer is unknown.
    DataError
        If a question has no replies, a reply has no question, or a turn occurs twice or is missing.

    References
    ----------
    .. [1] Z. Wang et al., 2024, arXiv:2410.04659, Appendix G.3.
    """
    for name in scorers:
        if name not in SCORERS:
            raise ConfigError(unknown_name(name, SCORERS), path="scorers")
    pairs = paired(questions, replies)
    scores = [score for question, turns in pairs for score in _scores(question, turns, scorers)]
    scored = sum(asked.labels is not None for _, turns in pairs for asked in turns)
    tables.write_scores(out, scores, expect=scored * len(scorers))


def _scores(question: Question, turns: Sequence[AnsweredTurn], scorers: Sequence[str]) -> Iterator[Score]:
    by_scorer = {
        name: counted([read(asked, question, name) for asked in turns if asked.labels is not None]) for name in scorers
    }
    for of_turn in zip(*by_scorer.values(), strict=True):
        yield from of_turn


def counted(scores: Sequence[Score]) -> list[Score]:
    """One scorer's readings of one question's turns, in which an "answer" that is not right takes over the first right
    reading of the "view" steps before it: the answer is then what the question counts as, and the views keep their own.
    """
    found: list[Score] = []
    right: Score | None = None
    for score in scores:
        if score.step == VIEW and score.correct and right is None:
            right = score
        if score.step == ANSWER and not score.correct and right is not None:
            score = replace(right, turn=score.turn, step=score.step)
        found.append(score)
    return found


def read(asked: AnsweredTurn, question: Question, scorer: str) -> Score:
    """How one scorer reads one reply. A failed one is "failed" under every scorer: there is nothing to read."""
    failed = asked.reply.error is not None
    reading = Parsed(FAILED) if failed else SCORERS[scorer](asked, question)
    return Score(
        question_id=question.id,
        turn=asked.turn,
        step=asked.step,
        scorer=scorer,
        outcome=reading.outcome,
        label=reading.label,
        choice=reading.choice,
        correct=reading.choice is not None and reading.choice == question.answer,
    )


def paired(questions: Path, replies: Path) -> list[tuple[Question, list[AnsweredTurn]]]:
    """Every question, in the order of its table, with its turns, in the order asked.

    Raises DataError naming the id of a question without replies or of a reply without its question.
    """
    asked = tables.read_questions(questions)
    turns: dict[str, dict[int, AnsweredTurn]] = {question.id: {} for question in asked}
    for row, reply in enumerate(tables.read_replies(replies)):
        if reply.question_id not in turns:
            raise DataError(
                f"a reply to question {reply.question_id!r}, which is not in {questions}; ask again",
                file=replies,
                row=row,
            )
        if reply.turn in turns[reply.question_id]:
            raise DataError(
                f"turn {reply.turn} of question {reply.question_id!r} stands there twice", file=replies, row=row
            )
        turns[reply.question_id][reply.turn] = reply
    return [(question, _in_order(question, turns[question.id], replies)) for question in asked]


def _in_order(question: Question, turns: dict[int, AnsweredTurn], file: Path) -> list[AnsweredTurn]:
    if not turns:
        raise DataError(f"no reply to question {question.id!r}; ask again", file=file)
    if sorted(turns) != list(range(len(turns))):
        raise DataError(f"question {question.id!r} has the turns {sorted(turns)}: one is missing", file=file)
    return [turns[number] for number in range(len(turns))]


def answers(
    pairs: Sequence[tuple[Question, list[AnsweredTurn]]], *, file: Path
) -> Iterator[tuple[Question, AnsweredTurn]]:
    """Every question with the turn that answers it: the last one of the step "answer".

    Raises DataError naming a question that has none.
    """
    for question, turns in pairs:
        asked = next((turn for turn in reversed(turns) if turn.step == ANSWER), None)
        if asked is None:
            raise DataError(f"question {question.id!r} was never asked for its answer", file=file)
        yield question, asked
