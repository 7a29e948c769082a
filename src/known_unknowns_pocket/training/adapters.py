"""Siblings of the pocket model that are LoRA adapters (Hu et al., arXiv:2106.09685) of its text layers.

The training starts from the weights of a finished model and needs no checkpoint. Its loss is that of the replies alone,
since the auxiliary heads are not part of a finished model.
"""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import nn
from transformers import LlavaForConditionalGeneration, LlavaProcessor

from known_unknowns.errors import ConfigError
from known_unknowns_pocket.training.batches import Batch, Packer
from known_unknowns_pocket.training.loop import MOST_GRADIENT, Report, StageBatches, build_heads, log_line
from known_unknowns_pocket.training.settings import Settings, adapter_stage

_RANK = 4
_LAYERS = r"model\.language_model\.layers\.\d+\.(self_attn|mlp)\.\w+_proj"


def train_adapter(
    settings: Settings,
    sibling: str,
    model: Path,
    out: Path,
    *,
    report: Report | None = None,
    report_every: int = 50,
) -> Path:
    """Train an adapter of a finished model, save it to ``out`` in peft's format and half precision, and return ``out``.

    ``settings`` is the recipe of the model, ``sibling`` a key of `known_unknowns_pocket.training.settings.ADAPTERS`,
    and ``model`` the folder of the model. ``report`` receives the lines of the log: stage, step, seconds, loss,
    accuracy of the replies' tokens. Raises ConfigError if peft is not installed, or ``model`` is no folder of a pocket
    model of this shape.
    """
    stage = adapter_stage(settings, sibling)
    base, processor = _load(model, settings)
    adapted = _with_adapter(base, settings.seed)
    heads = build_heads(processor.tokenizer, settings.shape)
    batches = StageBatches(Packer(processor.tokenizer, settings.shape.grid), stage, settings)
    weights = [weight for weight in adapted.parameters() if weight.requires_grad]
    optimiser = torch.optim.AdamW(weights, betas=(0.9, 0.98), weight_decay=0.0)
    started = time.perf_counter()
    for step in range(len(batches)):
        for group in optimiser.param_groups:
            group["lr"] = stage.learning_rate_at(step)
        batch = batches[step]
        assert isinstance(batch, Batch), "the stage of an adapter has prompts"
        with torch.autocast("cpu", torch.bfloat16):
            learned = heads.reply(base, batch)
        optimiser.zero_grad(set_to_none=True)
        learned.loss.backward()
        nn.utils.clip_grad_norm_(weights, MOST_GRADIENT)
        optimiser.step()
        if report is not None and ((step + 1) % report_every == 0 or step + 1 == len(batches)):
            report(log_line(sibling, step + 1, started, learned))
    _save(adapted, out)
    return out


def _load(folder: Path, settings: Settings) -> tuple[LlavaForConditionalGeneration, LlavaProcessor]:
    try:
        processor = LlavaProcessor.from_pretrained(folder, backend="pil", local_files_only=True)
        model = LlavaForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot load the model in {folder}: {error}") from error
    shape = settings.shape
    config: Any = model.config
    found = (config.vision_config.image_size, config.text_config.hidden_size, config.text_config.num_hidden_layers)
    if found != (expected := (shape.side, shape.text_width, shape.text_layers)):
        raise ConfigError(f"the model in {folder} has the shape {found}, not {expected}")
    model.model.language_model.set_attn_implementation("eager")  # as in the training of the model
    return model.eval(), processor


def _with_adapter(model: LlavaForConditionalGeneration, seed: int) -> Any:
    try:
        import peft
    except ImportError as error:
        message = "an adapter needs the package peft; install the extra: pip install 'known-unknowns[adapters]'"
        raise ConfigError(message) from error
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft 0.21 reads a property that transformers renames
        torch.manual_seed(seed)
        return peft.get_peft_model(model, peft.LoraConfig(r=_RANK, lora_alpha=_RANK, target_modules=_LAYERS))


def _save(adapted: Any, out: Path) -> None:
    """Write the tensors, and the settings that peft needs to load them.

    peft's save_pretrained would also write a model card, paths of this machine, and keys that other versions of peft
    reject.
    """
    from peft import get_peft_model_state_dict

    out.mkdir(parents=True, exist_ok=True)
    settings = {key: getattr(adapted.peft_config["default"], key) for key in ("r", "lora_alpha", "target_modules")}
    text = json.dumps({"peft_type": "LORA"} | settings, indent=2) + "\n"
    (out / "adapter_config.json").write_text(text, encoding="utf-8")
    tensors = {name: weight.detach().half().contiguous() for name, weight in get_peft_model_state_dict(adapted).items()}
    save_file(tensors, out / "adapter_model.safetensors", metadata={"format": "pt"})
