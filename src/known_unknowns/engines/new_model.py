"""The entry of a model in params.yaml, made from its folder or its repository on the hub."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from known_unknowns.data import download, hub
from known_unknowns.engines._weights import WEIGHTS, tensors, weights_sha256
from known_unknowns.engines.memory_needs import BYTES
from known_unknowns.errors import ConfigError, DataError, MachineError
from known_unknowns.files.pins import FilePin, Files, difference
from known_unknowns.yaml_reader import parse_yaml

LATEST = "main"
"""The branch of a repository whose newest commit is used by default."""
_HUB = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
_MAX_FILE = 10_000_000
"""Largest size of config.json and README.md in bytes."""
_ADAPTER = "adapter_config.json"


@dataclass(frozen=True)
class NewModel:
    """An entry, a name for it, and notes for the user."""

    name: str
    entry: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def describe(source: str, *, revision: str = LATEST) -> NewModel:
    """Return the entry of a model.

    Parameters
    ----------
    source : str
        A folder with ``*.safetensors`` files and config.json, or a repository on the hub.
    revision : str
        A branch, tag or commit of the repository. The entry has its commit. That of a folder is the sha256 of its
        weights.

    Raises
    ------
    ConfigError
        If there is no such folder or repository name, or if the weights are not safetensors files.
    MachineError
        If the hub does not answer.
    """
    folder = Path(source).expanduser()
    if folder.is_dir():
        if (folder / _ADAPTER).is_file() and not (folder / "config.json").is_file():
            return _of_adapter_folder(source, folder)
        return _of_folder(source, folder)
    if not _HUB.fullmatch(source):
        raise ConfigError(
            f"there is no folder {source!r} in {Path.cwd()}, and a repository of the hub is called OWNER/NAME",
            path="MODEL",
        )
    return _of_hub(source, revision)


def _of_folder(source: str, folder: Path) -> NewModel:
    weights = sorted(folder.glob(WEIGHTS))
    if not weights:
        raise ConfigError(
            f"{source} has no {WEIGHTS} file; weights in other formats are not loaded, because reading them can "
            "execute code; convert them with save_pretrained",
            path="MODEL",
        )
    config, readme = folder / "config.json", folder / "README.md"
    if not config.is_file():
        raise ConfigError(f"{source} has no config.json", path="MODEL")
    counts = Counter[str]()
    for file in weights:
        for tensor in tensors(file).values():
            counts[tensor["dtype"]] += prod(tensor["shape"])
    if not counts:
        raise DataError("it holds no tensors", file=weights[0])
    ((most, _),) = counts.most_common(1)
    settings = _json(config.read_bytes(), str(config))
    text = readme.read_bytes()[:_MAX_FILE] if readme.is_file() else b""
    model = _entry(source, weights_sha256(folder), settings, text, counts.total(), _DTYPES.get(most))
    return _with_note(model, sorted(file.parent.name for file in folder.glob(f"*/{_ADAPTER}")))


def _with_note(model: NewModel, adapters: Sequence[str]) -> NewModel:
    """Return the model with a note on the adapters in its folder."""
    if adapters:
        model.notes.append(f"it has adapters, which are not used without `adapter: NAME`: {', '.join(adapters)}")
    return model


def _of_adapter_folder(source: str, folder: Path) -> NewModel:
    """Return the entry of the model that an adapter in a folder belongs to, with the adapter."""
    settings = _json((folder / _ADAPTER).read_bytes(), str(folder / _ADAPTER))
    if "base_model_name_or_path" not in settings and (folder.parent / "config.json").is_file():
        settings["base_model_name_or_path"] = str(Path(source).parent)
    return _with_adapter(source, settings, source)


def _with_adapter(source: str, settings: Mapping[str, Any], adapter: str) -> NewModel:
    base = settings.get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        message = f"{source} is an adapter, and its {_ADAPTER} does not name its model (base_model_name_or_path)"
        raise ConfigError(f"{message}; write the path or the repository of the model there", path="MODEL")
    revision = settings.get("revision")
    found = describe(base, revision=revision if isinstance(revision, str) and revision else LATEST)
    return NewModel(
        _name(source),
        found.entry | {"adapter": adapter},
        [*found.notes, f"it is an adapter of {base}, merged into its weights"],
    )


def _of_hub(repository: str, revision: str) -> NewModel:
    try:
        commit, files = hub.resolve(repository, revision, "model")
        if _ADAPTER in files and "config.json" not in files:
            settings = _json(_hub_file(repository, commit, files, _ADAPTER), f"{repository}: {_ADAPTER}")
            return _with_adapter(repository, settings, f"{repository}@{commit}")
        config = _hub_file(repository, commit, files, "config.json")
        readme = _hub_file(repository, commit, files, "README.md") if "README.md" in files else b""
    except download.FAILURES as error:
        raise MachineError(
            f"there is no folder {repository} in {Path.cwd()}, and {repository} at {revision} on the hub "
            f"cannot be read: {download.reason(error)}; HF_ENDPOINT names a mirror, HF_TOKEN a token"
        ) from error
    weights = sum(pinned.size for path, pinned in files.items() if "/" not in path and path.endswith(".safetensors"))
    if not weights:
        raise ConfigError(f"{repository} has no {WEIGHTS} file", path="MODEL")
    settings = _json(config, f"{repository}: config.json")
    stored = _configured_dtype(settings)
    model = _entry(repository, commit, settings, readme, weights // BYTES.get(stored or "bfloat16", 2), stored)
    return _with_note(model, sorted(path.rpartition("/")[0] for path in files if path.endswith(f"/{_ADAPTER}")))


def _hub_file(repository: str, commit: str, files: Files, path: str) -> bytes:
    """Download a small file of a commit, and compare its hash with the hub's."""
    if path not in files:
        raise ConfigError(f"{repository} has no {path}", path="MODEL")
    pinned: FilePin = files[path]
    if pinned.size > _MAX_FILE:
        raise DataError(f"larger than {_MAX_FILE:,} bytes", file=f"{repository}: {path}")
    with TemporaryDirectory() as folder:
        part = Path(folder, "part")
        download.download(
            hub.remote(repository, commit, "model", path), part, size=pinned.size, advance=lambda steps=1: None
        )
        wrong = difference(pinned.of(part), pinned)
        if wrong is not None:
            raise DataError(f"{wrong}; it was refused", file=f"{repository}: {path}")
        return part.read_bytes()


