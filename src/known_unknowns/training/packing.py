"""Batches of lessons: a picture is read once, and its exercises after it in chunks of some tens of tokens.

A lesson is ``<s><|user|><image>...``, the prefix, and after it, for each exercise, ``prompt<|assistant|>reply</s>``. An
exercise sees the prefix and itself, and its positions go on from the prefix's, so that each is as if it stood alone.
Several exercises share a chunk, and no exercise is in two: attention costs as little as can be.
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
FIRST, LATER, END = 0, 1, 2
LETTERS = "ABCDE"
FIRST_PATCH = 2
"""The first image token's place in a row, after ``<s><|user|>``."""
_NOBODY = -1
_BLOCKED = -1e4
_LEAST, _MULTIPLE = 64, 8  # tokens of a chunk
_LABELS = {
    "replies": 3,
    "letters": 2,
    "options": 2,
    "words": 1 + len(WORDS),
    "spots": 2,
    "counted": 2,
    "marks": 2,
    "matches": 2,
}
"""What is asked at places, and the numbers that say it, the place included."""


@dataclass(slots=True)
class Batch:
    """One step's tensors. A place is chunk * length + position in the flattened (chunks, length) tokens.

    pixels (lessons, 3, side, side) in -1..1; patches (lessons, labels, patches); prefix (lessons, 2 + patches) tokens;
    lessons (chunks,): whose chunk it is; tokens, positions (chunks, length); mask (chunks, 1, length, prefix + length),
    added to attention scores; replies: (3, n) places, the tokens that follow, and which part of a reply they are
    (`FIRST`, `LATER`, `END`); letters: (2, n) places and the right option's place in `LETTERS`; options: (2, n) places
    and 0 or 1; words: (1 + slots, n) places and classes; spots: (2, n) places and patches; counted: (2, n) places and
    places in the prefix, those of what is counted and the first one; marks: (2, n) places of options' ends and their
    letters; matches: (2, n) places of the words before a letter that a reply says, and the places of its option's end.
    """

    pixels: torch.Tensor
    patches: torch.Tensor
    prefix: torch.Tensor | None = None
    lessons: torch.Tensor | None = None
    tokens: torch.Tensor | None = None
    positions: torch.Tensor | None = None
    mask: torch.Tensor | None = None
    replies: torch.Tensor | None = None
    letters: torch.Tensor | None = None
    options: torch.Tensor | None = None
    words: torch.Tensor | None = None
    spots: torch.Tensor | None = None
    counted: torch.Tensor | None = None
    marks: torch.Tensor | None = None
    matches: torch.Tensor | None = None
    more: Batch | None = None

    def to(self, device: str) -> Batch:
        values = (getattr(self, column.name) for column in fields(self))
        return Batch(*(None if value is None else value.to(device) for value in values))


