"""Score tables: every parser applied to every reply.

The replies of several models to one variant and seed are scored in one pass. The questions are read once. They are
scored in chunks, one model after the other, so that a reply which several models give to the same question is parsed
once, and what a parser derives from the options is still cached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from known_unknowns import tables
from known_unknowns.benchmark.parsed_answer import ParsedAnswer, Parser
from known_unknowns.benchmark.protocol import VIEW
from known_unknowns.data.up_to_date import UpToDate
from known_unknowns.errors import ConfigError, raise_any, unknown_name
from known_unknowns.processes import Call, in_processes
from known_unknowns.progress import progress
from known_unknowns.records import FAILED, AnsweredTurn, Question, Score
from known_unknowns.scoring import NEED_TEXT_ONLY, PARSERS
from known_unknowns.scoring.dialogues import combine_views as combine_views
from known_unknowns.scoring.dialogues import final_answers as final_answers
from known_unknowns.scoring.dialogues import read_turns as read_turns
from known_unknowns.scoring.dialogues import score_turn as score_turn
from known_unknowns.scoring.judge import JUDGE, parser_of
from known_unknowns.scoring.reply_table import ReplyTable
from known_unknowns.scoring.robust.removed_options import noting_removed

_QUESTIONS = 512
"""Questions of a chunk. The parsers cache the options of 4,096 questions."""
_Result = tuple[str, str | None, int | None, bool]
"""The last columns of `tables.SCORES`: the outcome, the label, the choice, and whether it is correct."""
_FAILED: _Result = (FAILED, None, None, False)
_Known = dict[tuple[Any, ...], _Result]
_Row = tuple[Any, ...]


def score_models(
    models: Mapping[str, Iterable[tuple[str, int]]],
    benchmark: str,
    *,
    questions: Path,
    replies: Path,
    out: Path,
    parsers: Sequence[str],
    up_to_date: UpToDate,
    workers: int = 1,
    verdicts: Path | None = None,
) -> None:
    """Apply `score_cell` to the tables of a benchmark that are not up to date.

    Parameters
    ----------
    models : mapping of str to iterable of (str, int)
        The variants and seeds that each model answered.
    benchmark : str
        The benchmark's name.
    questions : Path
        Its folder of questions, with a table per variant and seed, <variant>/seed<k>.parquet.
    replies, out : Path
        The edition's folders of replies and scores, <model>/<benchmark>/<variant>/seed<k>.parquet.
    parsers : sequence of str
        Names of the parsers.
    up_to_date : UpToDate
        Which tables of scores are up to date.
    workers : int
        Number of processes.
    verdicts : Path, optional
        The file of the judge's verdicts on the replies to the benchmark, if the parsers include it.

    Raises
    ------
    DataError, MachineError, SeveralErrors
        After all models, if some replies could not be scored.
    """
    files: dict[Path, list[tuple[Path, Path]]] = {}
    inputs: dict[Path, str] = {}
    for model, cells in models.items():
        for variant, seed in cells:
            asked = Path(variant) / f"seed{seed}.parquet"
            pair = (replies / model / benchmark / asked, out / model / benchmark / asked)
            inputs[pair[1]] = up_to_date.digest_of(
                [questions / asked, pair[0], *([verdicts] if verdicts else [])], parsers
            )
            if not up_to_date.keep(pair[1], inputs[pair[1]]):
                files.setdefault(questions / asked, []).append(pair)
    score = partial(score_cell, parsers=parsers, verdicts=verdicts)
    calls: list[Call] = [(score, (asked, pairs)) for asked, pairs in files.items()]
    errors: list[Exception] = []
    with progress("scoring", sum(map(len, files.values()))) as advance:
        while calls:
            again: list[Call] = []
            for (_, (asked, pairs)), error in in_processes(calls, workers=workers):
                if error is not None and len(pairs) > 1:  # one of the models; the others are scored
                    again += [(score, (asked, [pair])) for pair in pairs]
                    continue
                if error is not None:
                    errors.append(error)
                else:
                    for _, written in pairs:
                        up_to_date.add(written, inputs[written])
                advance(len(pairs))
            calls = again
    raise_any(errors)
    up_to_date.succeed()


def score_tables(
    questions: Path, replies: Path, out: Path, *, cells: Iterable[tuple[str, int]], parsers: Sequence[str]
) -> None:
    """Apply `score_table` to all cells of a benchmark.

    Parameters
    ----------
    questions, replies, out : Path
        Folders with a table per cell, <variant>/seed<k>.parquet.
    cells : iterable of (str, int)
        Variants and seeds.
    parsers : sequence of str
        Names of the parsers.
    """
    files = [Path(variant) / f"seed{seed}.parquet" for variant, seed in cells]
    with progress("scoring", len(files)) as advance:
        for file in files:
            score_table(questions / file, replies / file, out / file, parsers=parsers)
            advance(1)


def score_table(questions: Path, replies: Path, out: Path, *, parsers: Sequence[str]) -> None:
    """Score the replies of one model to one variant and seed; see `score_cell`."""
    score_cell(questions, [(replies, out)], parsers=parsers)


def score_cell(
    questions: Path, files: Sequence[tuple[Path, Path]], *, parsers: Sequence[str], verdicts: Path | None = None
) -> None:
    """Write one `Score` per question, scored turn (a turn with options) and parser, in this order.

    A parser without input has no rows (`known_unknowns.scoring.has_input`).

    A question that is asked about several views is correct if any view has the correct answer [1]_; see
    `combine_views`. This favours models that choose many views, because each view is another chance.

    Parameters
    ----------
    questions : Path
        The table of questions of a variant and seed.
    files : sequence of (Path, Path)
        For each model, its table of replies and the table of scores to write.
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
    asked = tables.read_questions(questions)
    ids = [question.id for question in asked]
    models = []
    for replies, out in files:
        found = ReplyTable.read(questions, ids, replies)
        models.append(_Model(found, out, {name: known[name] for name in parsers if found.has_input(name)}))
    for start in range(0, len(asked), _QUESTIONS):
        parsed: _Known = {}
        for model in models:
            model.score(asked, start, start + _QUESTIONS, parsed)
    for model in models:
        model.write()


