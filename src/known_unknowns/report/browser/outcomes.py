"""One byte per question for the outcome of a reply, which the page filters by.

| bits | content                                                                                    |
|------|--------------------------------------------------------------------------------------------|
| 0-2  | `NOT_ASKED`, `RIGHT`, `WRONG`, `REFUSED_RIGHTLY`, `REFUSED_WRONGLY`, `UNPARSED`, `FAILED`   |
| 4-5  | the answer without the refusal option: 0 not asked, 1 right, 2 not right                   |
| 6    | the refusal is the right answer                                                            |

A second byte has the index of the chosen option plus 1, and 0 without a choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import starmap
from pathlib import Path

import numpy as np

from known_unknowns import records
from known_unknowns.errors import DataError
from known_unknowns.protocols import ANSWER, FORCED
from known_unknowns.report.browser.columns import AskedQuestions, OrderedTable

NOT_ASKED, RIGHT, WRONG, REFUSED_RIGHTLY, REFUSED_WRONGLY, UNPARSED, FAILED = range(7)
FORCED_RIGHT, FORCED_WRONG = 1 << 4, 2 << 4
REFUSAL_IS_RIGHT = 1 << 6
_MOST_CHOICES = 255

_CODES = {
    (records.ANSWERED, True): RIGHT,
    (records.ANSWERED, False): WRONG,
    (records.REFUSED, True): REFUSED_RIGHTLY,
    (records.REFUSED, False): REFUSED_WRONGLY,
    (records.UNPARSED, False): UNPARSED,
    (records.FAILED, False): FAILED,
}


def code_of(outcome: str, correct: bool) -> int:
    """Return the code of a score's outcome."""
    return _CODES[outcome, correct]


def codes_of(outcomes: Iterable[str], correct: Iterable[bool], *, file: Path) -> list[int]:
    """Return the codes of the outcomes of a table of scores."""
    try:
        return list(starmap(code_of, zip(outcomes, correct, strict=True)))
    except KeyError as error:
        outcome, right = error.args[0]
        message = f"the outcome {outcome!r} with correct {right} is not possible; run the workflow again"
        raise DataError(message, file=file) from error


def planes(
    scores: OrderedTable, codes: Sequence[int], scorers: Sequence[str], questions: AskedQuestions
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the outcomes and the choices of one model's replies, for each scorer.

    Parameters
    ----------
    scores : OrderedTable
        The scores of all turns. The last of the step "answer" counts.
    codes : sequence of int
        The code of each score's outcome.
    scorers : sequence of str
        Names of the scorers.
    questions : AskedQuestions
        The questions.

    Returns
    -------
    dict of str to (numpy.ndarray, numpy.ndarray)
        For each scorer a byte for the outcome, and one for the choice, of the question at each place.
    """
    choice = scores.table["choice"].fill_null(-1).to_numpy()
    steps, names = (np.array(scores.values(column), dtype=object) for column in ("step", "scorer"))
    correct = np.array(scores.values("correct"), bool)
    found = {}
    for scorer in scorers:
        of_scorer = names == scorer
        answers, forced = (np.flatnonzero(of_scorer & (steps == step)) for step in (ANSWER, FORCED))
        outcome, chosen, again = (np.zeros(questions.size, np.uint8) for _ in range(3))
        places = scores.places[answers]
        outcome[places] = np.asarray(codes, np.uint8)[answers]
        outcome[places] |= np.where(questions.refusal_is_right[places], REFUSAL_IS_RIGHT, 0).astype(np.uint8)
        chosen[places] = np.minimum(choice[answers] + 1, _MOST_CHOICES)
        again[scores.places[forced]] = np.where(correct[forced], FORCED_RIGHT, FORCED_WRONG)
        found[scorer] = (outcome | again, chosen)
    return found
