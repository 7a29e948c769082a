"""Low-rank adapters (LoRA; Hu et al., arXiv:2106.09685) as peft saves them, merged into a checkpoint's weights.

A checkpoint that was trained with one for pictures (Phi-4 multimodal) is another model without it. Merging takes no
package besides torch, and the passes cost what they did. Only plain LoRA is known; anything else is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from safetensors import SafetensorError
from safetensors.torch import load_file

from known_unknowns.data.files import pin, safe
from known_unknowns.errors import ConfigError

SETTINGS, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_PREFIX = "base_model.model."
_DOWN, _UP = ".lora_A.weight", ".lora_B.weight"
_PLAIN = {"peft_type": "LORA", "bias": "none"}
_BEYOND = (
    "alora_invocation_tokens",
    "alpha_pattern",
    "fan_in_fan_out",
    "layer_replication",
    "lora_bias",
    "modules_to_save",
    "rank_pattern",
    "target_parameters",
    "trainable_token_indices",
    "use_bdlora",
    "use_dora",
    "use_qalora",
    "use_rslora",
)
"""Settings that change what an adapter does; plain LoRA has none of them."""


def folder(source: str, name: str, where: Mapping[str, Any]) -> Path:
    """Where the adapter ``name`` of a folder or a repository lies, downloaded where it has to be.

    Raises OSError or ValueError where it cannot be had.
    """
    name = safe(name)
    root = Path(source)
    if not root.is_dir():
        patterns = [f"{name}/{file}" for file in (SETTINGS, WEIGHTS)]
        root = Path(snapshot_download(source, revision=where["revision"], allow_patterns=patterns))
    found = root / name
    for file in (SETTINGS, WEIGHTS):
        if not (found / file).is_file():
            raise OSError(f"there is no {name}/{file} in it")
    return found


def digests(folder: Path) -> dict[str, str]:
    """What pins an adapter: the sha256 of each of its files."""
    return {file: str(pin(folder / file).sha256) for file in (SETTINGS, WEIGHTS)}


@torch.no_grad()
def merge(model: Any, folder: Path, *, path: str) -> None:
    """Add the adapter in ``folder`` to the model's weights, W + alpha / r * B A, in float32.

    Raises ConfigError, naming ``path``, for an adapter that is not plain LoRA or not of this model.
    """
    try:
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        beyond = {key: settings[key] for key in _BEYOND if settings.get(key)}
        beyond |= {key: settings.get(key) for key, plain in _PLAIN.items() if settings.get(key) != plain}
        scale = settings["lora_alpha"] / settings["r"]
        tensors = load_file(folder / WEIGHTS)
    except (ValueError, LookupError, TypeError, AttributeError, SafetensorError) as error:
        raise ConfigError(f"{folder.name} is no adapter that peft has saved ({error!r})", path=path) from error
    if beyond:
        raise ConfigError(f"{folder.name} is no plain LoRA ({beyond}); merge it with peft", path=path)
    modules = {name.removeprefix(_PREFIX).removesuffix(_DOWN) for name in tensors if name.endswith(_DOWN)}
    if set(tensors) != {f"{_PREFIX}{module}{part}" for module in modules for part in (_DOWN, _UP)} or not modules:
        raise ConfigError(f"{folder.name} holds other tensors than a LoRA's pairs; merge it with peft", path=path)
    for name in sorted(modules):
        down, up = (tensors[f"{_PREFIX}{name}{part}"].float() for part in (_DOWN, _UP))
        weight = _weight(model, name, (up.shape[0], down.shape[1]))
        if weight is None:
            raise ConfigError(f"{folder.name} is not of this model: it has no {name} of such a shape", path=path)
        weight.copy_(weight.float() + scale * (up @ down))


def _weight(model: Any, name: str, shape: tuple[int, ...]) -> torch.Tensor | None:
    """The weight of the linear layer ``name``, if the model has one of this shape."""
    try:
        layer = model.get_submodule(name)
    except AttributeError:
        return None
    return layer.weight if isinstance(layer, torch.nn.Linear) and layer.weight.shape == shape else None