def _json(data: bytes, file: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON ({error})", file=file) from error
    if not isinstance(found, dict):
        raise DataError("not a JSON object", file=file)
    return found


def _configured_dtype(config: Mapping[str, Any]) -> str | None:
    """Return the dtype in config.json, at the top or in the language model's part."""
    for part in (config, config.get("text_config"), config.get("llm_config")):
        if isinstance(part, Mapping):
            dtype = part.get("dtype") or part.get("torch_dtype")
            if dtype in BYTES:
                return str(dtype)
    return None


def _entry(
    source: str, revision: str, config: Mapping[str, Any], readme: bytes, parameters: int, stored: str | None
) -> NewModel:
    notes = []
    dtype = _configured_dtype(config) or stored
    if dtype is None:
        dtype = "bfloat16"
        notes.append(
            "neither config.json nor the weights have one of the dtypes that are supported; bfloat16 is assumed"
        )
    model_type = config.get("model_type")
    if not _is_supported(model_type):
        notes.append(
            f"the installed transformers has no class for images and text of the model type {model_type!r}; serve the "
            "model behind an endpoint instead (docs/models.md)"
        )
    if "quantization_config" in config:
        notes.append("its weights are quantised, so that the number of parameters and the memory need are too small")
    name = _name(source)
    card = {
        "family": str(model_type or name),
        **({"model_type": model_type} if isinstance(model_type, str) and model_type else {}),
        "parameters": max(round(parameters / 1e9, 4), 0.0001),
        "licence": _licence(readme),
    }
    if card["licence"] == "unknown":
        notes.append("its licence is unknown; write it into card.licence")
    entry = {"engine": "transformers", "source": source, "revision": revision, "dtype": dtype, "card": card}
    return NewModel(name, entry, notes)


def _name(source: str) -> str:
    """Return a name for the entry of a model in a folder or repository."""
    return re.sub(r"[^a-z0-9._-]+", "-", Path(source).expanduser().resolve().name.lower()).strip("-._") or "model"


def _is_supported(model_type: Any) -> bool:
    """Whether the installed transformers has a class for the model type; True if transformers is not installed."""
    try:
        from transformers.models.auto import modeling_auto
    except ImportError:
        return True
    names = (
        modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES,
    )
    return any(model_type in each for each in names)


def _licence(readme: bytes) -> str:
    """Return the licence in the header of a model card (YAML between two lines of dashes)."""
    found = re.match(r"\ufeff?---\s*\n(.*?)\n---\s*(?:\n|\Z)", readme.decode("utf-8", errors="replace"), re.DOTALL)
    try:
        header = parse_yaml(found[1]) if found else None
    except yaml.YAMLError:
        header = None
    licence = header.get("license_name") or header.get("license") if isinstance(header, dict) else None
    return licence if isinstance(licence, str) and licence else "unknown"
