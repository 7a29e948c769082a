"""Whether a model gives the same answer to the same question when its options stand in another order.

Answers are compared by content: by the option's text, whatever its letter. A reply that could not be read agrees with
nothing, not even with another such reply.

Where does an answer stay: with its content, or at its position? A pair of seeds (one, other) *tells* if both replies
were read and the option chosen under ``one`` stands at another position under ``other``. The second answer then keeps
the content (the same text), keeps the position (the same letter, another text), or does neither. Every telling pair
is counted in both directions in which it tells.

Guessing keeps the position too, as often as any other position that does not hold the content. What exceeds that,
``position_kept - other / (k - 2)`` with k options, is explained by position alone: 1 for a model that always says A, 0
for one that knows, 0 on average for one that guesses. It is negative for one that avoids what it said before.

| metric              | numerator                                                        | denominator          |
|---------------------|------------------------------------------------------------------|----------------------|
| same_answer         | read, and the same text under all seeds                          | all questions        |
| content_agreement   | share of pairs of seeds with the same text                       | all questions        |
| content_kept        | telling pairs that keep the text                                 | telling pairs        |
| position_kept       | telling pairs that keep the letter                               | telling pairs        |
| position_alone      | those, less other / (k - 2)                                      | telling pairs        |

Pairs are counted as a share of a question's, so that every question weighs as much as it has telling pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from known_unknowns.metrics.benchmark_hooks import Scored
from known_unknowns.metrics.proportions import Ratio
from known_unknowns.records import Question, Score


def across_seeds(seeds: Sequence[Scored]) -> dict[str, Ratio]:
    """The metrics of the module's table; ``seeds`` hold the same questions in the same order."""
    rows = [
        _of_question(
            [scored.questions[place] for scored in seeds],
            [scored.readings[place] for scored in seeds],
        )
        for place in range(len(seeds[0].questions))
    ]
    same, agreement, content, position, alone, telling = np.array(rows, dtype=np.float64).reshape(-1, 6).T
    everything = np.ones(len(rows))
    return {
        "same_answer": Ratio(same, everything),
        "content_agreement": Ratio(agreement, everything),
        "content_kept": Ratio(content, telling),
        "position_kept": Ratio(position, telling),
        "position_alone": Ratio(alone, telling),
    }


def _of_question(questions: Sequence[Question], readings: Sequence[Score]) -> tuple[float, ...]:
    """Numerators of the five metrics, and the share of the question's ordered pairs of seeds that tell."""
    said = [
        None if score.choice is None else question.options[score.choice].text
        for question, score in zip(questions, readings, strict=True)
    ]
    pairs = list(permutations(range(len(said)), 2))
    agree = content = position = alone = telling = 0.0
    for one, other in pairs:
        if said[one] is None or said[other] is None:
            continue
        agree += said[one] == said[other]
        options = [option.text for option in questions[other].options]
        here, there = readings[one].choice, readings[other].choice
        if said[one] not in options or options.index(said[one]) == here:
            continue
        telling += 1
        content += said[other] == said[one]
        position += there == here
        if said[other] != said[one]:
            alone += 1.0 if there == here else -1.0 / (len(options) - 2) if len(options) > 2 else 0.0
    same = said[0] is not None and len(set(said)) == 1
    return float(same), *(count / len(pairs) for count in (agree, content, position, alone, telling))
