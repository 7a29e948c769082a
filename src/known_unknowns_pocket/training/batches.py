"""Batches of samples: an image is encoded once, and its prompts follow in chunks of some tens of tokens.

A sample is ``<s><|user|><image>...`` (the prefix) and, for each prompt, ``prompt<|assistant|>reply</s>``. A
prompt attends to the prefix and to itself, and its positions continue those of the prefix, so that it is computed
as if it were the only one. A prefix may hold several images with texts between them, as ActiView's prompts do.
Several prompts share a chunk, and no prompt is split.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast

from known_unknowns_pocket.scenes import COLOURS
from known_unknowns_pocket.training.architecture import ASSISTANT, EOS, IMAGE, PAD, USER
from known_unknowns_pocket.training.colours import mixtures
from known_unknowns_pocket.training.prompts import WORDS, TrainingPrompt
from known_unknowns_pocket.training.samples import IMAGE_PLACE, TrainingSample

NO_LABEL = -100
FIRST, LATER, END = 0, 1, 2
LETTERS = "ABCDE"
SINK = 0
"""The position in the prefix for attention without a target: ``<s>``."""
_NO_OWNER = -1
_BLOCKED = -1e4
_LEAST, _MULTIPLE = 64, 8  # tokens of a chunk
LABELS = {
    "replies": 3,  # places, next tokens, and the part of the reply (`FIRST`, `LATER`, `END`)
    "letters": 2,  # places, and the index of the right option in `LETTERS`
    "options": 2,  # places, and 0 or 1
    "words": 1 + len(WORDS),  # places and classes
    "spots": 2,  # places, and the patch at the object's centre in its image, or -1
    "counted": 2,  # places, and positions in the prefix: those of the counted objects and `SINK`
    "marks": 2,  # places of the ends of options, and their letters
    "matches": 2,  # places of the words before a letter in a reply, and the places of its option's end
    "choices": 2,  # the same for replies that begin with the letter
    "held_out_words": 2,  # places of ``replies``, and tokens that are excluded there
    "held_out_classes": 2,  # places of ``words``, and classes that are excluded there, numbered through all slots
}
"""The labels of a batch, each a tensor of so many rows."""


@dataclass(slots=True)
class ImageBatch:
    """The images of one step."""

    pixels: torch.Tensor  # (images, 3, side, side): from -1 to 1
    patches: torch.Tensor  # (images, labels, patches): labels of the patches


@dataclass(slots=True)
class Batch(ImageBatch):
    """The tensors of one step with prompts.

    A place is chunk * length + position in the flattened (chunks, length) tokens.
    """

    prefix: torch.Tensor  # (samples, longest): tokens
    samples: torch.Tensor  # (chunks,): the sample of each chunk
    # (chunks, length): tokens and their positions
    tokens: torch.Tensor
    positions: torch.Tensor
    mask: torch.Tensor  # (chunks, 1, length, prefix + length): added to attention scores
    shown: torch.Tensor  # (n, prefix): whether the object of a spot is shown there
    # (samples, colours): the token of each colour; those after the vocabulary are stand-ins
    # (`known_unknowns_pocket.training.colours`)
    names: torch.Tensor
    mixed: torch.Tensor  # (stand-ins, colours): weights of the colours in the stand-ins
    labels: dict[str, torch.Tensor]  # (rows, n): `LABELS` by name; the first row has places


@dataclass(slots=True)
class _Text:
    """One prompt, or the prompts of a chunk; labels are at positions within it."""

    tokens: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    shown: list[tuple[int, ...]] = field(default_factory=list)
    labels: dict[str, list[tuple[int, ...]]] = field(default_factory=lambda: {name: [] for name in LABELS})

    def after(self, character: int) -> int:
        """Return the position of the prompt's token that contains this character."""
        return next(place for place, end in enumerate(self.ends) if end > character)

    def rename(self, names: Mapping[int, int]) -> None:
        """Replace the tokens of colours. A pair with a stand-in is no held-out pair, so nothing is excluded."""
        self.tokens = [names.get(token, token) for token in self.tokens]
        replies = self.labels["replies"]
        self.labels["replies"] = [(place, names.get(token, token), part) for place, token, part in replies]
        self.labels["held_out_words"] = []
        self.labels["held_out_classes"] = []

    def add(self, other: _Text) -> None:
        start = len(self.tokens)
        self.tokens += other.tokens
        self.shown += other.shown
        self.owners += other.owners
        self.positions += other.positions
        for name, found in other.labels.items():
            moved = ((start + place, *labels) for place, *labels in found)
            if name in ("matches", "choices"):
                moved = ((place, start + end) for place, end in moved)
            self.labels[name].extend(moved)


