"""Consistency of answers when the options of a question are shuffled.

Answers are compared by content, that is by the option's text, not by its label. An unparsed reply agrees with nothing,
not even with another unparsed reply.

The position metrics ask whether an answer follows its content or its position. They count ordered pairs of seeds
(first, second). A pair is *informative* if both replies were parsed and the option chosen with the first seed is at
another position with the second seed. The second answer then keeps the content (the same text), keeps the position
(the same label, another text), or does neither. A pair of seeds that is informative in both directions is counted
twice.

A guessing model also keeps the position, as often as it chooses any other option with other content. The excess over
this, ``position_kept - other / (k - 2)`` with k options, is explained by the position alone. It is 1 for a model that
always chooses the first option, 0 for a model that knows the answer, and 0 on average for a model that guesses. It is
negative for a model that avoids its previous position.

| metric              | numerator                                                        | denominator          |
|---------------------|------------------------------------------------------------------|----------------------|
| same_answer         | parsed, and the same text with all seeds                         | all questions        |
| content_agreement   | share of pairs of seeds with the same text                       | all questions        |
| content_kept        | informative pairs that keep the text                             | informative pairs    |
| position_kept       | informative pairs that keep the label                            | informative pairs    |
| position_alone      | the same, less other / (k - 2)                                   | informative pairs    |

Pairs are counted as a share of all pairs of a question, so that a question's weight is its share of informative pairs.
The metrics are defined by this project, not by a paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from known_unknowns.metrics.benchmark_hooks import ScoredAnswers
from known_unknowns.metrics.proportions import Ratio
from known_unknowns.records import Question


def across_seeds(seeds: Sequence[ScoredAnswers]) -> dict[str, Ratio]:
    """Compute the metrics of the module's table.

    Parameters
    ----------
    seeds : sequence of ScoredAnswers
        The answers with each seed, to the same questions in the same order. At least two.

    Returns
    -------
    dict from str to Ratio
        Numerators and denominators, arrays of shape (questions,).
    """
    asked = zip(*(scored.questions for scored in seeds), strict=True)
    chosen = zip(*(scored.choice.tolist() for scored in seeds), strict=True)
    counts = [_pair_shares(questions, choices) for questions, choices in zip(asked, chosen, strict=True)]
    same, agreement, content, position, alone, informative = np.array(counts, dtype=np.float64).reshape(-1, 6).T
    all_questions = np.ones(len(counts))
    return {
        "same_answer": Ratio(same, all_questions),
        "content_agreement": Ratio(agreement, all_questions),
        "content_kept": Ratio(content, informative),
        "position_kept": Ratio(position, informative),
        "position_alone": Ratio(alone, informative, proportion=False),
    }


def _pair_shares(questions: Sequence[Question], choices: Sequence[int]) -> tuple[float, ...]:
    """Numerators of the five metrics for one question, and the share of its ordered pairs that are informative.

    ``choices`` has the index of the option that was chosen with each seed, -1 if none was.
    """
    texts = [
        None if choice < 0 else question.options[choice].text
        for question, choice in zip(questions, choices, strict=True)
    ]
    pairs = list(permutations(range(len(texts)), 2))
    agree = content = position = alone = informative = 0.0
    options_of = [[option.text for option in question.options] for question in questions]
    for first, second in pairs:
        first_text, second_text = texts[first], texts[second]
        if first_text is None or second_text is None:
            continue
        agree += first_text == second_text
        options = options_of[second]
        same_position = choices[first] == choices[second]
        if first_text not in options or options.index(first_text) == choices[first]:
            continue
        informative += 1
        content += second_text == first_text
        position += same_position
        if second_text != first_text:
            alone += 1.0 if same_position else -1.0 / (len(options) - 2) if len(options) > 2 else 0.0
    same = texts[0] is not None and len(set(texts)) == 1
    return float(same), *(count / len(pairs) for count in (agree, content, position, alone, informative))
