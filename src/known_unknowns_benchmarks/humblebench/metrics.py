"""HumbleBench's own metrics; see `known_unknowns.benchmark.metrics`.

| metric                    | numerator                            | denominator                        |
|---------------------------|--------------------------------------|------------------------------------|
| exact_refusal_recall      | the reply is the refusal's label     | the published label is the refusal |
| accuracy_published_labels | the parsed label is the published    | all questions                      |
| names_removed_letter      | the parsed label is that of the      | all questions; only if letters     |
|                           | removed right option                 | were removed and not moved         |

The first two are computed under the official parser alone, as the released code does (``E_accuracy``,
``Overall_accuracy``), the third under every parser of the text: a reply with the removed letter saw the answer. The
reply is the part that the authors stored, if the model's entry has ``kept``. The second metric is only defined if the
published labels still name the same options, so not after an option was removed or moved.
`known_unknowns.metrics.consistency` has the metrics that compare the seeds of shuffled options.

References
----------
.. [1] Tong et al., arXiv:2509.09658, Figure 4; the package ``humblebench`` 1.0.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from known_unknowns.benchmark.metrics import BenchmarkMetrics, Ratio, ScoredReply
from known_unknowns.metrics.proportions import NO_TEXT
from known_unknowns.records import Question
from known_unknowns_benchmarks.humblebench.official import exact_refusal, released_label


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of the table of answers."""

    released_is_published: bool  # the label that the released code compares with is the published one
    released_is_refusal: bool
    is_exact_refusal: bool  # the reply is the refusal's label and nothing else
    released_is_parsed: bool
    has_removed_label: bool  # the right option was removed, and no other option has its label
    names_removed_label: bool


class Metrics(BenchmarkMetrics):
    """HumbleBench's metrics."""

    columns = Columns
    compares_seeds = True
    headline = ("exact_refusal_recall", "accuracy_published_labels", "names_removed_letter")

    def row(self, scored: ScoredReply) -> Columns:
        question, released = scored.question, released_label(scored.question)
        return Columns(
            released_is_published=released == question.extra.get("label"),
            released_is_refusal=question.refusal is not None and released == question.options[question.refusal].label,
            is_exact_refusal=exact_refusal(scored.official_text, question),
            released_is_parsed=bool(scored.score.label) and scored.score.label == released,
            has_removed_label=_removed_label(question) != "",
            names_removed_label=bool(scored.score.label) and scored.score.label == _removed_label(question),
        )

    def ratios(self, cell: pd.DataFrame) -> dict[str, Ratio]:
        """Compute the metrics of the module's table."""
        found: dict[str, Ratio] = {}
        if cell["has_removed_label"].any() and cell["parser"].iloc[0] not in NO_TEXT:
            everything = pd.Series(True, index=cell.index)
            found["names_removed_letter"] = Ratio(cell["names_removed_label"], everything)
        if cell["parser"].iloc[0] != "official":
            return found
        refusable = cell["released_is_refusal"]
        found["exact_refusal_recall"] = Ratio(cell["is_exact_refusal"] & refusable, refusable)
        if cell["released_is_published"].all():
            found["accuracy_published_labels"] = Ratio(cell["released_is_parsed"], cell["released_is_published"])
        return found


def _removed_label(question: Question) -> str:
    """The published label of the right option, if a variant removed it; "" if another option has this label now."""
    label = question.extra.get("label") or ""
    return label if question.removed and label not in question.labels else ""


METRICS = Metrics()
