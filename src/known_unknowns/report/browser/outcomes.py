"""One byte per question for the outcome of a reply, which the page filters by.

| bits | content                                                                                    |
|------|--------------------------------------------------------------------------------------------|
| 0-2  | `NOT_ASKED`, `RIGHT`, `WRONG`, `REFUSED_RIGHTLY`, `REFUSED_WRONGLY`, `UNPARSED`, `FAILED`   |
| 4-5  | the answer without the refusal option: 0 not asked, 1 right, 2 not right                   |
| 6    | the refusal is the right answer                                                            |

A second byte has the index of the chosen option plus 1, and 0 without a choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from known_unknowns import records
from known_unknowns.protocols import ANSWER, FORCED
from known_unknowns.records import Question, Score

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


def planes(
    size: int,
    scorers: Sequence[str],
    questions: Mapping[str, Question],
    places: Mapping[str, int],
    scores: Iterable[Score],
) -> bytes:
    """Return the outcomes and the choices of one model's replies, for each scorer.

    Parameters
    ----------
    size : int
        Number of questions of the benchmark.
    scorers : sequence of str
        Names of the scorers.
    questions : mapping of str to Question
        The questions of the variant, by id.
    places : mapping of str to int
        The place of each question among all of the benchmark, by id.
    scores : iterable of Score
        The scores of all turns, with the turns of a question in order. The last of the step "answer" counts.

    Returns
    -------
    bytes
        For each scorer, ``size`` bytes of outcomes and ``size`` bytes of choices.
    """
    outcomes = {scorer: bytearray(size) for scorer in scorers}
    choices = {scorer: bytearray(size) for scorer in scorers}
    for score in scores:
        if score.scorer not in outcomes or score.step not in (ANSWER, FORCED):
            continue
        place, column = places[score.question_id], outcomes[score.scorer]
        if score.step == FORCED:
            column[place] = column[place] & ~(3 << 4) | (FORCED_RIGHT if score.correct else FORCED_WRONG)
            continue
        question = questions[score.question_id]
        refusable = question.answer is not None and question.answer == question.refusal
        column[place] = (
            column[place] & 3 << 4 | code_of(score.outcome, score.correct) | (REFUSAL_IS_RIGHT if refusable else 0)
        )
        choices[score.scorer][place] = 0 if score.choice is None else min(score.choice + 1, _MOST_CHOICES)
    return b"".join(bytes(plane[scorer]) for scorer in scorers for plane in (outcomes, choices))
