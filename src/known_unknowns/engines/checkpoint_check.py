"""The check of a local checkpoint before any long job.

A checkpoint may have 15 GB, and the device of its jobs may be busy or on another machine. So the check needs neither
that memory nor that device. It builds the model's classes without memory and compares the names and shapes of the
tensors, loads the processor, lets it prepare a question about an image, and reads every tensor once for NaN: seconds,
and the time to read the files, which the job then finds in the page cache. Only a small model (`MAX_ASKED_BYTES`) is
loaded and answers the question, on the CPU. Of a large one, the job finds what remains, such as an overflow in float16,
at its first question.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from safetensors import safe_open

from known_unknowns.config import TransformersModel
from known_unknowns.engines import _checkpoint
from known_unknowns.engines._prompts import PromptBuilder
from known_unknowns.engines._weights import WEIGHTS
from known_unknowns.engines.transformers import TransformersEngine
from known_unknowns.errors import ConfigError
from known_unknowns.images import recipe_image
from known_unknowns.records import Turn

MAX_ASKED_BYTES = 1 << 30
"""Largest size of weights that are loaded for a question."""
_SIZE = 224
_TEXT = "What is the main colour of this image? Answer with one letter.\nA. Red\nB. Blue"


def check_checkpoint(model: str, entry: TransformersModel) -> bool:
    """Check the checkpoint in a local folder, and return whether it was asked a question.

    Raises ConfigError if it cannot be loaded (`_checkpoint.load`), prepares no question with an image, has NaN in its
    weights, or gives no readable reply with finite logits.
    """
    path = f"models.{model}.source"
    checkpoint = _checkpoint.load(model, entry, _checkpoint.META)
    turn = Turn("probe", "probe", (recipe_image("uniform-noise", _SIZE, _SIZE, 0), _TEXT), ("A", "B"), max_new_tokens=2)
    with TemporaryDirectory() as folder:
        if failure := PromptBuilder(checkpoint, entry.system, entry.template).failure(turn, Path(folder)):
            raise ConfigError(f"its processor cannot prepare a question with an image ({failure})", path=path)
        files = sorted(Path(entry.source).expanduser().glob(WEIGHTS))
        for file in files:
            _check_no_nan(file, path)
        if sum(file.stat().st_size for file in files) > MAX_ASKED_BYTES:
            return False
        small = entry.model_copy(update={"device": "cpu", "sharing": "off", "batch_size": 1})
        for rows in TransformersEngine(model, small).answer([turn], folder=Path(folder)):
            for _, reply in rows:
                if reply.error is not None:
                    raise ConfigError(f"it does not answer a question with an image: {reply.error}", path=path)
    return True


def _check_no_nan(file: Path, path: str) -> None:
    with safe_open(file, framework="pt") as tensors:
        for name in tensors.keys():  # noqa: SIM118  # it is no mapping
            tensor = tensors.get_tensor(name)
            if tensor.is_floating_point() and bool(torch.isnan(tensor).any()):
                raise ConfigError(f"{file}: the tensor {name} has NaN; save or merge the model again", path=path)
