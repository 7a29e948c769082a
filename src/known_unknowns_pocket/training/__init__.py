"""Building and training the pocket model: a small vision-language model of standard transformers classes.

`train` makes it from nothing: scenes are drawn on the fly from seeds, never with a held-out colour and shape pair.
First a vision tower learns what each patch shows; then, with the tower at rest, a text model learns to read the patches
and to answer. Besides the reply, training asks the model along the way what it must know for it (see `heads`).
"""

from __future__ import annotations

from known_unknowns_pocket.training.loop import SIBLINGS, SMOKE, Settings, sibling_settings, start_from_model, train

__all__ = ["SIBLINGS", "SMOKE", "Settings", "sibling_settings", "start_from_model", "train"]
