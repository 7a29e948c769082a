"""LoRA adapters (Hu et al., arXiv:2106.09685) that peft saved, merged into a checkpoint's weights.

Merging needs the package peft (the extra "adapters"). Only safetensors files are read, never a pickle.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from huggingface_hub import snapshot_download
from safetensors import SafetensorError
from safetensors.torch import load_file

from known_unknowns.config import locked_commits
from known_unknowns.data import hub
from known_unknowns.errors import ConfigError
from known_unknowns.files.pins import pin, safe

CONFIG_FILE, WEIGHTS_FILE = "adapter_config.json", "adapter_model.safetensors"


def find_adapter(source: str, name: str, *, revision: str | None) -> Path:
    """Return the folder of an adapter of the model ``source``; download it if necessary.

    Parameters
    ----------
    source, revision : str
        The local folder or hub repository of the model, and the revision of the repository.
    name : str
        A repository of its own, as OWNER/NAME@REVISION; a folder of its own; or a folder within the source.

    Raises
    ------
    OSError, ValueError
        The adapter cannot be found or downloaded, or ``name`` is no folder and leaves the source's.
    DataError
        A file of its repository differs from params.lock.yaml.
    """
    if found := locked_commits.adapter_source(name):
        locked = locked_commits.read().get(found.key)
        commit = locked.commit if locked and locked.commit else found.revision
        root = Path(snapshot_download(found.repository, revision=commit, allow_patterns=[CONFIG_FILE, WEIGHTS_FILE]))
        if locked:
            hub.check_cached(found.repository, commit, locked.files)
        return _complete(root, name)
    if own := locked_commits.adapter_folder(source, name):
        return _complete(own, name)
    name = safe(name)
    root = Path(source)
    if not root.is_dir():
        patterns = [f"{name}/{file}" for file in (CONFIG_FILE, WEIGHTS_FILE)]
        root = Path(snapshot_download(source, revision=revision, allow_patterns=patterns))
    return _complete(root / name, name)


def _complete(folder: Path, name: str) -> Path:
    for file in (CONFIG_FILE, WEIGHTS_FILE):
        if not (folder / file).is_file():
            raise OSError(f"it has no file {name}/{file}")
    return folder


def file_digests(folder: Path) -> dict[str, str]:
    """Return the sha256 of each of an adapter's files. They are part of the checkpoint's identity."""
    return {file: str(pin(folder / file).sha256) for file in (CONFIG_FILE, WEIGHTS_FILE)}


@torch.no_grad()
def merge_adapter(model: Any, folder: Path, *, path: str) -> None:
    """Merge the adapter in ``folder`` into the model's weights, in place: W + alpha / r * B A for plain LoRA.

    Raises ConfigError, for the key ``path``, if peft is not installed, the files cannot be read, or the adapter is
    not a LoRA of exactly this model.
    """
    peft = _import_peft(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # peft warns of settings that it ignores
            config = _config(peft, folder)
            wrapped = peft.PeftModel(model, config)
        with warnings.catch_warnings():
            # The probe loads a model without values (device meta) to compare names and shapes. There torch warns once
            # for each tensor that nothing is copied.
            warnings.filterwarnings("ignore", ".*copying from a non-meta parameter .* is a no-op", UserWarning)
            loaded = peft.set_peft_model_state_dict(wrapped, load_file(folder / WEIGHTS_FILE))
        absent = [name for name in loaded.missing_keys if ".lora_" in name or ".modules_to_save." in name]
        if absent or loaded.unexpected_keys:
            raise ValueError(f"its tensors do not match the model: {sorted([*absent, *loaded.unexpected_keys])[:3]}")
        wrapped.merge_and_unload(safe_merge=not next(model.parameters()).is_meta)  # which looks for NaN
    except (Warning, ValueError, LookupError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ConfigError(f"cannot merge the adapter {folder.name!r}: {reason}", path=path) from error


def _config(peft: ModuleType, folder: Path) -> Any:
    """Return the adapter's configuration, for a plain PeftModel, which fits every model class."""
    config = peft.PeftConfig.from_pretrained(str(folder))
    if config.peft_type != peft.PeftType.LORA:
        raise ValueError(f"its type is {config.peft_type}; only LORA is supported")
    if config.megatron_config:
        raise ValueError("its megatron_config would import a module that the file names")
    config.task_type, config.inference_mode = None, True
    return config


def _import_peft(path: str) -> ModuleType:
    try:
        return import_module("peft")
    except ImportError as error:
        message = "an adapter needs the package peft; install the extra: pip install 'known-unknowns[adapters]'"
        raise ConfigError(message, path=path) from error
