"""Building and training the pocket model: a small vision-language model of a standard transformers architecture.

`train` makes it from nothing: scenes are drawn on the fly from seeds, never with a held-out colour and shape pair.
Besides the reply, training asks the model along the way what it must know for it (see `tutor`).
"""

from __future__ import annotations

from known_unknowns.training.loop import SMOKE, Settings, train

__all__ = ["SMOKE", "Settings", "train"]