@dataclass
class _Model:
    """The replies of one model and its scores so far."""

    replies: ReplyTable
    out: Path
    parsers: Mapping[str, Parser]
    parts: list[pa.Table] = field(default_factory=list)

    def score(self, asked: Sequence[Question], start: int, stop: int, known: _Known) -> None:
        """Score the questions from ``start`` to ``stop``."""
        starts = self.replies.starts[start : min(stop, len(asked)) + 1].tolist()
        rows = self.replies.rows.slice(starts[0], starts[-1] - starts[0])
        turns = tables.replies_of(self.replies.path, rows)
        scores: list[_Row] = []
        for place, (first, last) in enumerate(pairwise(starts), start):
            of_question = turns[first - starts[0] : last - starts[0]]
            scores += _rows(place, asked[place], of_question, self.parsers, known)
        self.parts.append(tables.table_of(self.out, scores, tables.SCORES))

    def write(self) -> None:
        """Write the table of scores."""
        rows = self.replies.rows
        scored_turns = rows.num_rows - rows.column("letters").null_count
        table = pa.concat_tables([tables.SCORES.empty_table(), *self.parts])
        tables.write_table(self.out, table, expect=scored_turns * len(self.parsers))


def _rows(
    place: int, question: Question, turns: Sequence[AnsweredTurn], parsers: Mapping[str, Parser], known: _Known
) -> Iterator[_Row]:
    """The scores of one question, as rows of the table."""
    scored = [turn for turn in turns if turn.labels is not None]
    by_parser = [[_row(place, question, turn, each, known) for turn in scored] for each in parsers.items()]
    if any(turn.step == VIEW for turn in scored):
        by_parser = [[_values(score) for score in combine_views([Score(*row) for row in rows])] for rows in by_parser]
    return chain.from_iterable(zip(*by_parser, strict=True))


def _row(place: int, question: Question, turn: AnsweredTurn, named: tuple[str, Parser], known: _Known) -> _Row:
    """The score of one turn by one parser. A failed reply is not parsed; its outcome is "failed" for every parser."""
    parser, parse = named
    if turn.reply.error is not None:
        result = _FAILED
    elif parser in NEED_TEXT_ONLY:
        key = (place, parser, turn.labels, turn.reply.text)
        found = known.get(key)
        if found is None:
            found = known[key] = _result(parse(turn, question), question)
        result = found
    else:
        result = _result(parse(turn, question), question)
    return question.id, turn.turn, turn.step, parser, *result


def _result(parsed: ParsedAnswer, question: Question) -> _Result:
    choice = parsed.choice
    return parsed.outcome, parsed.label, choice, choice is not None and choice == question.answer


def _values(score: Score) -> _Row:
    return tuple(getattr(score, name) for name in Score.__slots__)
