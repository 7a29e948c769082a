"""Replies that a parser could not use, or that have no text: their number, the most frequent one, and what may help.

The classes of replies without an answer are in `known_unknowns.unusable`, which engines use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from known_unknowns import json_files
from known_unknowns.benchmark import registry
from known_unknowns.benchmark.protocol import ANSWER
from known_unknowns.config import Params, RespondentModel, TransformersModel
from known_unknowns.edition_files import EditionFiles, replies_table
from known_unknowns.metrics.dual import combinations
from known_unknowns.metrics.index import Lookup
from known_unknowns.metrics.proportions import ACCURACY, HIGH_BOUND, SHARE
from known_unknowns.records import CUT, FAILED, UNPARSED, UNUSABLE, Cell, Definition, Metric
from known_unknowns.tables import REPLIES, read_answers, read_columns
from known_unknowns.tables.parquet import Part
from known_unknowns.unusable import CUT_OFF, EMPTY, REMEDIES, RETRIED
from known_unknowns.variants.of_benchmark import removes_options

_SHOWN = 120
"""Length of a quoted reply."""
_NO_OPTION = (
    "the replies name no option: check the model's chat template (prompt_template) and its system prompt, or add the "
    "parser judge"
)
UNUSABLE_LIMIT = 0.2
"""A model with a larger share of unusable replies has no rank, no test and no sentence."""

DEFINITION = Definition(
    "Share of the replies to the questions of the primary number that were unparsed, cut or failed.",
    "docs/report.md#the-first-screen",
)
"""What the share of unusable replies is, for pages."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """Unusable replies to a variant: their share of ``n`` questions, and their number by outcome."""

    variant: str
    n: int
    share: float
    counts: Mapping[str, int]

    @property
    def replies(self) -> int:
        return sum(self.counts.values())

    @property
    def excludes(self) -> bool:
        """Whether there are too many to rank the model."""
        return self.share > UNUSABLE_LIMIT

    def text(self) -> str:
        """Return "100.0% of 300 replies are unusable (290 unparsed, 10 failed)"."""
        kinds = ", ".join(f"{number:,} {outcome}" for outcome, number in self.counts.items() if number)
        return f"{self.share:.1%} of {self.n:,} replies are unusable ({kinds})"


def unusable_of(params: Params, benchmark: str, lookup: Lookup, variant: str, parser: str) -> Unusable | None:
    """Return the replies to a variant that a parser could not use.

    Of a combination of variants, these are the replies to the one with the largest share.

    Where the right option is removed, an unparsed reply with a label is wrong, but not unusable (`removes_options`).
    None if no share was measured.
    """
    across = [*combinations(params, benchmark), *registry.get(benchmark).metrics().across_variants]
    found = []
    for part in next((each.variants for each in across if each.name == variant), (variant,)):
        measured = {outcome: lookup(part, parser, f"{SHARE}{outcome}") for outcome in UNUSABLE}
        defined = {name: m for name, m in measured.items() if m is not None and m.value is not None}
        if not defined:
            continue
        shares = {name: m.value or 0.0 for name, m in defined.items()}
        if part in params.variants(benchmark) and removes_options(params, part):
            shares[UNPARSED] = _unparsed_without_label(partial(lookup, part, parser), shares)
        n = max(m.n for m in defined.values())
        counts = {name: round(share * n) for name, share in shares.items()}
        found.append(Unusable(part, n, sum(shares.values()), counts))
    return max(found, key=lambda each: each.share, default=None)


def _unparsed_without_label(lookup: Callable[[str], Metric | None], shares: Mapping[str, float]) -> float:
    """The share of unparsed replies without a label: ``accuracy_high_bound`` counts these, cut and failed ones."""
    bound, accuracy = (
        0.0 if (metric := lookup(name)) is None else metric.value or 0.0 for name in (HIGH_BOUND, ACCURACY)
    )
    others = sum(share for outcome, share in shares.items() if outcome != UNPARSED)
    return max(0.0, bound - accuracy - others)


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


def without_text(params: Params, results: Path, *, program: str, options: str) -> list[str]:
    """Return lines on the replies without a text that the files engine.json of a run record, and what may help.

    There is a line for each model and benchmark with such replies, and at most two of advice.

    ``program`` is the command line's program, ``options`` select the configuration of the run. The likely reason is
    named above the share `UNUSABLE_LIMIT`; a few are a number only. An empty reply of a scripted respondent is meant,
    and no failure. A model in this process gives an empty reply again, because its sampling depends on the question
    alone.
    """
    lines, again = [], []
    many = Counter[str]()
    for model in params.models:
        entry = params.model(model)
        same_again = {EMPTY} if isinstance(entry, TransformersModel) else set()
        for benchmark in params.benchmarks:
            path = replies_table(results / "replies", model, benchmark).with_name("engine.json")
            record = json_files.read(path) if path.is_file() else {}
            found = dict(record.get("failures") or {})
            if isinstance(entry, RespondentModel):
                found.pop(EMPTY, None)
            if not found:
                continue
            number = sum(found.values())
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.items())
            lines.append(f"{model} {benchmark}: {number:,} of {record['replies']:,} replies ({kinds})")
            if number > UNUSABLE_LIMIT * record["replies"]:
                many.update(found)
            if found.keys() & set(RETRIED) - same_again:
                again.append(model)
    if again:
        names = dict.fromkeys(again)
        name = next(iter(names)) if len(names) == 1 else "MODEL"
        models = f", for {', '.join(names)}" if len(names) > 1 else ""
        lines.append(f"Ask them again: {program} journal retry {name} {options}{models}")
    if many:
        ((kind, _),) = many.most_common(1)
        lines.append(f"{kind}: {REMEDIES[kind]}")
    return lines
