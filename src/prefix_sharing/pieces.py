"""Prefixes in pieces: the tokens up to each image, computed after the keys and values of the tokens before them.

Prompts begin alike up to some image: the next turns of a dialogue, which show one image more, and other prompts about
the same images. Their common pieces are computed once. The pieces of a prefix depend on its prompt only, so that it has
the same bits whether its beginning was cached or not. On a CPU; pieces of several prompts share a pass if a linear
layer gives a token the same bits whatever stands beside it (`segments.rows_are_independent`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import torch

from prefix_sharing import prefix, segments
from prefix_sharing.architecture import Architecture
from prefix_sharing.encoder import EncodedImages, ImageEncoder
from prefix_sharing.prefix import Prefix
from prefix_sharing.prompts import Prompt
from prefix_sharing.segments import Segment

_MAX_TOKENS = 512
"""Tokens of a pass. Longer passes are not more efficient."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a prompt's prefix, from the token ``start`` to ``end``.

    Attributes
    ----------
    key : hashable
        The tokens and the images from the prompt's beginning to the end of the piece.
    before : hashable or None
        The key of the piece before it.
    head : hashable
        The part of the prompt's head up to the piece's last image (see `Prompt.head`).
    features : sequence of mapping
        The features of its images.
    positions : Tensor, shape (..., 1, tokens)
        The positions of its tokens.
    delta : int
        See `Prefix.delta`.
    """

    key: Hashable
    before: Hashable | None
    head: Hashable
    tokens: Sequence[int]
    end: int
    features: Sequence[Mapping[str, Any]]
    positions: torch.Tensor
    delta: int


def pieces_of(
    architecture: Architecture,
    prompt: Prompt,
    encoded: EncodedImages,
    *,
    image_tokens: Collection[int],
    closing_tokens: Collection[int],
) -> list[Piece]:
    """Return the pieces of a prompt's prefix. It is one piece if the encoder's units are not the prompt's images."""
    ids = prompt.ids[: prompt.prefix_length]
    places = [place for place, token in enumerate(ids) if token in image_tokens]
    ends, counted = [], 0
    if encoded.single and sum(encoded.tokens) == len(places):
        for tokens in encoded.tokens[:-1]:
            counted += tokens
            end = places[counted - 1] + 1
            while ids[end] in closing_tokens and ids[end] not in image_tokens:
                end += 1
            ends.append(end)
    ends.append(len(ids))
    positions = _positions(architecture, prompt)
    heads = _heads(prompt, len(ends))
    pieces: list[Piece] = []
    start = 0
    for number, end in enumerate(ends):
        known = number + 1 if number < len(ends) - 1 else len(encoded.keys)
        delta = 0 if architecture.rotary is None else int(positions[..., :end].max()) + 1 - end
        pieces.append(
            Piece(
                key=(ids[:end], encoded.keys[:known]),
                before=pieces[-1].key if pieces else None,
                head=heads[number],
                tokens=ids[start:end],
                end=end,
                features=encoded.features[number:known],
                positions=positions[..., start:end],
                delta=delta,
            )
        )
        start = end
    return pieces


def compute(
    model: Any,
    architecture: Architecture,
    encoder: ImageEncoder,
    chains: Sequence[Sequence[Piece]],
    cached: Callable[[Hashable], Prefix | None],
    *,
    together: bool,
) -> dict[Hashable, tuple[Piece, Prefix]]:
    """Compute the last piece of each chain, and those before it that are not cached. Return what was computed, by key.

    ``together``: pieces of several chains may share a pass.
    """
    made: dict[Hashable, tuple[Piece, Prefix]] = {}

    def known(key: Hashable) -> Prefix | None:
        return made[key][1] if key in made else cached(key)

    for depth in range(max(map(len, chains), default=0)):
        needed: dict[Hashable, Piece] = {}
        for chain in chains:
            # A later piece that is cached makes those before it unnecessary.
            if depth < len(chain) and all(known(piece.key) is None for piece in chain[depth:]):
                needed.setdefault(chain[depth].key, chain[depth])
        for some in _passes(list(needed.values()), together=together):
            sequences = []
            for piece in some:
                before = None if piece.before is None else known(piece.before)
                sequences.append(Segment(piece.tokens, piece.positions, None if before is None else before.cache))
            features = [features for piece in some for features in piece.features]
            caches, _ = segments.forward_segments(model, architecture, sequences, encoder.output(features))
            for piece, cache in zip(some, caches, strict=True):
                made[piece.key] = piece, prefix.new_prefix(cache, piece.end, piece.delta)
    return made


def _passes(pieces: Sequence[Piece], *, together: bool) -> Iterator[list[Piece]]:
    """Yield the pieces of each pass. Short ones are computed alone: linear layers may treat them in another way."""
    waiting: list[Piece] = []
    for piece in pieces:
        if not together or len(piece.tokens) < segments.MIN_TOKENS:
            yield [piece]
            continue
        if waiting and sum(len(other.tokens) for other in waiting) + len(piece.tokens) > _MAX_TOKENS:
            yield waiting
            waiting = []
        waiting.append(piece)
    if waiting:
        yield waiting


def _heads(prompt: Prompt, count: int) -> list[Hashable]:
    """Return the beginnings of a prompt's head up to each image; the whole head for a single piece."""
    if count == 1 or not isinstance(prompt.head, tuple):
        return [prompt.head] * count
    images = list(prompt.images)
    found: list[Hashable] = []
    for end, part in enumerate(prompt.head, 1):
        if images and part == images[0]:
            images.pop(0)
            found.append(prompt.head[:end])
    return found if len(found) == count else [prompt.head] * count


def _positions(architecture: Architecture, prompt: Prompt) -> torch.Tensor:
    """Return the positions of a prefix's tokens, shape (..., 1, tokens)."""
    inputs = prompt.prefix_inputs()
    if architecture.rotary is None or "mm_token_type_ids" not in inputs:
        return torch.arange(prompt.prefix_length)[None]
    compute_positions = architecture.rotary.compute_3d_position_ids
    wanted = {name: inputs.get(name) for name in signature(compute_positions).parameters}
    architecture.rotary.rope_deltas = None
    return compute_positions(**wanted)
