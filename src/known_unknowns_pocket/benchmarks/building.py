"""What the builders of the pocket benchmarks share: checks of their arguments, and the digest of what they wrote."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any


def check_numbers(*, images: int, questions_per_image: int = 1, most: int = 1) -> None:
    """Raise ValueError if an argument of a builder is out of range; ``most`` is the largest ``questions_per_image``."""
    if images < 1:
        raise ValueError(f"images={images}: give at least 1")
    if not 1 <= questions_per_image <= most:
        raise ValueError(f"questions_per_image={questions_per_image}: give 1 to {most}")


class ContentDigest:
    """A SHA-256 of values. It does not depend on how the values are laid out in a file."""

    def __init__(self) -> None:
        self._digest = sha256()

    def add(self, values: Any) -> None:
        """Add a value that JSON can hold."""
        self.add_line(json.dumps(values, sort_keys=True, ensure_ascii=False))

    def add_line(self, text: str) -> None:
        """Add a line of text."""
        self._digest.update(f"{text}\n".encode())

    def hexdigest(self) -> str:
        """Return the digest in hexadecimal."""
        return self._digest.hexdigest()
