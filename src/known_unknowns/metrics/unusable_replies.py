"""Replies that a parser could not use: their number, the most frequent one, and what may help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pandas as pd

from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.config import Params
from known_unknowns.edition_files import EditionFiles
from known_unknowns.records import CUT, FAILED, UNPARSED, UNUSABLE, Cell
from known_unknowns.tables import REPLIES, read_answers, read_columns
from known_unknowns.tables.parquet import Part
from known_unknowns.unusable import CUT_OFF, EMPTY, REMEDIES
from known_unknowns.variants.of_benchmark import removes_options

_SHOWN = 120
"""Length of a quoted reply."""
_NO_OPTION = (
    "the replies name no option: check the model's chat template (prompt_template) and its system prompt, or add the "
    "parser judge"
)


def unusable(outcomes: Iterable[tuple[str | None, str]], *, remedy: bool = True) -> str:
    """Return sentences with the number of unusable replies, the most frequent one and its remedy; empty without any.

    ``outcomes`` are those of the function `outcomes`.
    """
    pairs = list(outcomes)
    counts = Counter((outcome, text) for outcome, text in pairs if outcome is not None)
    if not counts:
        return ""
    ((outcome, text), number), *_ = counts.most_common(1)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    most = f"the most frequent ({number:,}, {outcome}) is {shown!r}"
    kinds = {CUT: CUT_OFF, FAILED: "error"}
    found = f"Unusable: {counts.total():,} of {len(pairs):,} replies; {most}."
    if not remedy:
        return found
    likely = _NO_OPTION if text.strip() and outcome not in kinds else REMEDIES[kinds.get(outcome, EMPTY)]
    return f"{found} Likely remedy: {likely}."


def outcomes(
    params: Params, files: EditionFiles, model: str, benchmark: str, cells: Iterable[Cell], parser: str
) -> list[tuple[str | None, str]]:
    """Return the outcome of each answer by a parser, None if the reply can be used, and its text or its failure."""
    found: list[tuple[str | None, str]] = []
    for cell in cells:
        replies, answers = (Part(path(model, benchmark), cell) for path in (files.replies, files.answers))
        texts = read_columns(replies, REPLIES, ["question_id", "step", "reply", "error"]).to_pandas()
        last = texts[texts["step"] == ANSWER].drop_duplicates("question_id", keep="last")
        parsed = read_answers(answers, ["question_id", "parser", "outcome", "label"])
        answers = last.merge(parsed[parsed["parser"] == parser], on="question_id")
        usable = ~answers["outcome"].isin(UNUSABLE)
        if removes_options(params, cell.variant):
            usable |= (answers["outcome"] == UNPARSED) & answers["label"].notna()
        outcome = answers["outcome"].astype(object).mask(usable, None)
        text = answers["error"].replace("", pd.NA).fillna(answers["reply"])
        found += zip(outcome, text, strict=True)
    return found
