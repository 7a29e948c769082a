"""The check that a padded batch of ``generate`` gives the results of its prompts alone, at the first use of a model.

Some models compute other results in a padded batch: a part of them ignores the mask, or counts positions from the
padding. Without the check their replies would depend on the other prompts of a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from prefix_sharing import check

PLAN = "padded batches"
_HALF_TOLERANCE = 0.25
"""In standard deviations of the logits, if the weights do not fit into memory in float32."""
_COMPARED = 4
"""Prompts of a batch that are compared. In sparse attention and mixtures of experts, padding changes some rows only."""
_LONGEST_REASON = 160
_MAX_CHECKS = 3
"""Number of batches at most that are compared until one of them had padding."""


Encode = Callable[[Sequence[int]], Any]
"""Returns the processor's tensors of a batch of the prompts with these indices."""


class _NoBatch(Exception):
    """Prompts can be encoded alone, but not together."""


class PaddingCheck:
    """Compares some prompts of a batch, the longest and the shortest among them, with each of them alone.

    Parameters
    ----------
    model : PreTrainedModel
        The model.

    Attributes
    ----------
    difference : float or None
        The largest difference so far, in standard deviations of the logits; None if nothing was compared.
    fault : str
        Why padded batches may not be used; "" if they may.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._left = _MAX_CHECKS
        self.difference: float | None = None
        self.fault = ""

    def check(self, count: int, encode: Encode) -> None:
        """Compare some prompts of a batch, unless a padded batch was compared before.

        Parameters
        ----------
        count : int
            The number of prompts.
        encode : callable
            Returns the processor's tensors (a `BatchFeature`, padded on the left) of the prompts with these indices.
            It raises ValueError or TypeError if there can be no batch of them.
        """
        if self._left and count > 1:
            self.fault = self._compare(count, encode)

    def add_to(self, summary: dict[str, Any]) -> None:
        """Add the result to a summary of how prefixes are shared (`SharedPrefixDecoder.summary`)."""
        if self.difference is not None:
            differences = summary.get("differences", {})
            summary["differences"] = differences | {PLAN: float(f"{self.difference:.2g}")}
        if self.fault:
            summary["fell_back"] = [*summary.get("fell_back", ()), {"plan": PLAN, "why": self.fault}]

    def _compare(self, count: int, encode: Encode) -> str:
        tolerance, where = check.TOLERANCE, "in float32"
        try:
            with check.in_float32(self._model):
                found, padded = self._difference(count, encode)
        except (torch.OutOfMemoryError, MemoryError):
            tolerance, where = _HALF_TOLERANCE, f"in {self._model.dtype}"
            try:
                found, padded = self._difference(count, encode)
            except (torch.OutOfMemoryError, MemoryError):
                self._left = 0
                return "there is not enough memory to compare a batch with its prompts alone"
        except _NoBatch as error:
            self._left = 0
            return f"its processor makes no batch of them ({error})"
        self._left = 0 if padded else self._left - 1
        self.difference = max(found, self.difference or 0.0)
        if found <= tolerance:
            return ""
        self._left = 0
        return f"its logits differ by {found:.2g} of their standard deviation from those of each prompt alone, {where}"

    def _difference(self, count: int, encode: Encode) -> tuple[float, bool]:
        """Return the difference of the logits, and whether the batch had padding."""
        # Images take most of a prompt, so that its length is known only when it is encoded.
        try:
            whole = encode(range(count))
            some = _spread(whole["attention_mask"].sum(dim=1).tolist())
            batch = whole if len(some) == count else encode(some)
        except (ValueError, TypeError) as error:  # some processors cannot stack images with unequal numbers of tiles
            raise _NoBatch(" ".join(str(error).split())[:_LONGEST_REASON]) from error
        alone = [check.reference(self._model, encode([index])) for index in some]
        padded = not bool(batch["attention_mask"].all())
        return check.batch_difference(self._model, batch, alone), padded


def _spread(lengths: Sequence[int]) -> list[int]:
    """Return the indices of up to `_COMPARED` prompts: the longest, the shortest, and some between them."""
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
    most = min(_COMPARED, len(by_length))
    places = {round(place * (len(by_length) - 1) / (most - 1)) for place in range(most)}
    return sorted(by_length[place] for place in places)