@dataclass(slots=True)
class _Text:
    """One exercise, or the exercises of a chunk; labels are at places within it."""

    tokens: list[int] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    replies: list[tuple[int, ...]] = field(default_factory=list)
    letters: list[tuple[int, ...]] = field(default_factory=list)
    options: list[tuple[int, ...]] = field(default_factory=list)
    words: list[tuple[int, ...]] = field(default_factory=list)
    spots: list[tuple[int, ...]] = field(default_factory=list)
    counted: list[tuple[int, ...]] = field(default_factory=list)
    marks: list[tuple[int, ...]] = field(default_factory=list)
    matches: list[tuple[int, ...]] = field(default_factory=list)

    def add(self, other: _Text) -> None:
        start = len(self.tokens)
        self.tokens += other.tokens
        self.owners += other.owners
        self.positions += other.positions
        for name in _LABELS:
            moved = ((start + place, *labels) for place, *labels in getattr(other, name))
            if name == "matches":
                moved = ((place, start + end) for place, end in moved)
            getattr(self, name).extend(moved)


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

    def batch(self, lessons: Sequence[Lesson], more: Sequence[Lesson] = ()) -> Batch:
        """A batch of pictures with their exercises, and of ``more`` pictures alone."""
        made = self.pictures(lessons)
        made.more = self.pictures(more) if more else None
        texts = [self._texts(lesson) for lesson in lessons]
        longest = max((len(text.tokens) for of_lesson in texts for text in of_lesson), default=1)
        length = -(-max(longest, _LEAST) // _MULTIPLE) * _MULTIPLE
        chunks = [(number, chunk) for number, of in enumerate(texts) for chunk in _chunks(of, length)]

        def padded(name: str, fill: int) -> torch.Tensor:
            rows = (getattr(chunk, name) for _, chunk in chunks)
            return torch.tensor([row + [fill] * (length - len(row)) for row in rows])

        for name, width in _LABELS.items():
            found = [
                (number * length + place, *labels)
                for number, (_, chunk) in enumerate(chunks)
                for place, *labels in getattr(chunk, name)
            ]
            setattr(made, name, torch.tensor(found, dtype=torch.long).reshape(-1, width).T)
        images = self.grid**2
        made.prefix = torch.tensor([[self.tokenizer.bos_token_id, self.user] + [self.image] * images] * len(lessons))
        made.lessons = torch.tensor([number for number, _ in chunks])
        made.tokens, made.positions = padded("tokens", self.pad), padded("positions", 0)
        seen = torch.tensor([lesson.pixels is not None for lesson in lessons])[made.lessons]
        made.mask = attention_mask(padded("owners", _NOBODY), seen, images)
        return made

    def _texts(self, lesson: Lesson) -> list[_Text]:
        first = FIRST_PATCH if lesson.pixels is None else FIRST_PATCH + self.grid**2
        return [self._text(exercise, number, first) for number, exercise in enumerate(lesson.exercises)]

    def _text(self, exercise: Exercise, owner: int, first: int) -> _Text:
        encoded = self.tokenizer(exercise.prompt, add_special_tokens=False, return_offsets_mapping=True)
        made = _Text(tokens=list(encoded["input_ids"]))
        ends = [end for _, end in encoded["offset_mapping"]]

        def after(character: int) -> int:
            """The place of the token that holds this character."""
            return next(place for place, end in enumerate(ends) if end > character)

        if exercise.letter:
            made.letters.append((len(made.tokens), LETTERS.index(exercise.letter)))
        marks = {letter: after(end) for end, letter in exercise.marks}
        made.marks = [(place, LETTERS.index(letter)) for letter, place in marks.items()]
        if exercise.reply:
            self._reply(exercise, made, marks)
        made.owners = [owner] * len(made.tokens)
        made.positions = list(range(first, first + len(made.tokens)))
        made.options = [(after(end), int(right)) for end, right in exercise.options]
        if exercise.words:
            made.words.append((after(exercise.stem), *(exercise.words.get(slot, NO_LABEL) for slot in WORDS)))
        made.spots = [(after(end) - 1, self._patch(x, y)) for end, x, y in exercise.places]
        if exercise.counted is not None:
            end, found = exercise.counted
            made.counted = [(after(end) - 1, 0), *((after(end) - 1, FIRST_PATCH + self._patch(x, y)) for x, y in found)]
        return made

    def _reply(self, exercise: Exercise, made: _Text, marks: dict[str, int]) -> None:
        marked = {self.tokenizer.convert_tokens_to_ids(f"Ġ{letter}"): place for letter, place in marks.items()}
        made.tokens.append(self.assistant)
        part = FIRST
        for text, taught in exercise.reply:
            for token in self.tokenizer(text, add_special_tokens=False)["input_ids"]:
                if taught:
                    made.replies.append((len(made.tokens) - 1, token, part))
                    if part == LATER and token in marked:
                        made.matches.append((len(made.tokens) - 1, marked[token]))
                made.tokens.append(token)
                part = LATER
        made.replies.append((len(made.tokens) - 1, self.end, END))
        made.tokens.append(self.end)

    def _patch(self, x: float, y: float) -> int:
        """The patch, counted in rows, at these shares of the picture's width and height."""
        column, row = (min(int(share * self.grid), self.grid - 1) for share in (x, y))
        return row * self.grid + column


def _chunks(texts: Sequence[_Text], length: int) -> list[_Text]:
    """The texts in as few chunks as first-fit finds, the longest first."""
    chunks: list[_Text] = []
    for text in sorted(texts, key=lambda text: -len(text.tokens)):
        chunk = next((chunk for chunk in chunks if len(chunk.tokens) + len(text.tokens) <= length), None)
        if chunk is None:
            chunk = _Text()
            chunks.append(chunk)
        chunk.add(text)
    return chunks


def attention_mask(owners: torch.Tensor, seen: torch.Tensor, images: int) -> torch.Tensor:
    """From owners (chunks, length) and whether a chunk's picture is seen (chunks,) to (chunks, 1, length, prefix +
    length): a token sees the prefix, its image tokens only where the picture is seen, and what of its owner's is not
    after it."""
    count, length = owners.shape
    prefix = torch.ones(count, length, FIRST_PATCH + images, dtype=torch.bool)
    prefix[~seen, :, FIRST_PATCH:] = False
    own = (owners[:, :, None] == owners[:, None, :]) & torch.ones(length, length, dtype=torch.bool).tril()
    visible = torch.cat([prefix, own], dim=2)
    return torch.zeros(visible.shape).masked_fill_(~visible, _BLOCKED)[:, None]
