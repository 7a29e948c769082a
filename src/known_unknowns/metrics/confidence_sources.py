"""The confidences of each question, from the turns and scores of a variant's seeds and samples.

`known_unknowns.scoring.confidence` has the sources that a single dialogue gives. Here are also those that need several
replies to the same question. All are about the answer that the robust parser parses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from known_unknowns.benchmark.metrics import Ratio, ScoreArrays, ScoredAnswers
from known_unknowns.benchmark.protocol import CONFIDENCE, FORCED, LIKELIHOOD
from known_unknowns.metrics.confidence import Statistic, calibration, estimated, refusal_bounds
from known_unknowns.metrics.consistency import option_codes
from known_unknowns.metrics.estimates import Estimates, ratio_estimates
from known_unknowns.records import ABSTAINED, ANSWERED, FAILED, OVERALL, REFUSED, SAMPLE, AnsweredTurn, sample_of
from known_unknowns.scoring import confidence as of_dialogue
from known_unknowns.scoring.likelihood import LEAST_MASS, label_mass
from known_unknowns.tables import CONFIDENCES, table_of
from known_unknowns.tables.confidence_sources import (
    COLUMNS,
    KNOWN,
    LETTERS,
    OPTION_TEXT,
    OPTION_TEXT_SUM,
    REFUSAL,
    SAMPLES,
    SHUFFLES,
    VERBALISED,
)
from known_unknowns.tables.parquet import Source

NOT_AGAIN = (
    "undefined: no refused question is asked again without the refusal option, as the protocol forced_choice does"
)
NOTHING_RIGHT = "undefined: no option but the refusal is right"
_NOT_ASKED = "not asked: confidence: [{}] of the edition in params.yaml asks for it"


def low_mass(turns: Iterable[AnsweredTurn]) -> str:
    """Return why the labels' probabilities say nothing: their mean sum is below `LEAST_MASS`; "" if it is not."""
    masses = [mass for turn in turns if (mass := label_mass(turn)) is not None]
    if not masses or (mean := float(np.mean(masses))) >= LEAST_MASS:
        return ""
    return f"undefined: the labels have {mean:.1%} of the probability on average, less than {LEAST_MASS:.0%}"


