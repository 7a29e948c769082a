"""HumbleBench's own metrics; see `known_unknowns.benchmark.metrics`.

| metric                    | numerator                            | denominator                        |
|---------------------------|--------------------------------------|------------------------------------|
| exact_refusal_recall      | the reply is the refusal's label     | the published label is the refusal |
| accuracy_published_labels | the parsed label is the published    | all questions                      |

Both are computed under the official parser alone (`known_unknowns_benchmarks.humblebench.official.official_metrics`).
`known_unknowns.metrics.consistency` has the metrics that compare the seeds of shuffled options.
"""

from __future__ import annotations

import numpy as np

from known_unknowns.benchmark.metrics import BenchmarkMetrics, Ratio, ScoredAnswers
from known_unknowns.metrics.consistency import across_seeds
from known_unknowns_benchmarks.humblebench.official import official_metrics


def ratios(scored: ScoredAnswers) -> dict[str, Ratio]:
    """Compute the metrics of the module's table.

    Parameters
    ----------
    scored : ScoredAnswers
        The answers as one parser parsed them.

    Returns
    -------
    dict from str to Ratio
        Empty unless the parser is ``official``.

    References
    ----------
    .. [1] Tong et al., "Measuring Epistemic Humility in Multimodal Large Language Models", released code.
    """
    if scored.parser != "official":
        return {}
    counts = official_metrics(scored.questions, scored.texts, [label or None for label in scored.label.tolist()])
    return {name: Ratio(np.array(above), np.array(below)) for name, (above, below) in counts.items()}


METRICS = BenchmarkMetrics(
    ratios=ratios,
    across_seeds=across_seeds,
    headline=("exact_refusal_recall", "accuracy_published_labels"),
)
