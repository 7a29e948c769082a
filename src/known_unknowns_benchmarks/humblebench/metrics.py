"""HumbleBench's own metrics; see `known_unknowns.benchmark.metrics`.

| metric                    | numerator                            | denominator                        |
|---------------------------|--------------------------------------|------------------------------------|
| exact_refusal_recall      | the reply is the refusal's label     | the published label is the refusal |
| accuracy_published_labels | the parsed label is the published    | all questions                      |

Both are computed under the official parser alone, as the released code does (``E_accuracy``, ``Overall_accuracy``). The
reply is the part that the authors stored, if the model's entry has ``kept``. The second metric is only defined if the
published labels still name the same options, so not after an option was removed or moved.
`known_unknowns.metrics.consistency` has the metrics that compare the seeds of shuffled options.

References
----------
.. [1] Tong et al., arXiv:2509.09658, Figure 4; the package ``humblebench`` 1.0.2.
"""

from __future__ import annotations

import numpy as np

from known_unknowns.benchmark.metrics import BenchmarkMetrics, Ratio, ScoredAnswers
from known_unknowns.metrics.consistency import across_seeds
from known_unknowns_benchmarks.humblebench.official import exact_refusal, released_label


def ratios(scored: ScoredAnswers) -> dict[str, Ratio]:
    """Compute the metrics of the module's table; none unless the parser is ``official``."""
    if scored.parser != "official":
        return {}
    questions = scored.questions
    released = [released_label(question) for question in questions]
    pairs = list(zip(questions, released, strict=True))
    refusable = np.array([q.refusal is not None and right == q.options[q.refusal].label for q, right in pairs])
    exact = np.array([exact_refusal(text, q) for text, q in zip(scored.official_texts, questions, strict=True)])
    found = {"exact_refusal_recall": Ratio(exact & refusable, refusable)}
    if all(right == question.extra.get("label") for question, right in pairs):
        right = (scored.label == np.array(released)) & (scored.label != "")
        found["accuracy_published_labels"] = Ratio(right, np.ones(len(questions), dtype=bool))
    return found


METRICS = BenchmarkMetrics(
    ratios=ratios,
    across_seeds=across_seeds,
    headline=("exact_refusal_recall", "accuracy_published_labels"),
)
