"""Whether a model is there and able to answer, found before any long job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from known_unknowns.config import ModelEntry, OpenAIModel, TransformersModel
from known_unknowns.errors import ConfigError
from known_unknowns.inference import image_question, lazy_engine

_LENGTH_BYTES = 8
"""A safetensors file begins with the length of its header, a little-endian integer."""


def probe(model: str, entry: ModelEntry, journals: Path | None = None) -> dict[str, Any]:
    """Check a model, and return what was found.

    An endpoint must serve the model, accept the key, and answer a question about an image. The files of a model in a
    local folder must be complete, and hold what the model needs (`known_unknowns.engines.checkpoint_check`). Nothing
    is checked of a model that has finished the runs of all its journals with this entry, except that a folder, if it is
    there, is complete: a clone with journals needs neither an endpoint nor weights.

    Parameters
    ----------
    model : str
        The model's name in params.yaml.
    entry : ModelEntry
        Its entry.
    journals : Path, optional
        The folder of the model's journals.

    Raises
    ------
    ConfigError, MachineError
        If the model cannot answer; see `check_checkpoint`, `check_endpoint` and
        `known_unknowns.inference.image_question.ask`.
    """
    found: dict[str, Any] = {"model": model, "engine": entry.engine}
    folder = Path(entry.source).expanduser() if isinstance(entry, TransformersModel) else None
    if folder is not None and folder.is_dir():
        for problem in _incomplete(folder):
            raise ConfigError(f"{problem}; copy the model again", path=f"models.{model}.source")
    if journals is not None and lazy_engine.has_finished(entry, journals):
        return found | {"checked": "journal"}
    if isinstance(entry, OpenAIModel) and entry.check_served:
        from known_unknowns.engines.endpoint.endpoint_check import check_endpoint

        served = check_endpoint(model, entry)
        return found | {"checked": "endpoint", "endpoint": served, "sees_images": image_question.ask(model, entry)}
    if isinstance(entry, TransformersModel) and folder is not None and folder.is_dir():
        from known_unknowns.engines.checkpoint_check import check_checkpoint

        return found | {"checked": "checkpoint", "asked": check_checkpoint(model, entry)}
    return found | {"checked": "nothing"}


def _incomplete(folder: Path) -> Iterator[str]:
    """Yield what is missing of a checkpoint: files that its index names, and parts of weight files."""
    for index in sorted(folder.glob("*.safetensors.index.json")):
        named = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        yield from (
            f"{folder / name}, which {index.name} names, is missing"
            for name in sorted(named)
            if not (folder / name).is_file()
        )
    for file in sorted(folder.rglob("*.safetensors")):
        size = _stated_size(file)
        if size is None:
            yield f"{file} is no safetensors file"
        elif size != file.stat().st_size:
            yield f"{file} has {file.stat().st_size:,} bytes instead of {size:,}"


def _stated_size(file: Path) -> int | None:
    """Return the size of a safetensors file that follows from its header; None if it has none."""
    with file.open("rb") as data:
        length = int.from_bytes(data.read(_LENGTH_BYTES), "little")
        if length > file.stat().st_size:
            return None
        try:
            header = json.loads(data.read(length))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            return None
    return _LENGTH_BYTES + length + max(ends, default=0)