@dataclass(frozen=True)
class Confidences:
    """The confidences of one variant and seed, arrays of shape (questions,).

    Attributes
    ----------
    scores : ScoreArrays
        The answers.
    would_be_right : ndarray of float
        `records.Confidence.would_be_right`; NaN if unknown.
    values : mapping from str to ndarray of float
        By source, without those that have no value; NaN if unknown.
    reasons : mapping from str to str
        Why the other sources have no value.
    """

    scores: ScoreArrays
    would_be_right: np.ndarray
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def attempted(self) -> np.ndarray:
        """Flags of attempts."""
        return self.scores.outcome == ANSWERED

    @property
    def refused(self) -> np.ndarray:
        """Flags of replies that refuse or abstain."""
        return np.isin(self.scores.outcome, (REFUSED, ABSTAINED))

    @classmethod
    def of(cls, scored: ScoredAnswers) -> Confidences:
        """Compute the confidences of single dialogues, as the parser `PARSER` parsed them."""
        arrays = scored.arrays
        forced = scored.step(FORCED) if scored.other_scores else [None] * len(scored.questions)
        asked = np.array([np.nan if s is None or s.outcome == FAILED else float(s.correct) for s in forced])
        found = cls(arrays, np.full(len(asked), np.nan))
        would = np.where(arrays.no_option_is_right, 0.0, np.where(arrays.refused, asked, np.nan))
        would = np.where(found.attempted, arrays.correct, np.where(found.refused, would, np.nan))
        found = replace(found, would_be_right=would)
        found = found.with_source(REFUSAL, np.where(found.attempted, 1.0, np.where(found.refused, 0.0, np.nan)), "")
        return found._with_labels(scored)._with_steps(scored)

    def with_source(self, name: str, values: np.ndarray, reason: str) -> Confidences:
        """Add a source, or the reason why it has no value."""
        if np.isnan(values).all():
            return replace(self, reasons={**self.reasons, name: reason})
        return replace(self, values={**self.values, name: values})

    def _with_labels(self, scored: ScoredAnswers) -> Confidences:
        """Add the probabilities of labels."""
        reason = low_mass(scored.answers)
        values = [
            None if reason else of_dialogue.letters(turn, question, score.choice)
            for question, turn, score in zip(scored.questions, scored.answers, scored.scores, strict=True)
        ]
        return self.with_source(LETTERS, _array(values), reason or "undefined: no label has a probability")

    def _with_steps(self, scored: ScoredAnswers) -> Confidences:
        """Add the sources that have a step of their own."""
        sources: tuple[tuple[str, str, Callable[..., float | None]], ...] = (
            (OPTION_TEXT, LIKELIHOOD, of_dialogue.option_text),
            (OPTION_TEXT_SUM, LIKELIHOOD, lambda *of: of_dialogue.option_text(*of, normalise=False)),
            (VERBALISED, CONFIDENCE, lambda turn, *_: of_dialogue.verbalised(turn)),
        )
        found, dialogues = self, scored.dialogues or [()] * len(scored.questions)
        for name, step, of_turn in sources:
            turns = [next((turn for turn in reversed(of_one) if turn.step == step), None) for of_one in dialogues]
            values = [
                None if turn is None else of_turn(turn, question, score.choice)
                for question, turn, score in zip(scored.questions, turns, scored.scores, strict=True)
            ]
            errors = [turn.reply.error for turn in turns if turn is not None and turn.reply.error]
            reason = "undefined: " + (errors[0] if errors else "no reply has a value")
            if not any(turns):
                reason = _NOT_ASKED.format(OPTION_TEXT if step == LIKELIHOOD else VERBALISED)
            found = found.with_source(name, _array(values), reason)
        return found

    def table(self, path: Source, ids: Sequence[str]) -> pa.Table:
        """Return the rows of `records.Confidence`; ``path`` is named in errors."""
        missing = np.full(len(ids), np.nan)
        columns = [self.scores.outcome, self.scores.correct, self.attempted]
        numbers = [self.would_be_right, *(self.values.get(name, missing) for name in COLUMNS)]
        would, *confidences = ([None if v != v else v for v in values.tolist()] for values in numbers)
        flags = [None if value is None else bool(value) for value in would]
        rows = zip(ids, *(column.tolist() for column in columns), flags, *confidences, strict=True)
        return table_of(path, rows, CONFIDENCES)