_CLASSES = {word: place for place, word in enumerate(word for words in WORDS.values() for word in words)}
"""Index of each word among those of all slots."""


class Packer:
    """Makes batches. ``grid`` is the number of patches along a side."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, grid: int) -> None:
        self.tokenizer: Any = tokenizer
        self.grid = grid
        self.colours = self._ids(f"Ġ{colour}" for colour in COLOURS)
        self.pad, self.image, self.user, self.assistant, self.end = self._ids((PAD, IMAGE, USER, ASSISTANT, EOS))

    def _ids(self, tokens: Iterable[str]) -> list[int]:
        found: list[int] = self.tokenizer.convert_tokens_to_ids(list(tokens))
        return found

    def images(self, samples: Sequence[TrainingSample]) -> ImageBatch:
        """Return a batch of images without prompts."""
        pixels = np.concatenate([sample.pixels for sample in samples])
        scaled = torch.from_numpy(pixels).permute(0, 3, 1, 2).float().div_(127.5).sub_(1.0)
        return ImageBatch(scaled, torch.from_numpy(np.concatenate([sample.patches for sample in samples])))

    def batch(self, samples: Sequence[TrainingSample], rng: random.Random) -> Batch:
        """Return a batch of images with their prompts; only the stand-ins for colours come from ``rng``."""
        images = self.images(samples)
        prefixes = [self._prefix(sample) for sample in samples]
        texts = [self._texts(sample, prefix) for sample, prefix in zip(samples, prefixes, strict=True)]
        longest = max((len(text.tokens) for of_sample in texts for text in of_sample), default=1)
        length = -(-max(longest, _LEAST) // _MULTIPLE) * _MULTIPLE
        chunks = [(number, chunk) for number, of in enumerate(texts) for chunk in _chunks(of, length)]

        def padded(name: str, fill: int) -> torch.Tensor:
            rows = (getattr(chunk, name) for _, chunk in chunks)
            return torch.tensor([row + [fill] * (length - len(row)) for row in rows])

        labels: dict[str, torch.Tensor] = {}
        for name, width in LABELS.items():
            found = [
                (number * length + place, *of_place)
                for number, (_, chunk) in enumerate(chunks)
                for place, *of_place in chunk.labels[name]
            ]
            labels[name] = torch.tensor(found, dtype=torch.long).reshape(-1, width).T
        before = max(map(len, prefixes))
        prefix = torch.tensor([tokens + [self.pad] * (before - len(tokens)) for tokens in prefixes])
        of_chunks = torch.tensor([number for number, _ in chunks])
        is_prefix = prefix.ne(self.pad)
        return Batch(
            images.pixels,
            images.patches,
            prefix=prefix,
            samples=of_chunks,
            tokens=padded("tokens", self.pad),
            positions=padded("positions", 0),
            mask=attention_mask(padded("owners", _NO_OWNER), is_prefix[of_chunks]),
            shown=_marked([places for _, chunk in chunks for places in chunk.shown], before),
            names=torch.tensor([self._names(sample) for sample in samples]),
            mixed=mixtures(rng),
            labels=labels,
        )

    def _names(self, sample: TrainingSample) -> list[int]:
        """Return the token of each colour."""
        return [len(self.tokenizer) + name for name in sample.names] or self.colours

    def _prefix(self, sample: TrainingSample) -> list[int]:
        tokens = [self.tokenizer.bos_token_id, self.user]
        for piece in sample.prefix:
            if piece is IMAGE_PLACE:
                tokens += [self.image] * self.grid**2
            else:
                tokens += self.tokenizer(piece.strip(), add_special_tokens=False)["input_ids"]
        return tokens

    def _texts(self, sample: TrainingSample, prefix: list[int]) -> list[_Text]:
        patches = [place for place, token in enumerate(prefix) if token == self.image]
        made = (self._text(one, number, len(prefix)) for number, one in enumerate(sample.prompts))
        seen = [self._see(text, one, sample, patches) for text, one in zip(made, sample.prompts, strict=True)]
        if sample.names:
            names = dict(zip(self.colours, self._names(sample), strict=True))
            for text in seen:
                text.rename(names)
        return seen

    def _text(self, training_prompt: TrainingPrompt, owner: int, first: int) -> _Text:
        encoded = self.tokenizer(training_prompt.prompt, add_special_tokens=False, return_offsets_mapping=True)
        made = _Text(tokens=list(encoded["input_ids"]))
        made.ends = [end for _, end in encoded["offset_mapping"]]
        if training_prompt.letter:
            made.labels["letters"].append((len(made.tokens), LETTERS.index(training_prompt.letter)))
        marks = {letter: made.after(end) for end, letter in training_prompt.marks}
        made.labels["marks"] = [(place, LETTERS.index(letter)) for letter, place in marks.items() if letter in LETTERS]
        if training_prompt.reply:
            self._reply(training_prompt, made, marks)
        made.owners = [owner] * len(made.tokens)
        made.positions = list(range(first, first + len(made.tokens)))
        made.labels["options"] = [(made.after(end), int(right)) for end, right in training_prompt.options]
        if training_prompt.words:
            made.labels["held_out_classes"] = [
                (made.after(training_prompt.stem), _CLASSES[word]) for word in training_prompt.held_out_words
            ]
            made.labels["words"].append(
                (made.after(training_prompt.stem), *(training_prompt.words.get(slot, NO_LABEL) for slot in WORDS))
            )
        return made

    def _see(self, made: _Text, training_prompt: TrainingPrompt, sample: TrainingSample, patches: list[int]) -> _Text:
        """Add the labels that refer to patches; ``patches`` are their positions in the prefix."""
        for end, ids in training_prompt.places:
            shown = [patches[patch] for index in ids for patch in sample.shown[index]]
            if shown:
                images = {patches.index(place) // self.grid**2 for place in shown}
                middle = sample.anchors[ids[0]] % self.grid**2 if len(ids) == len(images) == 1 else -1
                made.labels["spots"].append((made.after(end) - 1, middle))
                made.shown.append(tuple(shown))
        if training_prompt.counted is not None:
            end, ids = training_prompt.counted
            anchors = [sample.anchors[index] for index in ids if sample.anchors[index] >= 0]
            made.labels["counted"] = [
                (made.after(end) - 1, place) for place in (SINK, *(patches[patch] for patch in anchors))
            ]
        return made

    def _reply(self, training_prompt: TrainingPrompt, made: _Text, marks: dict[str, int]) -> None:
        first = len(made.tokens)
        made.labels["held_out_words"] = [
            (first, self.tokenizer.convert_tokens_to_ids(f"Ġ{word}")) for word in training_prompt.held_out_words
        ]
        forms = {letter: (letter, f"Ġ{letter}") for letter in marks}
        marked = {self.tokenizer.convert_tokens_to_ids(form): marks[k] for k in forms for form in forms[k]}
        made.tokens.append(self.assistant)
        part = FIRST
        for text, taught in training_prompt.reply:
            for token in self.tokenizer(text, add_special_tokens=False)["input_ids"]:
                if taught:
                    made.labels["replies"].append((len(made.tokens) - 1, token, part))
                    if token in marked:
                        (made.labels["choices"] if part == FIRST else made.labels["matches"]).append(
                            (len(made.tokens) - 1, marked[token])
                        )
                made.tokens.append(token)
                part = LATER
        made.labels["replies"].append((len(made.tokens) - 1, self.end, END))
        made.tokens.append(self.end)


def _chunks(texts: Sequence[_Text], length: int) -> list[_Text]:
    """Pack texts into chunks by first-fit, the longest first."""
    chunks: list[_Text] = []
    for text in sorted(texts, key=lambda text: -len(text.tokens)):
        chunk = next((chunk for chunk in chunks if len(chunk.tokens) + len(text.tokens) <= length), None)
        if chunk is None:
            chunk = _Text()
            chunks.append(chunk)
        chunk.add(text)
    return chunks


def _marked(rows: Sequence[Sequence[int]], width: int) -> torch.Tensor:
    """Return whether each place is in the row: (rows, width)."""
    marked = torch.zeros(len(rows), width, dtype=torch.bool)
    for number, places in enumerate(rows):
        marked[number, list(places)] = True
    return marked


def attention_mask(owners: torch.Tensor, prefix: torch.Tensor) -> torch.Tensor:
    """Return the mask from owners (chunks, length) and the valid positions of the prefix (chunks, prefix).

    A token attends to the prefix and to earlier tokens of its owner. The shape is (chunks, 1, length, prefix +
    length).
    """
    length = owners.shape[1]
    own = (owners[:, :, None] == owners[:, None, :]) & torch.ones(length, length, dtype=torch.bool).tril()
    visible = torch.cat([prefix[:, None].expand(-1, length, -1), own], dim=2)
    return torch.zeros(visible.shape).masked_fill_(~visible, _BLOCKED)[:, None]
