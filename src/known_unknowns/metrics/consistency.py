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

from collections.abc import Sequence
from itertools import permutations

import numpy as np

from known_unknowns.benchmark.metrics import Ratio, ScoreArrays
from known_unknowns.records import ABSTAINED, REFUSED, Question


def across_seeds(seeds: Sequence[ScoreArrays]) -> dict[str, Ratio]:
    """Compute the metrics of the module's table.

    Parameters
    ----------
    seeds : sequence of ScoreArrays
        The answers with each seed, to the same questions in the same order. At least two.

    Returns
    -------
    dict from str to Ratio
        Numerators and denominators, arrays of shape (questions,).
    """
    asked = [scored.questions for scored in seeds]
    same, agreement, content, position, alone, informative = _pair_shares(asked, [scored.choice for scored in seeds])
    all_questions = np.ones(len(asked[0]))
    fewest = min((len(q.options) - 2 for q in asked[0] if len(q.options) > 2), default=1)
    return {
        "same_answer": Ratio(same, all_questions),
        "content_agreement": Ratio(agreement, all_questions),
        "content_kept": Ratio(content, informative),
        "position_kept": Ratio(position, informative),
        "position_alone": Ratio(alone, informative, lowest=-1 / fewest),
    }


def across_samples(samples: Sequence[ScoreArrays]) -> dict[str, Ratio]:
    """Compute the metrics of the module's second table.

    Parameters
    ----------
    samples : sequence of ScoreArrays
        The answers of each sample, to the same questions in the same order. At least two.

    Returns
    -------
    dict from str to Ratio
        Numerators and denominators, arrays of shape (questions,).
    """
    answers = np.array([np.where(each.outcome == ABSTAINED, -2, each.choice) for each in samples])
    times = (answers[:, None] == answers[None]).sum(axis=1)  # how often each sample's answer was given
    most = times == times.max(axis=0)
    right = (np.array([each.correct for each in samples]) * most / times).sum(axis=0) / (most / times).sum(axis=0)
    refused = np.array([np.isin(each.outcome, (REFUSED, ABSTAINED)) for each in samples])
    all_questions = np.ones(answers.shape[1])
    return {
        "majority_accuracy": Ratio(right, all_questions),
        "answer_changes": Ratio(np.any(answers != answers[0], axis=0), all_questions),
        "refusal_stability": Ratio(np.all(refused, axis=0), np.any(refused, axis=0)),
    }


def _pair_shares(asked: Sequence[Sequence[Question]], choices: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Numerators of the five metrics, and the share of each question's ordered pairs that are informative.

    ``asked`` has the questions with each seed, ``choices`` the index of the option that was chosen, -1 if none was.
    """
    options = option_codes(asked)
    texts = [
        np.where(c < 0, -1, np.take_along_axis(o, c[:, None], 1)[:, 0]) for o, c in zip(options, choices, strict=True)
    ]
    pairs = list(permutations(range(len(texts)), 2))
    agree, content, position, alone, informative = np.zeros((5, len(asked[0])))
    for first, second in pairs:
        both = (texts[first] >= 0) & (texts[second] >= 0)
        kept, same_position = texts[first] == texts[second], choices[first] == choices[second]
        agree += both & kept
        offered = options[second] == texts[first][:, None]
        informs = both & offered.any(axis=1) & (offered.argmax(axis=1) != choices[first])
        informative += informs
        content += informs & kept
        position += informs & same_position
        others = np.maximum((options[second] >= 0).sum(axis=1) - 2, 0)
        lost = np.divide(-1.0, others, out=np.zeros(len(others)), where=others > 0)
        alone += np.where(informs & ~kept, np.where(same_position, 1.0, lost), 0.0)
    same = (texts[0] >= 0) & np.all([codes == texts[0] for codes in texts], axis=0)
    return [same.astype(float), *(count / len(pairs) for count in (agree, content, position, alone, informative))]


def option_codes(asked: Sequence[Sequence[Question]]) -> list[np.ndarray]:
    """The options of the questions with each seed: a number for each text, shape (questions, options); -1 for none."""
    known: dict[str, int] = {}
    most = max((len(question.options) for questions in asked for question in questions), default=1)
    found = []
    for questions in asked:
        codes = np.full((len(questions), max(most, 1)), -1)
        for place, question in enumerate(questions):
            codes[place, : len(question.options)] = [known.setdefault(o.text, len(known)) for o in question.options]
        found.append(codes)
    return found
