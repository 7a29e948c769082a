"""Bytes per question that the page filters by: the outcome of a reply, its answer, and which parsers disagree.

| bits | content of the outcome                                                                     |
|------|--------------------------------------------------------------------------------------------|
| 0-3  | `NOT_ASKED`, `RIGHT`, `WRONG`, `REFUSED_RIGHTLY`, `REFUSED_WRONGLY`, `ABSTAINED`,          |
|      | `UNPARSED`, `CUT`, `FAILED`                                                                |
| 4-5  | the answer without the refusal option: 0 not asked, 1 right, 2 not right                   |
| 6    | an unparsed reply names a label that was not offered                                       |

| values | content of the answer                                                                    |
|--------|------------------------------------------------------------------------------------------|
| 0-8    | no option was chosen: the outcome                                                        |
| 9      | the right option                                                                         |
| 10-255 | another option: its index plus 10                                                        |

A byte of a confidence is 0 if it is unknown, and else 1 plus its part of 254.

Two replies to a question have the same answer if their bytes are equal. Each pair of parsers has a bit in a third
kind of byte, which is set if both have a result and their answers differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from known_unknowns import records
from known_unknowns.benchmark.protocol import ANSWER, FORCED
from known_unknowns.errors import DataError
from known_unknowns.report.browser.columns import AskedQuestions, OrderedTable
from known_unknowns.tables.confidence_sources import COLUMNS, REFUSAL
from known_unknowns.tables.parquet import Source

NOT_ASKED, RIGHT, WRONG, REFUSED_RIGHTLY, REFUSED_WRONGLY, ABSTAINED, UNPARSED, CUT, FAILED = range(9)
OUTCOME_BITS = 0b1111
FORCED_RIGHT, FORCED_WRONG = 1 << 4, 2 << 4
NAMES_LABEL = 1 << 6
RIGHT_OPTION, FIRST_OPTION = 9, 10
_LAST_OPTION = 255 - FIRST_OPTION
PAIRS_IN_BYTE = 8
SOURCES = tuple(source for source in COLUMNS if source != REFUSAL)
"""Sources of confidence by which the list can be sorted."""

_CODES = {
    (records.ANSWERED, True): RIGHT,
    (records.ANSWERED, False): WRONG,
    (records.REFUSED, True): REFUSED_RIGHTLY,
    (records.REFUSED, False): REFUSED_WRONGLY,
    (records.ABSTAINED, False): ABSTAINED,
    (records.UNPARSED, False): UNPARSED,
    (records.CUT, False): CUT,
    (records.FAILED, False): FAILED,
}


def codes_of(outcomes: Iterable[str], correct: Iterable[bool], *, file: Source) -> list[int]:
    """Return the codes of the outcomes of a table of scores."""
    try:
        return [_CODES[result] for result in zip(outcomes, correct, strict=True)]
    except KeyError as error:
        outcome, right = error.args[0]
        message = f"the outcome {outcome!r} with correct {right} is not possible; run the workflow again"
        raise DataError(message, file=file) from error


def planes(
    scores: OrderedTable, codes: Sequence[int], parsers: Sequence[str], questions: AskedQuestions
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return for each parser a byte for the outcome, and one for the answer, of the question at each place.

    ``scores`` are those of all turns of one model's replies, and ``codes`` their outcomes. The last turn of the step
    "answer" counts.
    """
    choice = scores.table["choice"].fill_null(-1).to_numpy()
    steps, names = (np.array(scores.values(column), dtype=object) for column in ("step", "parser"))
    correct = np.array(scores.values("correct"), bool)
    has_label = scores.table["label"].is_valid().to_numpy(zero_copy_only=False)
    of_codes = np.asarray(codes, np.uint8)
    found = {}
    for parser in parsers:
        of_parser = names == parser
        rows, forced = (np.flatnonzero(of_parser & (steps == step)) for step in (ANSWER, FORCED))
        outcome, answer, again = (np.zeros(questions.size, np.uint8) for _ in range(3))
        places, chosen = scores.places[rows], choice[rows]
        names_label = (of_codes[rows] == UNPARSED) & has_label[rows]
        outcome[places] = of_codes[rows] | np.where(names_label, NAMES_LABEL, 0).astype(np.uint8)
        option = np.where(
            chosen == questions.answers[places], RIGHT_OPTION, FIRST_OPTION + np.minimum(chosen, _LAST_OPTION)
        )
        answer[places] = np.where(chosen < 0, of_codes[rows], option)
        again[scores.places[forced]] = np.where(correct[forced], FORCED_RIGHT, FORCED_WRONG)
        found[parser] = (outcome | again, answer)
    return found


def disagreements(answers: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return bytes with a bit for each of eight pairs of parsers, in the order of `itertools.combinations`.

    ``answers`` has for each parser the answer of the question at each place; 0 is no result.
    """
    pairs = list(combinations(answers, 2))
    found = []
    for first in range(0, len(pairs), PAIRS_IN_BYTE):
        together = pairs[first : first + PAIRS_IN_BYTE]
        bits = [((a != b) & (a > 0) & (b > 0)).astype(np.uint8) << bit for bit, (a, b) in enumerate(together)]
        found.append(np.bitwise_or.reduce(bits))
    return found


def confidences(answers: pd.DataFrame, ids: Sequence[str]) -> list[np.ndarray]:
    """Return for each of `SOURCES` a byte for the confidence in the reply to each question.

    ``answers`` are those to one cell (`known_unknowns.metrics.answers.confidences`), ``ids`` the questions' ids in the
    order of the bytes.
    """
    found = [np.zeros(len(ids), np.uint8) for _ in SOURCES]
    places = pd.Index(ids).get_indexer(answers["question_id"])
    for source, of_source in zip(SOURCES, found, strict=True):
        values = answers[source].to_numpy(float)
        known = ~np.isnan(values)
        of_source[places[known]] = 1 + np.round(254 * np.clip(values[known], 0, 1)).astype(np.uint8)
    return found