def _array(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def with_agreement(found: Mapping[int, Confidences]) -> dict[int, Confidences]:
    """Add the sources that need several seeds or samples to the confidences of each seed of a variant, once."""
    found = dict(found)
    if all(SAMPLES in {*each.values, *each.reasons} for each in found.values()):
        return found
    for name, part_of, one in (
        (SAMPLES, lambda seed: seed % SAMPLE, "one reply to each question; samples in params.yaml asks for more"),
        (SHUFFLES, sample_of, "one order of the options; seeds in params.yaml asks for more"),
    ):
        parts: dict[int, list[int]] = {}
        for seed in found:
            parts.setdefault(part_of(seed), []).append(seed)
        for seeds in parts.values():
            scores = [found[seed].scores for seed in seeds]
            codes = option_codes([each.questions for each in scores])
            shares, reason = agreement(scores, codes), one
            if name == SHUFFLES and all(np.array_equal(each, codes[0]) for each in codes):
                shares = [np.full(len(each.outcome), np.nan) for each in scores]
                reason = one if len(seeds) == 1 else "the seeds of this variant do not shuffle the options"
            for seed, values in zip(seeds, shares, strict=True):
                found[seed] = found[seed].with_source(name, values, reason)
    return found


def agreement(scores: Sequence[ScoreArrays], codes: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Compute the share of replies to each question that choose the option with the same text as each reply.

    Parameters
    ----------
    scores : sequence of ScoreArrays
        The answers with each seed or sample, to the same questions in the same order.
    codes : sequence of ndarray, shape (questions, options)
        The options with each seed, as numbers of their texts.

    Returns
    -------
    list of ndarray, shape (questions,)
        For each seed or sample. A reply counts itself; failed ones do not count. NaN if no option was chosen, or if
        there is no other reply.
    """
    texts = np.array(
        [
            np.where(each.choice < 0, -1, np.take_along_axis(code, np.maximum(each.choice, 0)[:, None], 1)[:, 0])
            for each, code in zip(scores, codes, strict=True)
        ]
    )
    replied = np.sum([~each.failed for each in scores], axis=0)
    equal = (texts[:, None] == texts[None]).sum(axis=1)
    return list(np.where((texts >= 0) & (replied > 1), equal / np.maximum(replied, 1), np.nan))


class Block(NamedTuple):
    """Metrics of one source with the same number of questions, by seed.

    ``statistics`` are those that the estimates were made of, ``note`` says what was left out. Without seeds, ``absent``
    says why the source has no value.
    """

    source: str
    by_seed: Mapping[int, Estimates]
    statistics: Mapping[int, Mapping[str, Statistic]] = {}
    note: str = ""
    absent: str = ""


def blocks(found: Mapping[int, Confidences], column: np.ndarray, *, asks_again: bool = False) -> Iterator[Block]:
    """Compute the metrics of every source.

    Parameters
    ----------
    found : mapping from int to Confidences
        The confidences of a variant, by seed.
    column : ndarray of int, shape (questions,)
        The group of each question, as a number.
    asks_again : bool
        Whether the protocol asks refused questions again without the refusal option. Else, nothing is known of what a
        model refused, except where no answer can be right.
    """
    everything = {OVERALL: np.ones(len(column), dtype=bool)}
    for source in COLUMNS:
        of_source = {seed: each for seed, each in found.items() if source in each.values}
        if source == REFUSAL and found:
            yield from _refusal_blocks(found, column, everything, asks_again=asks_again)
            continue
        known = {seed: each.attempted & ~np.isnan(each.values[source]) for seed, each in of_source.items()}
        if not of_source:
            reasons = (each.reasons[source] for each in found.values() if source in each.reasons)
            yield Block(source, {}, absent=next(reasons, "no question was asked"))
        else:
            shares = {seed: {KNOWN: Ratio(known[seed], each.attempted)} for seed, each in of_source.items()}
            yield Block(source, {s: ratio_estimates(each, everything, column)[OVERALL] for s, each in shares.items()})
            statistics = {
                seed: calibration(each.values[source][known[seed]], each.scores.correct[known[seed]])
                for seed, each in of_source.items()
                if known[seed].any()
            }
            yield _block(source, statistics, {seed: column[known[seed]] for seed in statistics}, np.unique(column))


def _refusal_blocks(
    found: Mapping[int, Confidences], column: np.ndarray, everything: Mapping[str, np.ndarray], *, asks_again: bool
) -> Iterator[Block]:
    """Bounds of the metrics of the refusals, and the share of the refusals whose answer is known."""
    if not asks_again:
        yield Block(REFUSAL, {}, absent=NOT_AGAIN)
        return
    if all(each.scores.no_option_is_right.all() for each in found.values()):
        yield Block(REFUSAL, {}, absent=NOTHING_RIGHT)
        return
    missing = {seed: each.refused & np.isnan(each.would_be_right) for seed, each in found.items()}
    shares = {seed: {KNOWN: Ratio(each.refused & ~missing[seed], each.refused)} for seed, each in found.items()}
    yield Block(REFUSAL, {s: ratio_estimates(each, everything, column)[OVERALL] for s, each in shares.items()})
    unknown = sum(int(of_seed.sum()) for of_seed in missing.values())
    total = sum(int(each.refused.sum()) for each in found.values())
    note = f"; a bound: {unknown:,} of {total:,} refusals have no known answer" if unknown else ""
    statistics = {
        seed: refusal_bounds(each.attempted, each.refused, each.would_be_right) for seed, each in found.items()
    }
    n = {seed: int((each.attempted | each.refused).sum()) for seed, each in found.items()}
    yield _block(REFUSAL, statistics, dict.fromkeys(statistics, column), np.unique(column), n=n, note=note)


def _block(
    source: str,
    statistics: Mapping[int, Mapping[str, Statistic]],
    columns: Mapping[int, np.ndarray],
    groups: np.ndarray,
    *,
    n: Mapping[int, int] | None = None,
    note: str = "",
) -> Block:
    by_seed = {
        seed: estimated(of_seed, columns[seed], groups, n=None if n is None else n[seed])
        for seed, of_seed in statistics.items()
    }
    return Block(source, by_seed, statistics, note)
