"""Which turns go through the model together.

The remaining turns of an interrupted run are grouped as they would have been in one run: chunks are cut from the front
of a fixed order, and each cut depends only on the turns at the front. A resumed run therefore computes the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from known_unknowns.engines._prompts import prompt_head
from known_unknowns.records import Image, Turn

_CHARACTERS_PER_TOKEN = 4
"""Approximate. The size of a chunk need not be exact, but must not depend on a tokenizer."""
_TEMPLATE_TOKENS = 8
_OPTIONS = 4
"""Approximate number of options. A turn that asks for the likelihood of each counts as so many."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Turns that go through the model together, and whether they share the prefixes of their images."""

    indices: Sequence[int]
    shared: bool


def batches(turns: Sequence[Turn], size: int, *, max_new_tokens: int | None = None) -> Iterator[list[int]]:
    """Yield indices into ``turns``, at most ``size`` at a time.

    A batch has one number of images and one token limit.
    """

    def kind(index: int) -> tuple[int, int]:
        return len(turns[index].images), max_new_tokens or turns[index].max_new_tokens

    batch: list[int] = []
    for index in sorted(range(len(turns)), key=kind):
        if batch and (len(batch) == size or kind(index) != kind(batch[0])):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def prefix_chunks(
    turns: Sequence[Turn], indices: Sequence[int], *, size: int, tokens: int, max_images: int
) -> Iterator[list[int]]:
    """Yield chunks of ``indices``, with turns about the same images next to each other.

    Either all of them ask for likelihoods (`Turn.continuations`), or none does.

    Images with few turns share a chunk; images with many turns are split. All turns of a chunk have the same number
    of images. The limits of a chunk are ``size`` turns, ``tokens`` after the last images, approximately, and
    ``max_images`` different images, whose pixels take memory.
    """

    def order(index: int) -> tuple[int, tuple[str, ...]]:
        return len(turns[index].images), tuple(map(str, prompt_head(turns[index])))

    if indices and turns[indices[0]].continuations is not None:
        size = max(1, size // _OPTIONS)

    chunk: list[int] = []
    weight = shown = 0
    for (images, _), members in groupby(sorted(indices, key=order), key=order):
        waiting = list(members)
        while waiting:
            fits = _count_fitting([_weight(turns[index]) for index in waiting], size - len(chunk), tokens - weight)
            alike = not chunk or len(turns[chunk[0]].images) == images
            if chunk and (fits < len(waiting) or not alike or shown + images > max_images):
                yield chunk
                chunk, weight, shown = [], 0, 0
                continue
            taken, waiting = waiting[: max(1, fits)], waiting[max(1, fits) :]
            chunk += taken
            weight += sum(_weight(turns[index]) for index in taken)
            shown += images
    if chunk:
        yield chunk


def _weight(turn: Turn) -> int:
    """Return the approximate number of tokens after the last image."""
    length = 0
    for part in reversed(turn.content):
        if isinstance(part, Image):
            break
        length += len(part)
    length += sum(map(len, turn.continuations or ()))
    return length // _CHARACTERS_PER_TOKEN + _TEMPLATE_TOKENS


def _count_fitting(weights: Sequence[int], size: int, tokens: int) -> int:
    """Return how many weights from the front fit into the limits."""
    room = tokens
    for count, weight in enumerate(weights[:size]):
        room -= weight
        if room < 0:
            return count
    return min(len(weights), size)
