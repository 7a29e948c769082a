"""Plan a comparison of two models, or of a model with a published number on a sample of the published questions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import nctdtr, stdtrit

from known_unknowns.metrics.design_effect import PRIOR_ICC
from known_unknowns.metrics.paired import POWER, minimum_detectable_difference

_MOST_IMAGES = 1e9


@dataclass(frozen=True)
class PairedDesign:
    """A comparison of two models on the same questions.

    Attributes
    ----------
    n : int
        Number of questions.
    images : int
        Number of images (groups), with the same number of questions each.
    accuracy : float
        Expected accuracy of the first model.
    correlation : float, default 0
        Correlation of the two models' answers to the same question. Independent answers need the most questions, unless
        the correlation is negative.
    icc : float, default 0.2
        Correlation of the differences of two questions on the same image.
    confidence : float, default 0.95
        1 less the significance level.

    Raises
    ------
    ValueError
        If a value is outside its range.
    """

    n: int
    images: int
    accuracy: float
    correlation: float = 0.0
    icc: float = PRIOR_ICC
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 2 <= self.images <= self.n:
            raise ValueError(f"{self.n} questions on {self.images} images: it takes 2 images, and a question on each")
        for name, low, high in (("accuracy", 0, 1), ("confidence", 0, 1), ("correlation", -1, 1)):
            if not low < getattr(self, name) < high:
                raise ValueError(f"the {name} is {getattr(self, name)}, not between {low} and {high}")
        if not 0 <= self.icc <= 1:
            raise ValueError(f"the intraclass correlation is {self.icc}, not from 0 to 1")

    @property
    def design_effect(self) -> float:
        """Variance of the difference, divided by that with one question on each image."""
        return 1 + (self.n / self.images - 1) * self.icc

    def standard_error(self, difference: float = 0.0) -> float:
        """Compute the standard error of the difference.

        Parameters
        ----------
        difference : float, default 0
            Accuracy of the second model, less that of the first one.

        Raises
        ------
        ValueError
            If the second accuracy is not between 0 and 1, or no two models with these accuracies have the correlation.
        """
        a, b = self.accuracy, self.accuracy + difference
        if not 0 < b < 1:
            raise ValueError(f"the second accuracy is {b:g}, not between 0 and 1")
        product = math.sqrt(a * (1 - a) * b * (1 - b))
        both = a * b + self.correlation * product
        if not max(0, a + b - 1) - 1e-9 <= both <= min(a, b) + 1e-9:
            low, high = ((bound - a * b) / product for bound in (max(0, a + b - 1), min(a, b)))
            raise ValueError(f"the correlation with accuracies {a:g} and {b:g} is from {low:.3f} to {high:.3f}")
        variance = a * (1 - a) + b * (1 - b) - 2 * self.correlation * product
        return math.sqrt(variance * self.design_effect / self.n)

    def power(self, difference: float) -> float:
        """Compute the probability that a two-sided t test finds a true difference, with the right sign.

        Parameters
        ----------
        difference : float
            Accuracy of the second model, less that of the first one.

        References
        ----------
        .. [1] Cohen, "Statistical Power Analysis for the Behavioral Sciences", 1988, section 2.3.
        """
        return self._power(difference, self.images)

    def detectable(self, power: float = POWER) -> float | None:
        """Compute the minimum detectable difference of two models that both have about the accuracy; None above 1."""
        found = minimum_detectable_difference(
            self.standard_error(), self.images - 1, confidence=self.confidence, power=power
        )
        return found if found <= 1 else None

    def images_needed(self, difference: float, power: float = POWER) -> int | None:
        """Compute the number of images for a power, with as many questions on each.

        Parameters
        ----------
        difference : float
            The true difference.
        power : float
            The probability to find it.

        Returns
        -------
        int or None
            At least 2; None if it is above a billion.
        """
        if difference == 0 or self._power(difference, _MOST_IMAGES) < power:
            return None
        if self._power(difference, 2) >= power:
            return 2
        needed = brentq(lambda images: self._power(difference, images) - power, 2, _MOST_IMAGES, xtol=1e-6)
        return math.ceil(needed - 1e-6)

    def _power(self, difference: float, images: float) -> float:
        """The power with another number of images, which need not be an integer."""
        error = self.standard_error(difference) * math.sqrt(self.images / images)
        critical = stdtrit(images - 1, (1 + self.confidence) / 2)
        ratio = min(abs(difference) / error, 30.0) if error else 30.0  # nctdtr fails far beyond
        return float(np.clip(1 - nctdtr(images - 1, ratio, critical), 0, 1))


def correction(n: float, whole: float) -> float:
    """Return the factor of a standard error if n of ``whole`` questions were drawn: the finite-population correction.

    Parameters
    ----------
    n, whole : float
        Number of questions drawn, and of all.

    Returns
    -------
    float
        From 0 to 1.

    References
    ----------
    .. [1] Cochran, "Sampling Techniques", 3rd edition, 1977, section 2.6.
    """
    return math.sqrt(max(0.0, 1 - n / whole)) if whole else 0.0


def sample_power(
    sizes: Sequence[int],
    whole: int,
    difference: float,
    *,
    accuracy: float = 0.5,
    icc: float = PRIOR_ICC,
    confidence: float = 0.95,
) -> float:
    """Compute the probability that a sample of the published questions shows a difference from the published number.

    Parameters
    ----------
    sizes : sequence of int
        Number of questions of each sampled image.
    whole : int
        Number of published questions.
    difference : float
        Our accuracy on all of them, less the published one.
    accuracy : float, default 0.5
        Our accuracy. With 0.5 the sample is the largest.
    icc : float, default 0.2
        Correlation of two answers on the same image.
    confidence : float, default 0.95
        Confidence level of the interval that must not contain the published number.

    Returns
    -------
    float

    Notes
    -----
    The published number is known. Only the sample is random: our standard error is that of a sample of images with the
    design effect of Kish, times the finite-population correction. The published number can be on the side where
    Wilson's interval is longer: the variance is that of the number between both that is nearest to 1/2. What
    stratification gains is not counted.

    References
    ----------
    .. [1] Kish, "Survey Sampling", 1965, section 5.4.
    """
    n = sum(sizes)
    if n >= whole:
        return 1.0
    if len(sizes) < 2:
        return 0.0
    effect = 1 + icc * (sum(size**2 for size in sizes) / n - 1)
    bound = min(max(0.5, accuracy - abs(difference)), accuracy + abs(difference))
    error = math.sqrt(bound * (1 - bound) * effect / n) * correction(n, whole)
    critical = stdtrit(len(sizes) - 1, (1 + confidence) / 2)
    return float(np.clip(1 - nctdtr(len(sizes) - 1, min(abs(difference) / error, 30.0), critical), 0, 1))
