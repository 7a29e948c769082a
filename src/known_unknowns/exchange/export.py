"""Write replies in the file formats of other tools, so that these can check our numbers.

`known_unknowns.exchange.rescore` reads every one of them.
"""

from __future__ import annotations

from pathlib import Path

from known_unknowns import tables
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.exchange.predictions import formats
from known_unknowns.scoring.table import final_answers, read_turns


def export(format: str | None, questions: Path, replies: Path, out: Path) -> None:
    """Write the reply to every question, in the order of the questions.

    Parameters
    ----------
    format : str or None
        The name of a format; None for the format of the questions' benchmark.
    questions, replies : Path
        Tables of questions and of their replies.
    out : Path
        The file to write.

    Raises
    ------
    ConfigError
        If there is no such format.
    DataError
        If the tables do not belong together, or the format is for another benchmark.
    """
    known = {f.name: f for f in formats() if f.write}
    if format is not None and format not in known:
        raise ConfigError(unknown_name(format, known), path="--format")
    pairs = read_turns(questions, replies)
    if format is None:
        benchmark = pairs[0][0].benchmark if pairs else ""
        format = next((name for name, f in known.items() if benchmark and f.benchmark == benchmark), None)
        if format is None:
            usable = ", ".join(name for name, f in known.items() if not f.benchmark)
            raise ConfigError(f"{benchmark!r} has no format of its own; choose one of {usable}", path="--format")
    chosen = known[format]
    for question, _ in pairs:
        if chosen.benchmark not in ("", question.benchmark):
            message = f"question {question.id!r} is of the benchmark {question.benchmark!r}, not {chosen.benchmark!r}"
            raise DataError(message, file=questions)
    if chosen.every_turn:
        turns = [(question, turn) for question, of_question in pairs for turn in of_question if turn.labels is not None]
    else:
        turns = list(final_answers(pairs, file=replies))
    assert chosen.write is not None
    tables.write_text(out, chosen.write(turns))
