"""Write replies in the file formats of other tools, so that these can check our numbers.

`known_unknowns.exchange.rescore` reads every one of them. What a format cannot hold is named (`losses`).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from known_unknowns.benchmark.exchange import FileFormat
from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles
from known_unknowns.errors import ConfigError, DataError, unknown_name
from known_unknowns.exchange.losses import losses
from known_unknowns.exchange.reader import formats
from known_unknowns.files import write_text
from known_unknowns.records import Cell
from known_unknowns.run_command import run_command
from known_unknowns.scoring.dialogues import final_answers, read_turns
from known_unknowns.tables.parquet import Part, Source

_GENERIC = "jsonl"
"""The format of benchmarks without one of their own. It keeps every turn."""


class CellTables(NamedTuple):
    """The questions of one cell, a model's replies to them, and a name for a file of these."""

    questions: Part
    replies: Part
    name: str


def cell_tables(
    params: Params, model: str, benchmark: str, variant: str | None, seed: int | None, sample: int = 0
) -> CellTables:
    """Return the tables of a finished run by the names in params.yaml.

    The default is the first seed of the original questions, or else of the benchmark's first variant. Raises
    ConfigError if the edition has no such model, benchmark, variant, seed or sample, or if one of the tables is
    missing.
    """
    for name, known, path in ((model, params.models, "MODEL"), (benchmark, params.benchmarks, "BENCHMARK")):
        if name not in known:
            raise ConfigError(f"edition {params.edition}: {unknown_name(name, known)}", path=path)
    cells = params.cells(benchmark, model)
    variants = list(dict.fromkeys(cell.variant for cell in cells))
    chosen = variant or ("original" if "original" in variants else variants[0])
    if chosen not in variants:
        raise ConfigError(unknown_name(chosen, variants), path="--variant")
    of_variant = [cell for cell in cells if cell.variant == chosen]
    cell = Cell(chosen, of_variant[0].seed if seed is None else seed, sample)
    for name in ("seed", "sample"):
        number, numbers = getattr(cell, name), sorted({getattr(each, name) for each in of_variant})
        if number not in numbers:
            has = ", ".join(map(str, numbers))
            raise ConfigError(f"{chosen} has no {name} {number}; it has {has}", path=f"--{name}")
    files = EditionFiles.of(params)
    found = CellTables(
        files.asked(benchmark, chosen, cell.seed),
        Part(files.replies(model, benchmark), cell),
        f"{model}-{benchmark}-{chosen}-{cell.repeat.slug}",
    )
    for table in (found.questions.path, found.replies.path):
        if not table.is_file():
            again = f"make it with  {run_command(params.edition, table.as_posix())}"
            if table == found.replies.path and params.is_imported(model):
                again = "its replies were imported; import them again"
            raise ConfigError(f"there is no {table}; {again}")
    return found


class Exported(NamedTuple):
    """The path that was written, and notes on what the file does not hold."""

    path: Path
    notes: tuple[str, ...] = ()


def export(format: str | None, questions: Source, replies: Source, out: Path, *, add_suffix: bool = False) -> Exported:
    """Write the reply to every question, in the order of the questions.

    The default ``format`` is that of the questions' benchmark, or else `_GENERIC`. With ``add_suffix``, the suffix of
    the format is added to ``out``. The file is read again, and compared with the replies: the notes name each
    difference. Raises ConfigError if there is no such format, and DataError if the tables do not belong together, or
    the format is for another benchmark.
    """
    known = {f.name: f for f in formats() if f.write}
    if format is not None and format not in known:
        raise ConfigError(unknown_name(format, known), path="--format")
    pairs = read_turns(questions, replies)
    if format is None:
        benchmark = pairs[0][0].benchmark if pairs else ""
        format = next((name for name, f in known.items() if benchmark and f.benchmark == benchmark), _GENERIC)
    chosen: FileFormat = known[format]
    for question, _ in pairs:
        if chosen.benchmark not in ("", question.benchmark):
            message = f"question {question.id!r} is of the benchmark {question.benchmark!r}, not {chosen.benchmark!r}"
            raise DataError(message, file=questions)
    if chosen.every_turn:
        turns = [(question, turn) for question, of_question in pairs for turn in of_question if turn.labels is not None]
    else:
        turns = list(final_answers(pairs, file=replies))
    assert chosen.write is not None
    if add_suffix:
        out = out.with_name(out.name + chosen.suffix)
    content = chosen.write(turns)
    write_text(out, content)
    return Exported(out, tuple(losses(pairs, content, chosen.suffix)) if pairs else ())
