"""The sha256 of the weights in a folder, which pins a local model."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import file_digest, sha256
from pathlib import Path

WEIGHTS = "*.safetensors"


def weights_sha256(folder: str | Path) -> str:
    """Return the sha256 of a folder's ``*.safetensors`` file.

    For several files (shards), return the sha256 of the output of ``sha256sum *.safetensors``, sorted by file name.
    """
    return files_sha256(sorted(Path(folder).glob(WEIGHTS)))


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
