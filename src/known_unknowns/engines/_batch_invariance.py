"""The batch-invariance check: how often a batched reply names another option than the same turn alone.

In half precision no way of batching guarantees the same answer, because rows of different length or number are summed
in a different order. In float32 a shared prefix must give the same answer; the check at the first use covers two
images only, so the check continues during the run. A sample of the turns is asked again, alone, through ``generate``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from known_unknowns.files import disk_errors

MAX_SAMPLES = 64
"""Number of turns that each attempt, that is each start of the engine, asks again at most."""
HALF_PRECISION_STEP, FLOAT32_STEP = 32, 256
"""One turn in this many is asked again: in half precision, beginning with the first turn, and in float32."""
TOLERANCE_NATS = 0.01
"""Accepted difference of an option's log-probability in float32. Rounding causes about 1e-5."""


class BatchInvarianceCheck:
    """Results of all attempts so far, which are kept in the engine's notes. Each attempt takes a sample of its own.

    Results of engines with other ``facts`` in the same file are ignored. ``half``: the model runs in half precision.
    """

    def __init__(self, facts: Mapping[str, Any], *, half: bool) -> None:
        self._half = half
        self._model = sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        self._file: Path | None = None
        self._flips: list[bool] = []
        self._gaps: list[float] = []
        self._loaded = 0
        """Number of results of earlier attempts."""
        self.largest_difference = 0.0
        """The largest difference of an option's log-probability from batch size 1, in nats, with a shared prefix."""
        self.largest_of_padded = 0.0
        """The same of padded batches of ``generate``."""
        self.seconds: dict[str, float] = {}
        """The time of the same turns by each way of asking. A resumed run asks in the way of the first attempt."""

    def load(self, notes: Path | None) -> None:
        """Load this model's earlier results from the notes."""
        if notes is None or self._file == notes:
            return
        self._file = notes
        for line in notes.read_text().splitlines() if notes.exists() else ():
            try:
                note = json.loads(line)
            except ValueError:  # an empty or incomplete line
                continue
            if note.get("model") != self._model:
                continue
            if "seconds" in note:
                self.seconds = note["seconds"]
            else:
                self._flips.append(note["flip"])
                self._gaps.append(note["gap"])
                self._loaded += 1
                self._count(note.get("apart", 0.0), padded=note.get("padded", False))

    def is_due(self, answered: int) -> bool:
        """Return whether one more turn should be asked again, after ``answered`` turns of this attempt."""
        due = 1 + answered // HALF_PRECISION_STEP if self._half else answered // FLOAT32_STEP
        return len(self._flips) - self._loaded < min(MAX_SAMPLES, due)

    def _count(self, apart: float, *, padded: bool) -> None:
        if padded:
            self.largest_of_padded = max(self.largest_of_padded, apart)
        else:
            self.largest_difference = max(self.largest_difference, apart)

    def add(self, alone: Mapping[str, float], together: Mapping[str, float], *, padded: bool = False) -> None:
        """Add a comparison of the options' log-probabilities.

        ``alone`` are those at batch size 1; ``together`` those as answered, in a ``padded`` batch or with a shared
        prefix.
        """
        first, second = sorted(alone.values(), reverse=True)[:2] if len(alone) > 1 else (0.0, 0.0)
        flip = max(alone, key=alone.__getitem__) != max(together, key=together.__getitem__)
        apart = round(max(abs(alone[label] - together[label]) for label in alone), 6)
        self._flips.append(flip)
        self._gaps.append(round(first - second, 6))
        self._count(apart, padded=padded)
        self._note({"flip": flip, "gap": self._gaps[-1], "apart": apart, "padded": padded})

    def add_seconds(self, seconds: Mapping[str, float]) -> None:
        """Add the time of the same turns by each way of asking."""
        self.seconds = {way: float(f"{value:.3g}") for way, value in seconds.items()}
        self._note({"seconds": self.seconds})

    def _note(self, content: Mapping[str, Any]) -> None:
        if self._file is not None:
            with disk_errors(self._file), self._file.open("a") as notes:
                # a killed run may have left an incomplete line
                notes.write(f"\n{json.dumps({'model': self._model, **content})}\n")

    def summary(self) -> dict[str, Any]:
        """Return the results for ``about["certificate"]``.

        "gaps" are those of the flips: the difference between the two most likely options at batch size 1, in nats.
        "apart" is the largest difference, in nats.
        """
        return {
            "compared": len(self._flips),
            "flips": sum(self._flips),
            "rate": sum(self._flips) / len(self._flips) if self._flips else None,
            "gaps": [gap for flip, gap in zip(self._flips, self._gaps, strict=True) if flip],
            "apart": max(self.largest_difference, self.largest_of_padded) if self._flips else None,
        }


def recorded_certificate(facts: Mapping[str, Any], notes: Path) -> dict[str, Any]:
    """Return the summary of all comparisons of an engine with these facts in a file of notes."""
    check = BatchInvarianceCheck(facts, half=True)
    check.load(notes)
    return check.summary()
