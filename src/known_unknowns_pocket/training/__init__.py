"""Build and train the pocket model, a small vision-language model of standard transformers classes.

`train` starts from random weights. Scenes are rendered during training from seeds and contain no held-out pair of
colour and shape. A vision tower is trained first to classify each patch. The tower is then frozen, and a text model is
trained to answer questions from the patch features. Auxiliary losses supervise the intermediate steps
(`auxiliary_losses`).
"""

from __future__ import annotations

from known_unknowns_pocket.training.adapters import train_adapter
from known_unknowns_pocket.training.loop import copy_checkpoint, train
from known_unknowns_pocket.training.settings import ADAPTERS, EARLY, SMOKE, Settings, adapter_stage, early_settings

__all__ = [
    "ADAPTERS",
    "EARLY",
    "SMOKE",
    "Settings",
    "adapter_stage",
    "copy_checkpoint",
    "early_settings",
    "train",
    "train_adapter",
]
