"""Consistency of answers when the options of a question are shuffled, or when the question is asked several times.

Answers are compared by content, that is by the option's text, not by its label. A reply that abstains, is unparsed, cut
or failed chose no option: it agrees with nothing, not even with another such reply.

The position metrics ask whether an answer follows its content or its position. They count ordered pairs of seeds
(first, second). A pair is *informative* if both replies chose an option and the option chosen with the first seed is at
another position with the second seed. The second answer then keeps the content (the same text), keeps the position
(the same label, another text), or does neither. A pair of seeds that is informative in both directions is counted
twice.

A guessing model also keeps the position, as often as it chooses any other option with other content. The excess over
this, ``position_kept - other / (k - 2)`` with k options, is explained by the position alone. It is 1 for a model that
always chooses the first option, 0 for a model that knows the answer, and 0 on average for a model that guesses. It is
negative for a model that avoids its previous position.

| metric              | numerator                                                        | denominator          |
|---------------------|------------------------------------------------------------------|----------------------|
| same_answer         | an option was chosen, and the same text with all seeds           | all questions        |
| content_agreement   | share of pairs of seeds with the same text                       | all questions        |
| content_kept        | informative pairs that keep the text                             | informative pairs    |
| position_kept       | informative pairs that keep the label                            | informative pairs    |
| position_alone      | the same, less other / (k - 2)                                   | informative pairs    |

Pairs are counted as a share of all pairs of a question, so that a question's weight is its share of informative pairs.
Samples are replies to the same request. Their answer is the option, or that there was none: the reply abstains, or has
no answer (unparsed, cut or failed). The refusal option and an abstention are two answers, but both are a refusal.

| metric              | numerator                                                        | denominator          |
|---------------------|------------------------------------------------------------------|----------------------|
| majority_accuracy   | the most frequent answer is right; of several ones, their share  | all questions        |
| answer_changes      | the samples have at least two answers                            | all questions        |
| refusal_stability   | refused in all samples                                           | refused in any       |

The metrics are defined by this project, not by a paper.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from known_unknowns.benchmark.metrics import Ratio
from known_unknowns.records import ABSTAINED, REFUSED, Definition

if TYPE_CHECKING:
    import pandas as pd

_SECTION = "docs/metrics.md#consistency-across-shuffles"
DEFINITIONS: Mapping[str, Definition] = {
    "same_answer": Definition("Share of the questions with the same chosen text in every order of options.", _SECTION),
    "content_agreement": Definition("Mean share of the pairs of orders in which the same text was chosen.", _SECTION),
    "content_kept": Definition("Share of the pairs in which the chosen option moved that keep its text.", _SECTION),
    "position_kept": Definition("Share of the pairs in which the chosen option moved that keep its label.", _SECTION),
    "position_alone": Definition(
        "Share that keeps the label above that of a guess: 1 if the first option is always chosen, 0 for a guess.",
        _SECTION,
    ),
}
"""The metrics of seeds in sentences, for pages."""


def across_seeds(cells: Sequence[pd.DataFrame]) -> dict[str, Ratio]:
    """Compute the metrics of the module's table.

    Parameters
    ----------
    cells : sequence of DataFrame
        The answers with each seed, to the same questions in the same order. At least two.

    Returns
    -------
    dict from str to Ratio
        Numerators and denominators of shape (questions,).
    """
    options = _option_codes(cells)
    choices = [cell["choice"].fillna(-1).to_numpy(int) for cell in cells]  # -1 if none was chosen
    # the text that was chosen, as a number; -1 if none was
    texts = [
        np.where(choice < 0, -1, np.take_along_axis(codes, choice[:, None], axis=1)[:, 0])
        for codes, choice in zip(options, choices, strict=True)
    ]
    n = len(cells[0])
    agree, content, position, alone, informative = np.zeros((5, n))
    pairs = list(permutations(range(len(cells)), 2))
    for first, second in pairs:
        both = (texts[first] >= 0) & (texts[second] >= 0)
        kept, same_position = texts[first] == texts[second], choices[first] == choices[second]
        agree += both & kept
        offered = options[second] == texts[first][:, None]
        informs = both & offered.any(axis=1) & (offered.argmax(axis=1) != choices[first])
        informative += informs
        content += informs & kept
        position += informs & same_position
        # a guess keeps the position as often as it chooses any of the k - 2 other options
        others = np.maximum((options[second] >= 0).sum(axis=1) - 2, 0)
        lost = np.divide(-1.0, others, out=np.zeros(n), where=others > 0)
        alone += np.where(informs & ~kept, np.where(same_position, 1.0, lost), 0.0)
    agree, content, position, alone, informative = (
        sums / len(pairs) for sums in (agree, content, position, alone, informative)
    )
    same = (texts[0] >= 0) & np.all([codes == texts[0] for codes in texts], axis=0)
    others = (options[0] >= 0).sum(axis=1) - 2
    fewest = min(others[others > 0], default=1)
    everything = np.ones(n)
    return {
        "same_answer": Ratio(same, everything),
        "content_agreement": Ratio(agree, everything),
        "content_kept": Ratio(content, informative),
        "position_kept": Ratio(position, informative),
        "position_alone": Ratio(alone, informative, lowest=-1 / fewest),
    }


def across_samples(cells: Sequence[pd.DataFrame]) -> dict[str, Ratio]:
    """Compute the metrics of the module's second table.

    Parameters
    ----------
    cells : sequence of DataFrame
        The answers of each sample, to the same questions in the same order. At least two.

    Returns
    -------
    dict from str to Ratio
        Numerators and denominators of shape (questions,).
    """
    answers = np.array([cell["choice"].fillna(-1).mask(cell["outcome"] == ABSTAINED, -2) for cell in cells])
    correct = np.array([cell["correct"] for cell in cells])
    refused = np.array([cell["outcome"].isin([REFUSED, ABSTAINED]) for cell in cells])
    times = (answers[:, None] == answers[None]).sum(axis=1)  # how often each sample's answer was given
    most = times == times.max(axis=0)
    right = (correct * most / times).sum(axis=0) / (most / times).sum(axis=0)
    everything = np.ones(answers.shape[1])
    return {
        "majority_accuracy": Ratio(right, everything),
        "answer_changes": Ratio(np.any(answers != answers[0], axis=0), everything),
        "refusal_stability": Ratio(np.all(refused, axis=0), np.any(refused, axis=0)),
    }


def _option_codes(cells: Sequence[pd.DataFrame]) -> list[np.ndarray]:
    """The options of the questions with each seed: a number for each text, shape (questions, options); -1 for none."""
    texts = [[list(json.loads(options).values()) for options in cell["options"]] for cell in cells]
    most = max(len(of_question) for of_cell in texts for of_question in of_cell)
    known: dict[str, int] = {}
    found = []
    for of_cell in texts:
        codes = np.full((len(of_cell), max(most, 1)), -1)
        for place, of_question in enumerate(of_cell):
            codes[place, : len(of_question)] = [known.setdefault(text, len(known)) for text in of_question]
        found.append(codes)
    return found
