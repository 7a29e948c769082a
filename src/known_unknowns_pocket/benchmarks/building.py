"""What the builders of the pocket benchmarks share: checks of arguments, sizes and digests, and balanced draws."""

from __future__ import annotations

import hashlib
import io
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, TypeVar

import numpy as np
from PIL import Image

SIDES = (256, 640)
"""Least and greatest side of an image, in pixels."""
T = TypeVar("T")

OPTIONS = 5


def check_numbers(*, images: int, questions_per_image: int = 1, most: int = 1) -> None:
    """Raise ValueError if an argument of a builder is out of range; ``most`` is the largest ``questions_per_image``."""
    if images < 1:
        raise ValueError(f"images={images}: give at least 1")
    if not 1 <= questions_per_image <= most:
        raise ValueError(f"questions_per_image={questions_per_image}: give 1 to {most}")


class ContentDigest:
    """A SHA-256 of values. It does not depend on how the values are laid out in a file."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, values: Any) -> None:
        """Add a value that JSON can hold."""
        self.add_line(json.dumps(values, sort_keys=True, ensure_ascii=False))

    def add_line(self, text: str) -> None:
        """Add a line of text."""
        self._digest.update(f"{text}\n".encode())

    def hexdigest(self) -> str:
        """Return the digest in hexadecimal."""
        return self._digest.hexdigest()


def image_size(rng: random.Random, aspects: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return a random width and height in pixels, within `SIDES`, in one of the aspects (width, height)."""
    across, down = rng.choice(aspects)
    low, high = SIDES
    shorter = rng.randint(low, high * min(across, down) // max(across, down))
    return shorter * across // min(across, down), shorter * down // min(across, down)


def pixel_facts(encoded: bytes) -> dict[str, int | str]:
    """Return the width, the height and the SHA-256 of the RGB pixels of an encoded image."""
    with Image.open(io.BytesIO(encoded)) as image:
        pixels = np.asarray(image.convert("RGB"))
    height, width = pixels.shape[:2]
    return {"width": width, "height": height, "pixels": hashlib.sha256(pixels.tobytes()).hexdigest()}


def by_shares(shares: Mapping[str, float]) -> Iterator[str]:
    """Yield names in proportion to their shares: each time the one with the largest deficit."""
    total, drawn = sum(shares.values()), dict.fromkeys(shares, 0)
    number = 0
    while True:
        number += 1
        name = max(shares, key=lambda name: shares[name] / total * number - drawn[name])
        drawn[name] += 1
        yield name


def alternating(sorts: Sequence[Sequence[T]], rng: random.Random) -> Iterator[T]:
    """Yield one of each sort in turn; within a sort, all of them in random order before any is repeated."""
    remaining: list[list[T]] = [[] for _ in sorts]
    turn = rng.randrange(len(sorts))
    while True:
        if not remaining[turn]:
            remaining[turn] = rng.sample(sorts[turn], len(sorts[turn]))
        yield remaining[turn].pop()
        turn = (turn + 1) % len(sorts)


def places(rng: random.Random) -> Iterator[tuple[int, int]]:
    """Yield positions of the right option and of the refusal: each pair of different positions once in every 20."""
    pairs = list(permutations(range(OPTIONS), 2))
    while True:
        yield from rng.sample(pairs, len(pairs))
