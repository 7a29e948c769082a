"""The certificate: how often a letter is another one than at batch 1, and by how little.

In half precision no way of batching promises the same letters: rows of another length or number are added up in
another order. In float32 a shared prefix does, and what the first check could not see, as it met two pictures, is
looked for along the way. So a sample of the turns is asked again, alone, through ``generate``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

MOST = 64
SHARE, SHARE_OF_FULL = 32, 256
"""Turns that are asked again, until there are so many: in half precision the first, and then one of 32; in float32 one
of 256."""
APART = 0.01
"""Nats that a letter's probability may be from ``generate``'s in float32, where some 1e-5 are rounding."""


class Flips:
    """What was found so far, kept in the engine's notes, so that a run that was cut off goes on counting."""

    def __init__(self, facts: Mapping[str, Any], *, half: bool) -> None:
        self._half = half
        self._model = sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        self._file: Path | None = None
        self._flips: list[bool] = []
        self._gaps: list[float] = []
        self.apart = 0.0
        """The most that a letter's log-probability was from that at batch 1, in nats."""

    def read(self, notes: Path | None) -> None:
        """Take over what the notes hold of this model."""
        if notes is None or self._file == notes:
            return
        self._file = notes
        for line in notes.read_text().splitlines() if notes.exists() else ():
            try:
                note = json.loads(line)
            except ValueError:  # empty, or torn off by a kill
                continue
            if note.get("model") == self._model:
                self._flips.append(note["flip"])
                self._gaps.append(note["gap"])
                self.apart = max(self.apart, note.get("apart", 0.0))

    def wanted(self, answered: int) -> bool:
        """Whether one more is to be asked again, after so many have been answered in this run."""
        due = 1 + answered // SHARE if self._half else answered // SHARE_OF_FULL
        return len(self._flips) < min(MOST, due)

    def add(self, alone: Mapping[str, float], together: Mapping[str, float]) -> None:
        """The letters' log-probabilities at batch 1, and as they were answered."""
        first, second = sorted(alone.values(), reverse=True)[:2] if len(alone) > 1 else (0.0, 0.0)
        flip = max(alone, key=alone.__getitem__) != max(together, key=together.__getitem__)
        apart = round(max(abs(alone[label] - together[label]) for label in alone), 6)
        self._flips.append(flip)
        self._gaps.append(round(first - second, 6))
        self.apart = max(self.apart, apart)
        if self._file is not None:
            note = {"model": self._model, "flip": flip, "gap": self._gaps[-1], "apart": apart}
            with self._file.open("a") as notes:
                notes.write(f"\n{json.dumps(note)}\n")  # a kill may have torn the last line off

    def told(self) -> dict[str, Any]:
        """``gaps`` are those of the flips, at batch 1, between the two likeliest letters, in nats, as is ``apart``."""
        return {
            "compared": len(self._flips),
            "flips": sum(self._flips),
            "rate": sum(self._flips) / len(self._flips) if self._flips else None,
            "gaps": [gap for flip, gap in zip(self._flips, self._gaps, strict=True) if flip],
            "apart": self.apart if self._flips else None,
        }
