"""The headline numbers of a benchmark: the few that compare models, declared once for every page, table and run."""

from __future__ import annotations

from dataclasses import dataclass

from known_unknowns.records import Definition


@dataclass(frozen=True, slots=True)
class HeadlineNumber:
    """A metric of a variant.

    ``variants`` are names of variants or of their functions, or of metrics across variants. The first that an edition
    has is used. If empty, it is the first variant whose images have content; of the dual accuracy, the first such pair.
    """

    name: str  # the key in tables, records and runs
    label: str  # in words, as it follows "a": "dual accuracy"
    metric: str = "accuracy"
    variants: tuple[str, ...] = ()
    lower_is_better: bool = False
    ranks: bool = True  # whether models can be sorted by it: a model that always refuses must not be the best one
    short: str = ""  # at most four or five characters, for the head of a column of MLflow; the name if empty
    definition: Definition | None = None  # if it says more than the definition of the metric


_WITHOUT_CONTENT = ("blank", "noise", "gaussian", "text_only")
DUAL = HeadlineNumber(
    "dual_accuracy_answerable", "dual accuracy of answerable questions", "dual_accuracy_answerable", short="dual"
)
DUAL_OF_ALL = HeadlineNumber("dual_accuracy", "dual accuracy of all questions", "dual_accuracy", ranks=False)
"""It does not rank models: one that always refuses is right twice where the published answer is the refusal."""
ACCURACY = HeadlineNumber("accuracy", "accuracy", short="acc")
REFUSED = HeadlineNumber(
    "refused",
    "refused, no right option",
    variants=("nota_only",),
    ranks=False,
    definition=Definition(
        "Of the questions without their right option, the share whose reply chooses the refusal.",
        "docs/metrics.md#metrics-and-outcomes",
    ),
)
RECOGNISED = tuple(
    HeadlineNumber(name, label, name, _WITHOUT_CONTENT, ranks=False)
    for name, label in (
        ("recognised", "recognised, no content"),
        ("recognised_refused", "of it refused"),
        ("recognised_abstained", "of it abstained"),
    )
)
"""The share that recognised that nothing can be answered without content, and its two parts."""
AREA = HeadlineNumber("aurc", "risk-coverage area", "aurc", lower_is_better=True, ranks=False)
GENERAL = (DUAL, DUAL_OF_ALL, ACCURACY, REFUSED, *RECOGNISED)
"""The headline numbers of a benchmark that declares none."""
