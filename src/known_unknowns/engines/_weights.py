"""The weights in a folder: the sha256 that pins a local model, and the headers of safetensors files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from known_unknowns.errors import DataError
from known_unknowns.files import git_lfs

WEIGHTS = "*.safetensors"
_LENGTH_BYTES = 8
"""A safetensors file begins with the length of its header, a little-endian integer."""


def weights_sha256(folder: str | Path) -> str:
    """Return the sha256 of a folder's ``*.safetensors`` file.

    For several files (shards), return the sha256 of the output of ``sha256sum *.safetensors``, sorted by file name.
    """
    return files_sha256(sorted(Path(folder).glob(WEIGHTS)))


def wrong_pin(folder: Path, found: str, revision: str) -> str | None:
    """Return why a revision is not the sha256 that was ``found`` of a folder's weights; None if it is."""
    if found == revision:
        return None
    return (
        f"the weights in {folder} are not the pinned ones: their sha256 is {found}, revision says {revision}; "
        "restore the weights, or set revision to their sha256"
    )


def files_sha256(files: Sequence[Path]) -> str:
    """Return the sha256 of a file; for several files, of the lines that ``sha256sum`` prints for them."""
    digests = []
    for file in files:
        with file.open("rb") as data:
            digests.append(file_digest(data, "sha256").hexdigest())
    if len(files) == 1:
        return digests[0]
    lines = (f"{digest}  {file.name}\n" for digest, file in zip(digests, files, strict=True))
    return sha256("".join(lines).encode()).hexdigest()


def tensors(file: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return the tensors of a safetensors file from its header: "dtype", "shape" and "data_offsets" by name.

    Raises DataError if it is no such file, or has another size than its header says.
    """
    size = file.stat().st_size
    git_lfs.check_file(file)
    with file.open("rb") as data:
        length = int.from_bytes(data.read(_LENGTH_BYTES), "little")
        try:
            header: Any = json.loads(data.read(length)) if length <= size else None
            found = {name: tensor for name, tensor in header.items() if name != "__metadata__"}
            end = _LENGTH_BYTES + length + max((tensor["data_offsets"][1] for tensor in found.values()), default=0)
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError, IndexError):
            raise DataError("not a safetensors file; copy the model again", file=file) from None
    if end != size:
        raise DataError(f"it has {size:,} bytes instead of {end:,}; copy the model again", file=file)
    return found
