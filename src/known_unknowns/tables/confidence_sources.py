"""Names of the sources of a confidence, in tables, metrics and pages (docs/metrics.md#confidence)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

PARSER = "robust"
"""The parser of the answers that confidences are about."""
OPTION_TEXT, LETTERS, SAMPLES, VERBALISED, REFUSAL = "option_text", "letters", "samples", "verbalised", "refusal"
SOURCES: Mapping[str, str] = {
    OPTION_TEXT: "The probability of the option's text as the reply, among the texts of the offered options.",
    LETTERS: "The probability of the option's label at the reply's beginning, among the offered labels.",
    SAMPLES: "The share of the other samples of the reply that give the answer.",
    VERBALISED: "The number from 0 to 100 that the model says of its answer, divided by 100.",
    REFUSAL: "0 if the reply refuses or abstains, 1 if it attempts an answer.",
}
"""The sources, in the order of tables and pages, with a sentence each."""
OPTION_TEXT_SUM = f"{OPTION_TEXT}_sum"
"""The first source without dividing by the number of tokens."""
COLUMNS = (OPTION_TEXT, OPTION_TEXT_SUM, LETTERS, SAMPLES, VERBALISED, REFUSAL)
"""Names of the sources and their forms in tables and metrics, in the order of pages."""
KNOWN = "known"
"""Share of the attempts whose confidence is known; of the source `REFUSAL`, share of the refusals whose answer without
the refusal option is known. Its method has the reason why a source has no value."""
FOLLOWS_TEXT = "the label follows other text"
"""Why a reply's log-probabilities are not used (`known_unknowns.scoring.likelihood.label_follows_text`)."""
LEAST_MASS = 0.5
"""Least mean probability of all labels together. With less, the most likely label is seldom what the model replies."""


def low_mass(masses: Iterable[float]) -> str:
    """Return why the labels' probabilities say nothing: their mean sum is below `LEAST_MASS`; "" if it is not.

    ``masses`` are the known values of the column ``label_mass``.
    """
    known = list(masses)
    if not known or (mean := float(np.mean(known))) >= LEAST_MASS:
        return ""
    return f"the labels have {mean:.1%} of the probability on average, less than {LEAST_MASS:.0%}"


FOLLOWS = "label_follows_text"
"""The metric that counts the replies whose label follows other text."""


def left_out_text(count: int, total: int) -> str:
    """Return how many replies are left out because the label follows other text."""
    return f"{count:,} of {total:,} replies left out: {FOLLOWS_TEXT}"
