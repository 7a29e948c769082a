"""The headline numbers of a benchmark: the few that compare models, declared once for every page, table and run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeadlineNumber:
    """A metric of a variant.

    Attributes
    ----------
    name : str
        The key in tables, records and runs.
    label : str
        The name in words, as it follows "a": "dual accuracy".
    metric : str
        The metric, by default the accuracy.
    variants : tuple of str
        Names of variants or of their functions, or of metrics across variants. The first that an edition has is used.
        If empty, it is the first variant whose images have content; of the dual accuracy, the first such pair.
    lower_is_better : bool
    """

    name: str
    label: str
    metric: str = "accuracy"
    variants: tuple[str, ...] = ()
    lower_is_better: bool = False


_WITHOUT_CONTENT = ("blank", "noise", "gaussian", "text_only")
RECOGNISED = (
    HeadlineNumber("recognised", "recognised, no content", "recognised", _WITHOUT_CONTENT),
    HeadlineNumber("recognised_refused", "of it refused", "recognised_refused", _WITHOUT_CONTENT),
    HeadlineNumber("recognised_abstained", "of it abstained", "recognised_abstained", _WITHOUT_CONTENT),
)
"""The share that recognised that nothing can be answered without content, and its two parts."""
REFUSALS = (
    HeadlineNumber("dual_accuracy", "dual accuracy", "dual_accuracy"),
    HeadlineNumber("refused", "refused, no right option", variants=("nota_only",)),
)
"""Numbers of questions with a refusal option."""
GENERAL = (*REFUSALS, *RECOGNISED, HeadlineNumber("accuracy", "accuracy"))
"""The headline numbers of a benchmark that declares none."""
AREA = HeadlineNumber("aurc", "risk-coverage area", "aurc", lower_is_better=True)
