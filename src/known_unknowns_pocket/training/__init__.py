"""Build and train the pocket model, a small vision-language model of standard transformers classes.

`train` starts from random weights. Scenes are rendered during training from seeds and contain no held-out pair of
colour and shape. A vision tower is trained first to classify each patch. The tower is then frozen, and a text model is
trained to answer questions from the patch features. Auxiliary losses supervise the intermediate steps
(`auxiliary_losses`).
"""

from __future__ import annotations

from known_unknowns_pocket.training.adapters import train_adapter
from known_unknowns_pocket.training.loop import train
from known_unknowns_pocket.training.settings import ADAPTERS, SMOKE, Settings, adapter_stage

__all__ = ["ADAPTERS", "SMOKE", "Settings", "adapter_stage", "train", "train_adapter"]
