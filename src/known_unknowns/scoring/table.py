"""Score tables: every parser applied to every reply of a model to a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import pyarrow as pa

from known_unknowns import tables
from known_unknowns.benchmark.parsed_answer import Parser
from known_unknowns.edition_files import asked
from known_unknowns.errors import ConfigError, unknown_name
from known_unknowns.progress import progress
from known_unknowns.records import AnsweredTurn, Question, Score
from known_unknowns.scoring import has_input, parsers_with
from known_unknowns.scoring.dialogues import combine_views, read_turns, score_turn
from known_unknowns.scoring.judge import JUDGE, parser_of
from known_unknowns.scoring.option_text import with_continuations
from known_unknowns.scoring.robust import noting_removed
from known_unknowns.tables.parquet import Cell, Source


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
    cells = list(cells)

    def scored() -> Iterator[tuple[Cell, pa.Table]]:
        with progress("parsing", len(cells)) as advance:
            for variant, seed in cells:
                part = tables.Part(replies, seed, variant)
                questions = asked(variants, variant, seed)
                yield (variant, seed), score_table(questions, part, parsers=parsers, judgements=judgements, kept=kept)
                advance(1)

    tables.write_cells(out, tables.SCORES, scored())


def score_table(
    questions: Source,
    replies: Source,
    *,
    parsers: Sequence[str],
    judgements: Path | None = None,
    kept: str | None = None,
) -> pa.Table:
    """Return one row of `tables.SCORES` per question, scored turn (a turn with options) and parser, in this order.

    Parameters and errors are those of `parse`, for one variant and seed. A parser without input has no rows
    (`known_unknowns.scoring.has_input`).

    A question that is asked about several views is correct if any view has the correct answer [1]_; see
    `combine_views`. This favours models that choose many views, because each view is another chance.

    References
    ----------
    .. [1] Z. Wang et al., 2024, arXiv:2410.04659, Appendix G.3.
    """
    known = parsers_with(kept) | ({} if judgements is None else {JUDGE: noting_removed(parser_of(judgements))})
    for name in parsers:
        if name not in known:
            raise ConfigError(unknown_name(name, known), path="parsers")
    pairs = read_turns(questions, replies)
    turns = [turn for _, of_question in pairs for turn in of_question]
    chosen = {name: known[name] for name in parsers if has_input(name, turns)}
    scores = [score for question, of_question in pairs for score in _scores(question, of_question, chosen)]
    scored_turns = sum(turn.labels is not None for turn in turns)
    assert len(scores) == scored_turns * len(chosen), f"{replies}: scores were lost or doubled"
    return tables.score_table(replies, scores)


def _scores(question: Question, turns: Sequence[AnsweredTurn], parsers: Mapping[str, Parser]) -> Iterator[Score]:
    """The scores of one question."""
    scored = [turn for turn in with_continuations(turns) if turn.labels is not None]
    by_parser = [[score_turn(turn, question, name, parse) for turn in scored] for name, parse in parsers.items()]
    return chain.from_iterable(zip(*map(combine_views, by_parser), strict=True))
