"""ActiView's averages over pipelines, the AVG columns of Tables 2, 7 and 14, as metrics across variants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from known_unknowns.benchmark.metrics import AcrossVariants, Ratio, ScoreArrays
from known_unknowns.metrics.proportions import ACCURACY, CHANCE
from known_unknowns_benchmarks.actiview.views import SPLITS

AVERAGED = ("zooming", "shifting_r", "shifting_e", "shifting_m", "shifting_h")
"""The variants of the paper's "Model AVG" (Table 2)."""


def mean_accuracy(answers: Sequence[ScoreArrays]) -> dict[str, Ratio]:
    """Compute the mean accuracy of several pipelines with equal weights, and that of guessing.

    Parameters
    ----------
    answers : sequence of ScoreArrays
        The answers of each pipeline to the same questions.

    Returns
    -------
    dict from str to Ratio
        ``accuracy`` and ``chance``. Denominators are numbers of answers: one for each question and pipeline.

    Notes
    -----
    The caption of Table 7 leaves Shifting-E out of "Model AVG", but its numbers include it.

    References
    ----------
    .. [1] Wang et al., ActiView, Tables 2, 7 and 14.
    """
    pipelines = np.full(len(answers[0].questions), len(answers))
    chance = np.array([0.0 if q.answer is None else 1 / len(q.options) for q in answers[0].questions])
    return {
        ACCURACY: Ratio(np.sum([pipeline.correct for pipeline in answers], axis=0), pipelines),
        CHANCE: Ratio(chance * pipelines, pipelines),
    }


def of_split(variant: str, split: int) -> str:
    """Return the variant's name in params.yaml. Four views are the default and have no suffix."""
    return variant if split == 4 else f"{variant}_{split}"


AVERAGES = (
    AcrossVariants("average", AVERAGED, mean_accuracy),
    AcrossVariants("average_robust", tuple(f"{name}_robust" for name in AVERAGED), mean_accuracy),
    *(
        AcrossVariants(
            of_split("average_of_two", split),
            (of_split("zooming", split), of_split("shifting_r", split)),
            mean_accuracy,
        )
        for split in SPLITS
    ),
)
"""The AVG columns of Tables 2 and 7, the same with the robust parser of steps, and the AVG column of Table 14."""
