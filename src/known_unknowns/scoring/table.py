"""Score tables: every parser applied to every reply of a model to a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from known_unknowns import tables
from known_unknowns.benchmark.parsed_answer import Parser
from known_unknowns.benchmark.protocol import VIEW
from known_unknowns.edition_files import asked
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.progress import progress
from known_unknowns.records import AnsweredTurn, Question, Score
from known_unknowns.scoring import PARSERS
from known_unknowns.scoring.dialogues import combine_views as combine_views
from known_unknowns.scoring.dialogues import final_answers as final_answers
from known_unknowns.scoring.dialogues import parsed_answer
from known_unknowns.scoring.dialogues import read_turns as read_turns
from known_unknowns.scoring.dialogues import score_turn as score_turn
from known_unknowns.scoring.judge import JUDGE, parser_of
from known_unknowns.scoring.reply_table import ReplyTable
from known_unknowns.scoring.robust import noting_removed
from known_unknowns.tables.parquet import Cell, Source

_QUESTIONS = 512
"""Questions whose replies are records at the same time. Records take far more memory than columns."""
_Row = tuple[Any, ...]


def parse(
    variants: Path,
    replies: Path,
    out: Path,
    *,
    cells: Iterable[Cell],
    parsers: Sequence[str],
    verdicts: Path | None = None,
) -> None:
    """Write the scores of a model's replies to a benchmark: `score_table` of every variant and seed.

    Parameters
    ----------
    variants : Path
        The benchmark's folder of variants.
    replies, out : Path
        The table of replies, and the table of scores to write.
    cells : iterable of (str, int)
        The variants and seeds.
    parsers : sequence of str
        Names of the parsers.
    verdicts : Path, optional
        The file of the judge's verdicts, if the parsers include it.

    Raises
    ------
    ConfigError
        If a parser is unknown, or the judge has no file of verdicts.
    DataError
        If a question has no replies, a reply has no question, or a turn occurs twice or is missing.
    """
    cells = list(cells)

    def scored() -> Iterator[tuple[Cell, pa.Table]]:
        with progress("parsing", len(cells)) as advance:
            for variant, seed in cells:
                part = tables.Part(replies, seed, variant)
                questions = asked(variants, variant, seed)
                yield (variant, seed), score_table(questions, part, parsers=parsers, verdicts=verdicts)
                advance(1)

    tables.write_cells(out, tables.SCORES, scored())


def score_table(
    questions: Source, replies: Source, *, parsers: Sequence[str], verdicts: Path | None = None
) -> pa.Table:
    """Return one row of `tables.SCORES` per question, scored turn (a turn with options) and parser, in this order.

    A parser without input has no rows (`known_unknowns.scoring.has_input`).

    A question that is asked about several views is correct if any view has the correct answer [1]_; see
    `combine_views`. This favours models that choose many views, because each view is another chance.

    Parameters
    ----------
    questions, replies : Path or Part
        The questions of a variant and seed, and a model's replies to them.
    parsers : sequence of str
        Names of the parsers.
    verdicts : Path, optional
        The file of the judge's verdicts.

    Raises
    ------
    ConfigError
        If a parser is unknown, or the judge has no file of verdicts.
    DataError
        If a question has no replies, a reply has no question, or a turn occurs twice or is missing.

    References
    ----------
    .. [1] Z. Wang et al., 2024, arXiv:2410.04659, Appendix G.3.
    """
    known = PARSERS | ({} if verdicts is None else {JUDGE: noting_removed(parser_of(verdicts))})
    for name in parsers:
        if name not in known:
            raise ConfigError(unknown_name(name, known), path="parsers")
    in_table = tables.read_questions(questions)
    found = ReplyTable.read(questions, [question.id for question in in_table], replies)
    chosen = {name: known[name] for name in parsers if found.has_input(name)}
    parts = [tables.SCORES.empty_table()]
    for start in range(0, len(in_table), _QUESTIONS):
        starts = found.starts[start : start + _QUESTIONS + 1].tolist()
        turns = tables.replies_of(replies, found.rows.slice(starts[0], starts[-1] - starts[0]))
        rows: list[_Row] = []
        for question, (first, last) in zip(in_table[start : start + _QUESTIONS], pairwise(starts), strict=True):
            rows += _rows(question, turns[first - starts[0] : last - starts[0]], chosen)
        parts.append(tables.table_of(replies, rows, tables.SCORES))
    scores = pa.concat_tables(parts).combine_chunks()
    scored_turns = found.rows.num_rows - found.rows.column("letters").null_count
    assert len(scores) == scored_turns * len(chosen), f"{replies}: scores were lost or doubled"
    return scores


def _rows(question: Question, turns: Sequence[AnsweredTurn], parsers: Mapping[str, Parser]) -> Iterator[_Row]:
    """The scores of one question, as rows of the table."""
    scored = [turn for turn in turns if turn.labels is not None]
    by_parser = [[_row(question, turn, name, parse) for turn in scored] for name, parse in parsers.items()]
    if any(turn.step == VIEW for turn in scored):
        by_parser = [[_values(score) for score in combine_views([Score(*row) for row in rows])] for rows in by_parser]
    return chain.from_iterable(zip(*by_parser, strict=True))


def _row(question: Question, turn: AnsweredTurn, parser: str, parse: Parser) -> _Row:
    """The score of one turn by one parser."""
    parsed = parsed_answer(turn, question, parser, parse)
    choice = parsed.choice
    correct = choice is not None and choice == question.answer
    return question.id, turn.turn, turn.step, parser, parsed.outcome, parsed.label, choice, correct


def _values(score: Score) -> _Row:
    return tuple(getattr(score, name) for name in Score.__slots__)
