"""Which turns go through the model together.

Whatever is committed of a run, what is left is grouped as it would have been: chunks are cut from the front of one
order that stays the same when its front is gone, by what stands at the front alone. So a run that was cut off and
goes on computes the same bits as one that was not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from known_unknowns.engines._prompts import head
from known_unknowns.records import Image, Turn

_CHARACTERS = 4
"""Of a token, about: what a chunk holds need not be exact, but may not depend on a tokenizer that pads."""
_AROUND = 8


def batches(turns: Sequence[Turn], size: int, *, max_new_tokens: int | None = None) -> Iterator[list[int]]:
    """Indices into ``turns``, at most ``size`` at a time, each batch alike in its number of pictures and its limit."""

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


def groups(
    turns: Sequence[Turn], indices: Sequence[int], *, size: int, tokens: int, most_pictures: int
) -> Iterator[list[int]]:
    """The ``indices``, those with the same pictures side by side, up to ``size`` and about ``tokens`` at a time, and
    up to ``most_pictures``, whose pixels take memory.

    Pictures with few questions go together, those with many are cut up. All turns of a chunk have the same number of
    pictures.
    """

    def order(index: int) -> tuple:
        return len(turns[index].images), tuple(map(str, head(turns[index])))

    chunk: list[int] = []
    weight = shown = 0
    for (pictures, _), members in groupby(sorted(indices, key=order), key=order):
        waiting = list(members)
        while waiting:
            fits = _fitting([_weight(turns[index]) for index in waiting], size - len(chunk), tokens - weight)
            alike = not chunk or len(turns[chunk[0]].images) == pictures
            if chunk and (fits < len(waiting) or not alike or shown + pictures > most_pictures):
                yield chunk
                chunk, weight, shown = [], 0, 0
                continue
            taken, waiting = waiting[: max(1, fits)], waiting[max(1, fits) :]
            chunk += taken
            weight += sum(_weight(turns[index]) for index in taken)
            shown += pictures
    if chunk:
        yield chunk


def _weight(turn: Turn) -> int:
    """About how many tokens come after the last picture."""
    length = 0
    for part in reversed(turn.content):
        if isinstance(part, Image):
            break
        length += len(part)
    return length // _CHARACTERS + _AROUND


def _fitting(weights: Sequence[int], size: int, tokens: int) -> int:
    """How many from the front fit."""
    room = tokens
    for count, weight in enumerate(weights[:size]):
        room -= weight
        if room < 0:
            return count
    return min(len(weights), size)
