"""Batches of lessons: all exercises of a picture share one sequence, in which the picture comes once.

A sequence is ``<s><|user|><image>...`` and then, for each exercise, ``prompt<|assistant|>letter</s>``; an exercise
sees the picture and itself, and its positions go on from the picture's, so that each is as if it stood alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast

from known_unknowns.training.architecture import ASSISTANT, EOS, IMAGE, PAD, USER
from known_unknowns.training.exercises import WORDS, Exercise
from known_unknowns.training.lessons import Lesson

NO_LABEL = -100
FIRST_PATCH = 2
"""The first image token's place in a row, after ``<s><|user|>``."""
_SHARED, _NOBODY = 0, -1
_BLOCKED = -1e4
_MULTIPLE = 16


@dataclass(slots=True)
class Batch:
    """One step's tensors. A place is row * length + position in the flattened (rows, length) tokens.

    pixels (rows, 3, side, side) in -1..1; patches (rows, labels, patches); tokens, positions (rows, length); mask
    (rows, 1, length, length), added to attention scores; letters: (2, n) places and the tokens that follow; options:
    (2, n) places and 0 or 1; words: (1 + slots, n) places and classes; spots: (2, n) places and patches.
    """

    pixels: torch.Tensor
    patches: torch.Tensor
    tokens: torch.Tensor | None = None
    positions: torch.Tensor | None = None
    mask: torch.Tensor | None = None
    letters: torch.Tensor | None = None
    options: torch.Tensor | None = None
    words: torch.Tensor | None = None
    spots: torch.Tensor | None = None

    def to(self, device: str) -> Batch:
        values = (getattr(self, column.name) for column in fields(self))
        return Batch(*(None if value is None else value.to(device) for value in values))


@dataclass(slots=True)
class _Row:
    tokens: list[int]
    owners: list[int]
    positions: list[int]
    letters: list[tuple[int, int]] = field(default_factory=list)
    options: list[tuple[int, int]] = field(default_factory=list)
    words: list[tuple[int, ...]] = field(default_factory=list)
    spots: list[tuple[int, int]] = field(default_factory=list)


class Packer:
    """Makes batches; ``grid`` is the number of patches along a side."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, grid: int) -> None:
        self.tokenizer, self.grid = tokenizer, grid
        self.pad, self.image, self.user, self.assistant, self.end = (
            tokenizer.convert_tokens_to_ids(token) for token in (PAD, IMAGE, USER, ASSISTANT, EOS)
        )

    def pictures(self, lessons: Sequence[Lesson]) -> Batch:
        """A batch of pictures alone."""
        side = next(lesson.pixels.shape[0] for lesson in lessons if lesson.pixels is not None)
        empty = np.zeros((side, side, 3), dtype=np.uint8)
        pixels = np.stack([empty if lesson.pixels is None else lesson.pixels for lesson in lessons])
        scaled = torch.from_numpy(pixels).permute(0, 3, 1, 2).float().div_(127.5).sub_(1.0)
        return Batch(scaled, torch.from_numpy(np.stack([lesson.patches for lesson in lessons])))

    def batch(self, lessons: Sequence[Lesson]) -> Batch:
        """A batch of pictures with their exercises."""
        made = self.pictures(lessons)
        rows = [self._row(lesson) for lesson in lessons]
        longest = max(len(row.tokens) for row in rows)
        length = -(-longest // _MULTIPLE) * _MULTIPLE

        def padded(values: list[list[int]], fill: int) -> torch.Tensor:
            return torch.tensor([row + [fill] * (length - len(row)) for row in values])

        def placed(name: str, width: int) -> torch.Tensor:
            found = [
                (number * length + place, *labels)
                for number, row in enumerate(rows)
                for place, *labels in getattr(row, name)
            ]
            return torch.tensor(found, dtype=torch.long).reshape(-1, width).T

        made.tokens = padded([row.tokens for row in rows], self.pad)
        made.positions = padded([row.positions for row in rows], 0)
        made.mask = attention_mask(padded([row.owners for row in rows], _NOBODY))
        made.letters, made.options = placed("letters", 2), placed("options", 2)
        made.words, made.spots = placed("words", 1 + len(WORDS)), placed("spots", 2)
        return made

    def _row(self, lesson: Lesson) -> _Row:
        images = self.grid**2
        tokens = [self.tokenizer.bos_token_id, self.user] + [self.image] * images
        seen = lesson.pixels is not None
        owners = [_SHARED, _SHARED] + [_SHARED if seen else _NOBODY] * images
        row = _Row(tokens, owners, list(range(len(tokens))))
        first = len(tokens) if seen else FIRST_PATCH
        for number, exercise in enumerate(lesson.exercises, start=1):
            self._add(row, exercise, number, first)
        return row

    def _add(self, row: _Row, exercise: Exercise, owner: int, first: int) -> None:
        start = len(row.tokens)
        encoded = self.tokenizer(exercise.prompt, add_special_tokens=False, return_offsets_mapping=True)
        prompt = encoded["input_ids"]
        ends = [end for _, end in encoded["offset_mapping"]]

        def after(character: int) -> int:
            """The place of the token that holds this character."""
            return start + next(place for place, end in enumerate(ends) if end > character)

        added = list(prompt)
        if exercise.letter:
            letter = self.tokenizer.convert_tokens_to_ids(exercise.letter)
            added += [self.assistant, letter, self.end]
            replied = start + len(prompt)
            row.letters += [(replied, letter), (replied + 1, self.end)]
        row.tokens += added
        row.owners += [owner] * len(added)
        row.positions += range(first, first + len(added))
        row.options += [(after(end), int(right)) for end, right in exercise.options]
        if exercise.words:
            row.words.append((after(exercise.stem), *(exercise.words.get(slot, NO_LABEL) for slot in WORDS)))
        row.spots += [(after(end) - 1, self._patch(x, y)) for end, x, y in exercise.places]

    def _patch(self, x: float, y: float) -> int:
        """The patch, counted in rows, at these shares of the picture's width and height."""
        column, row = (min(int(share * self.grid), self.grid - 1) for share in (x, y))
        return row * self.grid + column


def attention_mask(owners: torch.Tensor) -> torch.Tensor:
    """From (rows, length) to (rows, 1, length, length): causal, and a token sees what is shared or has its owner."""
    length = owners.shape[1]
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    mine = (owners[:, :, None] == owners[:, None, :]) & (owners[:, None, :] != _NOBODY)
    seen = (mine | (owners[:, None, :] == _SHARED)) & causal
    seen |= torch.eye(length, dtype=torch.bool)
    return torch.zeros(seen.shape).masked_fill_(~seen, _BLOCKED)[:, None]
