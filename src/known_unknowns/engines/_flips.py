"""The certificate of half precision: how often a letter is another one than at batch 1, and by how little.

In half precision no way of batching promises the same letters: rows of another length or number are added up in
another order. So a sample of the turns is asked again, alone, through ``generate``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

MOST = 64
SHARE = 32
"""Turns that are asked again: the first, and then one of 32, until there are so many."""


class Flips:
    """What was found so far, kept in the engine's notes, so that a run that was cut off goes on counting."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._model = sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        self._file: Path | None = None
        self._flips: list[bool] = []
        self._gaps: list[float] = []

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

    def wanted(self, answered: int) -> bool:
        """Whether one more is to be asked again, after so many have been answered in this run."""
        return len(self._flips) < min(MOST, 1 + answered // SHARE)

    def add(self, alone: Mapping[str, float], together: Mapping[str, float]) -> None:
        """The letters' log-probabilities at batch 1, and as they were answered."""
        first, second = sorted(alone.values(), reverse=True)[:2] if len(alone) > 1 else (0.0, 0.0)
        flip = max(alone, key=alone.__getitem__) != max(together, key=together.__getitem__)
        self._flips.append(flip)
        self._gaps.append(round(first - second, 6))
        if self._file is not None:
            note = {"model": self._model, "flip": flip, "gap": self._gaps[-1]}
            with self._file.open("a") as notes:
                notes.write(f"\n{json.dumps(note)}\n")  # a kill may have torn the last line off

    def told(self) -> dict[str, Any]:
        """``gaps`` are those of the flips, at batch 1, between the two likeliest letters, in nats."""
        return {
            "compared": len(self._flips),
            "flips": sum(self._flips),
            "rate": sum(self._flips) / len(self._flips) if self._flips else None,
            "gaps": [gap for flip, gap in zip(self._flips, self._gaps, strict=True) if flip],
        }
