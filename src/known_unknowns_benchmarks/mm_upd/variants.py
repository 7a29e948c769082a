"""MM-UPD's own variant, for its instruction setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from known_unknowns.benchmark.variant import REFUSAL, Variant, by_name
from known_unknowns.records import Option, Question


def relabelled_refusal(question: Question, *, label: str = "F") -> Question:
    """Give the refusal option another label, such as F after A to D. The other options keep theirs.

    The prompt has the new label too, unless the protocol does not show the refusal. Raises ValueError if
    the question has no refusal option, or another option has this label.

    Notes
    -----
    Miyai et al. (2025, Section 4.3) [1]_ instruct a model to answer "F. None of the above", whatever the number of
    options. The variant also shows whether refusals depend on their label.

    References
    ----------
    .. [1] Miyai et al., 2025, arXiv:2403.20331, Section 4.3.
    """
    if question.refusal is None:
        raise ValueError(f"question {question.id} has no refusal option, so relabelled_refusal cannot be applied to it")
    old = question.options[question.refusal]
    if old.label == label:
        return question
    new = Option(label, old.text, label.join(old.mark.rsplit(old.label, 1)))
    options = tuple(new if index == question.refusal else option for index, option in enumerate(question.options))
    return replace(question, options=options)


VARIANTS: Mapping[str, Variant] = by_name([Variant(relabelled_refusal, needs=REFUSAL)])
"""MM-UPD's own variants, by name."""
