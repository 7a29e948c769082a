"""The prompts of the benchmark: random images and random questions, as the tensors that a processor would make.

There is no processor and no tokenizer, so that torch and transformers are enough. The layout is that of Qwen2.5-VL: a
system message, an image, and about 70 tokens for a question with five options.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from bench.throughput.floor import Group
from bench.throughput.random_model import Tokens
from prefix_sharing import Prompt, make_prompts

TOKENS = Tokens(letters=(0, 1, 2, 3, 4), end=5, pad=6, image=7, video=8, vision_start=9, vision_end=10)
START = 11
"""The token that begins a message."""
_WORDS = range(16, 2800)
SIZES = ((588, 476), (644, 476), (644, 420), (476, 644))
"""Width and height in pixels: 345 to 391 visual tokens of 28 x 28 pixels. HumbleBench's median is 594 x 473."""
SMALL_SIZES = ((112, 84), (84, 140))
_PATCH, _MERGE, _FRAMES = 14, 2, 2
_MEAN, _STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
_SYSTEM = (START, *_WORDS[:10])
_INSTRUCTION = _WORDS[10:30]
_CLOSING = (START, *_WORDS[30:33])


@dataclass(frozen=True, slots=True)
class Image:
    """An image: its ``pixels`` (3, height, width) as bytes."""

    pixels: torch.Tensor

    @property
    def grid(self) -> tuple[int, int]:
        """Return the rows and columns of its patches."""
        return self.pixels.shape[1] // _PATCH, self.pixels.shape[2] // _PATCH

    @property
    def tokens(self) -> int:
        rows, columns = self.grid
        return rows * columns // _MERGE**2


@dataclass(frozen=True, slots=True)
class PromptSet:
    """The prompts of a set in the order in which they are asked, grouped by image, and the image of each."""

    name: str
    prompts: tuple[Prompt, ...]
    images: tuple[Image, ...]

    def first(self, count: int) -> PromptSet:
        return PromptSet(self.name, self.prompts[:count], self.images[:count])

    def groups(self) -> list[Group]:
        """Return what decides the FLOPs that the set needs: the lengths of each image's prompts."""
        members: dict[object, list[int]] = {}
        for index, prompt in enumerate(self.prompts):
            members.setdefault(prompt.head, []).append(index)
        found = []
        for indices in members.values():
            suffixes = tuple(len(self.prompts[index].suffix) for index in indices)
            found.append(Group(self.images[indices[0]].grid, self.prompts[indices[0]].prefix_length, suffixes))
        return found


def patches(pixels: torch.Tensor) -> torch.Tensor:
    """Return an image's normalised patches (patches, values) in the order of Qwen2-VL's image processor."""
    mean, std = torch.tensor(_MEAN)[:, None, None], torch.tensor(_STD)[:, None, None]
    frame = (pixels.float() / 255 - mean) / std
    rows, columns = pixels.shape[1] // _PATCH, pixels.shape[2] // _PATCH
    frames = frame.expand(_FRAMES, *frame.shape)
    split = frames.reshape(_FRAMES, 3, rows // _MERGE, _MERGE, _PATCH, columns // _MERGE, _MERGE, _PATCH)
    return split.permute(2, 5, 3, 6, 1, 0, 4, 7).reshape(rows * columns, -1)


def question(draw: random.Random) -> list[int]:
    """Return the tokens of a question, of its five options, and of what follows them."""

    def words(count: int) -> list[int]:
        return draw.choices(_WORDS, k=count)

    tokens = words(max(5, round(draw.gauss(9, 2))))
    for letter in TOKENS.letters:
        tokens += [letter, *words(draw.choice([2, 3, 3, 4, 5]))]
    return [*tokens, *_INSTRUCTION, *_CLOSING]


def _prompts_of(image: Image, questions: Sequence[Sequence[int]]) -> list[Prompt]:
    shown = [TOKENS.vision_start, *[TOKENS.image] * image.tokens, TOKENS.vision_end]
    ids = torch.tensor([[*_SYSTEM, *shown]])
    inputs = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "mm_token_type_ids": (ids == TOKENS.image).long(),
        "pixel_values": patches(image.pixels),
        "image_grid_thw": torch.tensor([[1, *image.grid]]),
    }
    return make_prompts(inputs, questions, images=1)


def _set(name: str, images: Sequence[Image], each: int, draw: random.Random) -> PromptSet:
    prompts: list[Prompt] = []
    for image in images:
        prompts += _prompts_of(image, [question(draw) for _ in range(each)])
    return PromptSet(name, tuple(prompts), tuple(image for image in images for _ in range(each)))


def _smooth(size: tuple[int, int], generator: torch.Generator) -> Image:
    width, height = size
    coarse = torch.rand(1, 3, height // 40, width // 40, generator=generator) * 255
    smooth = torch.nn.functional.interpolate(coarse, (height, width), mode="bicubic").clamp(0, 255)
    return Image(smooth[0].to(torch.uint8))


def _noise(size: tuple[int, int], generator: torch.Generator) -> Image:
    width, height = size
    return Image(torch.randint(256, (3, height, width), generator=generator, dtype=torch.uint8))


def prompt_set(
    kind: str, *, images: int, noise_questions: int, sizes: Sequence[tuple[int, int]], seed: int
) -> PromptSet:
    """Return a set of one ``kind``, a key of `KINDS`. Another ``seed`` gives other images and questions.

    Parameters
    ----------
    images : int
        In the set with five questions an image; the set with one question an image has twice as many.
    noise_questions : int
        About the one noise image.
    sizes : sequence of (int, int)
        Width and height of the images, multiples of 28.
    """
    place = list(KINDS).index(kind)
    generator, draw = torch.Generator().manual_seed(1000 * seed + place), random.Random(1000 * seed + place)
    if kind == "noise":
        return _set(KINDS[kind], [_noise(sizes[0], generator)], noise_questions, draw)
    count, each = (images, 5) if kind == "questions" else (2 * images, 1)
    shown = [_smooth(sizes[number % len(sizes)], generator) for number in range(count)]
    return _set(KINDS[kind], shown, each, draw)


KINDS = {"questions": "5 questions an image", "noise": "one noise image", "single": "1 question an image"}
"""The sets, and their names in the table."""
