"""Unusable replies: their number, the most frequent one, and what may help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from known_unknowns.edition_files import EditionFiles
from known_unknowns.engines.unusable import CUT_OFF, EMPTY, REMEDIES
from known_unknowns.records import CUT, FAILED, UNUSABLE
from known_unknowns.scoring.reply_rows import reply_rows
from known_unknowns.tables.parquet import Cell, Part

_SHOWN = 120
"""Length of a quoted reply."""
_NO_OPTION = (
    "the replies name no option: check the model's chat template (prompt_template) and its system prompt, or add the "
    "parser judge"
)


def unusable(outcomes: Iterable[tuple[str, str]]) -> str:
    """Return sentences with the number of unusable replies, the most frequent one and its remedy; empty without any.

    Parameters
    ----------
    outcomes : iterable of (str, str)
        The outcome of each reply, and its text or the reason of its failure.
    """
    pairs = list(outcomes)
    counts = Counter(pair for pair in pairs if pair[0] in UNUSABLE)
    if not counts:
        return ""
    ((outcome, text), number), *_ = counts.most_common(1)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    most = f"the most frequent ({number:,}, {outcome}) is {shown!r}"
    kinds = {CUT: CUT_OFF, FAILED: "error"}
    remedy = _NO_OPTION if text.strip() and outcome not in kinds else REMEDIES[kinds.get(outcome, EMPTY)]
    return f"Unusable: {counts.total():,} of {len(pairs):,} replies; {most}. Likely remedy: {remedy}."


def outcomes(
    files: EditionFiles, model: str, benchmark: str, cells: Iterable[Cell], parser: str
) -> list[tuple[str, str]]:
    """Return the outcome of each scored reply by a parser, and its text or the reason of its failure."""
    found = []
    for variant, seed in cells:
        replies, scores = (Part(path(model, benchmark), seed, variant) for path in (files.replies, files.scores))
        names, rows = reply_rows(files.asked(benchmark, variant, seed), replies, scores, [parser])
        outcome, reply, error = (names.index(name) for name in (f"{parser}.outcome", "reply", "error"))
        found += [(row[outcome], row[error] or row[reply]) for row in rows if row[outcome] is not None]
    return found
