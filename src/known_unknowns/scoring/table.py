"""Every parser applied to every reply of a model to a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from known_unknowns import tables
from known_unknowns.benchmark.answer_columns import answer_schema
from known_unknowns.benchmark.parsed_answer import Parser
from known_unknowns.edition_files import asked
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.progress import progress
from known_unknowns.records import JUDGE, AnsweredTurn, Cell, Question, Score
from known_unknowns.scoring import has_input, parsers_with
from known_unknowns.scoring.answers import answer_table
from known_unknowns.scoring.dialogues import ScoresByTurn, combine_views, read_turns, score_turn
from known_unknowns.scoring.judge import parser_of
from known_unknowns.scoring.option_text import with_continuations
from known_unknowns.scoring.robust import noting_removed
from known_unknowns.tables.parquet import CELL, Source, part_writer


def parse(
    variants: Path,
    replies: Path,
    out: Path,
    *,
    cells: Iterable[Cell],
    parsers: Sequence[str],
    judgements: Path | None = None,
    kept: str | None = None,
) -> None:
    """Write the answers of a model to a benchmark (`known_unknowns.scoring.answers`), of every cell.

    Parameters
    ----------
    variants : Path
        The benchmark's folder of variants.
    replies, out : Path
        The table of replies, and the table of answers to write.
    cells : iterable of Cell
        The cells.
    parsers : sequence of str
        Names of the parsers.
    judgements : Path, optional
        The file of the judge's judgements, if the parsers include it.
    kept : str, optional
        What the official parser reads of a reply (`known_unknowns.benchmark.kept_part`).

    Raises
    ------
    ConfigError
        If a parser is unknown, or the judge has no file of judgements.
    DataError
        If a question has no replies, a reply has no question, or a turn occurs twice or is missing.
    """
    cells, known = list(cells), _known_parsers(parsers, judgements, kept)
    benchmark = _benchmark_of(asked(variants, cells[0].variant, cells[0].seed))
    with part_writer(out, CELL, answer_schema(benchmark)) as write, progress("parsing", len(cells)) as advance:
        for cell in cells:
            part = tables.Part(replies, cell)
            pairs = read_turns(asked(variants, cell.variant, cell.seed), part)
            by_parser: dict[str, ScoresByTurn] = {}
            for score in _scores(pairs, known, part):
                by_parser.setdefault(score.parser, {})[score.question_id, score.turn] = score
            write(cell, answer_table(benchmark, pairs, parsers, by_parser, file=part, kept=kept))
            advance(1)


def _known_parsers(parsers: Sequence[str], judgements: Path | None, kept: str | None) -> dict[str, Parser]:
    known = parsers_with(kept) | ({} if judgements is None else {JUDGE: noting_removed(parser_of(judgements))})
    for name in parsers:
        if name not in known:
            raise ConfigError(unknown_name(name, known), path="parsers")
    return {name: known[name] for name in parsers}


def _benchmark_of(questions: Source) -> str:
    return tables.read_columns(questions, tables.QUESTIONS, ["benchmark"])["benchmark"][0].as_py()


def _scores(
    pairs: Sequence[tuple[Question, Sequence[AnsweredTurn]]], parsers: Mapping[str, Parser], replies: Source
) -> list[Score]:
    """The scores of all questions, in their order; ``replies`` is named in errors.

    A question that is asked about several views is correct if any view has the correct answer [1]_; see
    `combine_views`. This favours models that choose many views, because each view is another chance.

    References
    ----------
    .. [1] Z. Wang et al., 2024, arXiv:2410.04659, Appendix G.3.
    """
    turns = [turn for _, of_question in pairs for turn in of_question]
    chosen = {name: parse for name, parse in parsers.items() if has_input(name, turns)}
    scores: list[Score] = []
    for question, of_question in pairs:
        scored = [turn for turn in with_continuations(of_question) if turn.labels is not None]
        by_parser = [[score_turn(turn, question, name, parse) for turn in scored] for name, parse in chosen.items()]
        scores += chain.from_iterable(zip(*map(combine_views, by_parser), strict=True))
    scored_turns = sum(turn.labels is not None for turn in turns)
    assert len(scores) == scored_turns * len(chosen), f"{replies}: scores were lost or doubled"
    return scores
