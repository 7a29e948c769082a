"""The prompts of each image of a question set: their lengths, which decide the FLOPs that they need (`floor`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from bench.throughput.floor import Group
from known_unknowns.images import open_image
from known_unknowns.records import Turn


def groups(processor: Any, turns: Sequence[Turn], folder: Path) -> list[Group]:
    """One group for each image, with as long a shared prefix as its prompts have."""
    by_image: dict[Any, list[Turn]] = defaultdict(list)
    for turn in turns:
        by_image[turn.images].append(turn)
    found = []
    for images, asked in by_image.items():
        image = processor.image_processor(open_image(images[0], folder), return_tensors="pt")
        rows, columns = image["image_grid_thw"][0, 1:].tolist()
        more = rows * columns // processor.image_processor.merge_size**2 - 1
        prompts = [_prompt_tokens(processor, turn.text) for turn in asked]
        shared = _common_prefix(prompts)
        found.append(Group((rows, columns), shared + more, tuple(len(prompt) - shared for prompt in prompts)))
    return found


def _prompt_tokens(processor: Any, text: str) -> list[int]:
    """With one token for the image."""
    content = [{"type": "image"}, {"type": "text", "text": text}]
    rendered = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    return processor.tokenizer(rendered)["input_ids"]


def _common_prefix(prompts: Sequence[Sequence[int]]) -> int:
    """Tokens that all begin with, leaving each at least one of its own."""
    shortest = min(map(len, prompts)) - 1
    alike = takewhile(lambda place: len({prompt[place] for prompt in prompts}) == 1, range(shortest))
    return sum(1 for _ in alike)
