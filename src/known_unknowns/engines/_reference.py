"""The fixed question whose prompt is recorded (`engines.RendersReference`), and what is recorded of its image."""

from __future__ import annotations

from typing import Any

import numpy as np

from known_unknowns.images import recipe_image
from known_unknowns.records import Turn

REFERENCE = Turn(
    "reference",
    "answer",
    (recipe_image("normal-noise", 448, 336, 1), "What colour is the ball?\nA. Red\nB. Blue\nC. None of the above"),
    ("A", "B", "C"),
)
"""The question. A change makes earlier records differ."""
_PARTS = 8


def coarse(pixels: np.ndarray) -> dict[str, Any]:
    """Return the shape of some pixels, and the mean and the standard deviation of `_PARTS` equal parts of them."""
    values = np.nan_to_num(pixels.astype(np.float64)).reshape(-1)
    parts = np.array_split(values, min(_PARTS, len(values)))
    found = [[round(float(part.mean()), 4), round(float(part.std()), 4)] for part in parts]
    return {"shape": list(pixels.shape), "parts": found}
