"""Prompts: a prefix with its images, which other prompts may share, and the tokens after it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import BatchFeature

SEQUENCES = ("input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids", "cross_attention_mask")
"""The processor's tensors of shape (rows, tokens, ...). All others belong to the images."""


class Tensors(dict[str, torch.Tensor]):
    """The processor's output for one prompt.

    Attributes
    ----------
    units : Any
        The tensors of each image, with their digests, once `encoder.ImageEncoder` has computed them.
    """

    units: Any = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt.

    Attributes
    ----------
    ids : tuple of int
        The prompt's tokens.
    prefix_length : int
        Number of tokens of the prefix. Prompts with the same ``head`` share their first ``prefix_length`` tokens.
    head : hashable
        Identifies the prefix and its images.
    images : tuple of str
        A digest of each image.
    tensors : Tensors
        The processor's output (1 row) for the prefix, or for one of the prompts with this head.
    """

    ids: tuple[int, ...]
    prefix_length: int
    head: Hashable
    images: tuple[str, ...]
    tensors: Tensors

    @property
    def suffix(self) -> tuple[int, ...]:
        """Return the tokens after the prefix."""
        return self.ids[self.prefix_length :]

    def prefix_inputs(self) -> dict[str, torch.Tensor]:
        """Return the processor's tensors of the prefix: those of the sequence are cut after its last token."""
        return {
            name: value[:, : self.prefix_length] if name in SEQUENCES else value for name, value in self.tensors.items()
        }

    def whole_inputs(self) -> BatchFeature:
        """Return the tensors of the whole prompt, as ``generate`` takes them. The suffix is text without images."""
        inputs: dict[str, torch.Tensor] = {}
        more = len(self.suffix)
        for name, value in self.prefix_inputs().items():
            if name == "input_ids":
                inputs[name] = torch.tensor([self.ids], device=value.device)
            elif name == "attention_mask":
                inputs[name] = pad(value, (0, more), value=1)
            elif name == "cross_attention_mask":  # later tokens attend to what the last one attends to
                inputs[name] = torch.cat([value, value[:, -1:].expand(-1, more, *value.shape[2:])], dim=1)
            elif name in SEQUENCES:
                inputs[name] = pad(value, (0, more))
            else:
                inputs[name] = value
        return BatchFeature(inputs)


def make_prompts(inputs: Mapping[str, torch.Tensor], suffixes: Iterable[Sequence[int]], *, images: int) -> list[Prompt]:
    """Return the prompts that begin with one prefix.

    Parameters
    ----------
    inputs : mapping
        The processor's tensors (1 row) for the prefix: the text up to its last image or longer, and all images.
    suffixes : iterable of sequence of int
        The tokens that follow the prefix in each prompt, at least one. They are text without images.
    images : int
        Number of images in the prefix.

    Raises
    ------
    ValueError
        A suffix is empty.
    """
    tensors = Tensors(inputs)
    prefix = tuple(tensors["input_ids"][0].tolist())
    name = digest(tensors).hex()
    prompts = [
        Prompt((*prefix, *suffix), len(prefix), name, tuple(f"{name}/{number}" for number in range(images)), tensors)
        for suffix in suffixes
    ]
    if any(not prompt.suffix for prompt in prompts):
        raise ValueError("a prompt has no token after its prefix")
    return prompts


def digest(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """Return the digest of some tensors: their names, types, sizes and values."""
    found = sha256()
    for name, value in sorted(tensors.items()):
        found.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        found.update(value.cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return found.digest()


def image_token_ids(model: Any) -> frozenset[int]:
    """Return the tokens that represent images in a model's prompts; none if its configuration does not name them."""
    for config in (model.config, getattr(model.config, "vision_config", None)):
        found = (getattr(config, name, None) for name in ("image_token_id", "image_token_index"))
        if tokens := frozenset(token for token in found if token is not None):
            return tokens
    return frozenset()


def special_token_ids(tokenizer: Any) -> frozenset[int]:
    """Return a tokenizer's special tokens."""
    added = (token for token, about in tokenizer.added_tokens_decoder.items() if about.special)
    return frozenset([*tokenizer.all_special_ids, *added])


def find_prefix_length(ids: Sequence[int], image_tokens: Collection[int], special_tokens: Collection[int]) -> int:
    """Return the number of tokens up to the last image and the special tokens that close it; 0 without images.

    It depends on the prompt only. After a special token the tokenizer starts anew, so that the text after the images
    cannot change the tokens before it. Added tokens that are not special may belong to that text.
    """
    last = max((place for place, token in enumerate(ids) if token in image_tokens), default=-1)
    cut = last + 1
    while cut and cut < len(ids) - 1 and ids[cut] in special_tokens:
        cut += 1
    return max(0, min(cut, len(ids) - 1))
