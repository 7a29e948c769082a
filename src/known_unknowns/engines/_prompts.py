"""Turns as the processor's tensors, made ahead of the model, each picture decoded and preprocessed once."""

from __future__ import annotations

import copy
import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import torch

from known_unknowns.engines._checkpoint import Checkpoint
from known_unknowns.errors import KnownUnknownsError
from known_unknowns.images import open_image
from known_unknowns.records import Image, Turn

SEQUENCES = ("input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids", "cross_attention_mask")
"""The processor's tensors of shape (rows, tokens, ...); all others belong to the pictures."""
_TYPES = frozenset({"token_type_ids", "mm_token_type_ids"})

_DECODERS = min(4, os.cpu_count() or 1)
_AHEAD = 1
"""Chunks that are made beside the one that is made and the one that is asked: their pictures take memory."""

Work = TypeVar("Work")
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One turn's prompt. ``head`` stands for all up to and with its last picture: prompts with the same head share
    their first ``cut`` tokens, and ``tensors``, the processor's output for one of them (1 row)."""

    ids: tuple[int, ...]
    cut: int
    head: Hashable
    pictures: tuple[str, ...]
    tensors: Mapping[str, torch.Tensor]


def head(turn: Turn) -> tuple[Hashable, ...]:
    """What of a turn comes up to and with its last picture; () where it has none."""
    last = max((place for place, part in enumerate(turn.content) if isinstance(part, Image)), default=-1)
    return tuple(part if isinstance(part, str) else part.sha256 for part in turn.content[: last + 1])


class Unaskable(KnownUnknownsError):
    """This checkpoint's processor can make no prompt of a turn."""


class _Head:
    """What some prompts begin with: its ``ids``, and the processor's ``tensors`` for one of the prompts."""

    def __init__(self, ids: tuple[int, ...], tensors: Mapping[str, torch.Tensor]) -> None:
        self.ids, self.tensors = ids, tensors
        self._read: tuple[int, ...] | None = None

    def learn(self, text: tuple[int, ...], cut: int, tail: tuple[int, ...]) -> None:
        """Of a prompt that the processor made: the tokens before it put in those of the pictures, which are believed
        of other prompts where what comes after the pictures is the same in both."""
        if cut and text[cut:] == tail:
            self._read = text[:cut]

    def tail(self, text: tuple[int, ...], cut: int) -> tuple[int, ...] | None:
        """What comes after this head in a prompt that begins with it; None where it may begin otherwise."""
        return text[cut:] if cut and text[:cut] == self._read else None


class Prompts:
    """Makes prompts with a checkpoint's processor. One thread at a time may use it."""

    def __init__(self, checkpoint: Checkpoint, system: str | None) -> None:
        self._system = system
        self._processor = checkpoint.processor
        self._tokenizer = checkpoint.tokenizer
        self._picture_tokens = picture_tokens(checkpoint)
        added = self._tokenizer.added_tokens_decoder.items()
        self._special = {*self._tokenizer.all_special_ids, *(token for token, about in added if about.special)}
        self._controls = _control_tokens(checkpoint)
        self._decoders = ThreadPoolExecutor(_DECODERS, thread_name_prefix="pictures")
        self._opened: dict[Image, Any] = {}
        self._names: frozenset[str] | None = None
        if not isinstance(self._processor.image_processor, _Once):
            self._processor.image_processor = _Once(self._processor.image_processor)

    def holds_control_token(self, turn: Turn) -> bool:
        """Whether a turn's text holds what the tokenizer or the processor would take for a command."""
        text = turn.text
        return any(token in text for token in self._controls)

    def objection(self, turn: Turn, folder: Path) -> str | None:
        """Why a turn whose text holds a control token cannot be asked; None where the token can be kept as text."""
        try:
            self._encode([turn], self._open([turn], folder))
        except Unaskable as error:
            return str(error)
        return None

    def batch(self, turns: Sequence[Turn], folder: Path) -> Any:
        """The processor's tensors for several turns, padded on the left."""
        return self._encode(turns, self._open(turns, folder))

    def each(self, turns: Sequence[Turn], folder: Path) -> list[Prompt]:
        """A prompt for each turn.

        The processor makes the first of those that begin alike; the others are its head and their own tail.
        """
        pictures = self._open(turns, folder)
        shared: dict[Hashable, _Head] = {}
        prompts = []
        for turn, text in zip(turns, self._read(turns, pictures), strict=True):
            key: Hashable = head(turn)
            begun = shared.get(key)
            if begun is None or (tail := begun.tail(text, self._cut(text))) is None:
                encoded = self._encode([turn], pictures)
                ids = tuple(encoded["input_ids"][0].tolist())
                cut = self._cut(ids)
                if begun is not None and begun.ids != ids[:cut]:
                    key = key, ids[:cut]  # what is before the question is no other's, whatever the tokenizer made of it
                begun = shared.setdefault(key, _Head(ids[:cut], dict(encoded)))
                begun.learn(text, self._cut(text), ids[cut:])
            else:
                ids = begun.ids + tail
            prompts.append(
                Prompt(ids, len(begun.ids), key, tuple(image.sha256 for image in turn.images), begun.tensors)
            )
        return prompts

    def _read(self, turns: Sequence[Turn], pictures: Mapping[Image, Any]) -> list[tuple[int, ...]]:
        """The tokens of each turn's prompt before the processor puts in as many as a picture takes; () where there is
        something in the text that only the processor can keep as text."""
        plain = [index for index, turn in enumerate(turns) if not self.holds_control_token(turn)]
        found: list[tuple[int, ...]] = [()] * len(turns)
        if len(plain) > 1:
            asked = [self._conversation(turns[index], pictures) for index in plain]
            texts = self._processor.apply_chat_template(asked, add_generation_prompt=True, tokenize=False)
            for index, ids in zip(plain, self._tokenizer(texts, add_special_tokens=False)["input_ids"], strict=True):
                found[index] = tuple(ids)
        return found

    def _cut(self, ids: Sequence[int]) -> int:
        """How many tokens come up to and with the last picture, and the special tokens that close it; 0 for none.

        It depends on nothing but the prompt itself. Behind a special token the tokenizer starts anew, so that what
        is asked after it cannot change the tokens before. Added tokens that are not special may be the question's.
        """
        last = max((place for place, token in enumerate(ids) if token in self._picture_tokens), default=-1)
        cut = last + 1
        while cut and cut < len(ids) - 1 and ids[cut] in self._special:
            cut += 1
        return max(0, min(cut, len(ids) - 1))

    def _open(self, turns: Iterable[Turn], folder: Path) -> dict[Image, Any]:
        images = list(dict.fromkeys(image for turn in turns for image in turn.images))
        new = [image for image in images if image not in self._opened]
        opened = self._decoders.map(lambda image: open_image(image, folder), new)
        found = self._opened | dict(zip(new, opened, strict=True))
        # One call's pictures are kept for the next: a picture with many questions is asked about again and again.
        self._opened = {image: found[image] for image in images}
        return self._opened

    def _encode(self, turns: Sequence[Turn], pictures: Mapping[Image, Any]) -> Any:
        # A question is data: an "<image>" or an end token in its text must stay text.
        sanitize = any(map(self.holds_control_token, turns))
        if sanitize and self._names is None:
            self._encode([replace(turns[0], content=(*turns[0].images, "?"))], pictures)
        try:
            encoded = self._processor.apply_chat_template(
                [self._conversation(turn, pictures) for turn in turns],
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
                sanitize_control_tokens=sanitize,
                processor_kwargs={"padding": True, "padding_side": "left"},
            )
        except (NotImplementedError, ValueError) as error:
            if not sanitize:
                raise
            raise _unaskable(str(error)) from error
        encoded.pop("labels", None)  # PaliGemma's processor makes them, for training
        if not sanitize:
            self._names = _TYPES & encoded.keys()
        elif lost := self._names - encoded.keys():
            raise _unaskable(f"{', '.join(sorted(lost))} would be lost")
        return encoded

    def _conversation(self, turn: Turn, pictures: Mapping[Image, Any]) -> list[dict[str, Any]]:
        content = [
            {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "image": pictures[part]}
            for part in turn.content
        ]
        system = [{"role": "system", "content": [{"type": "text", "text": self._system}]}] if self._system else []
        return [*system, {"role": "user", "content": content}]


def picture_tokens(checkpoint: Checkpoint) -> frozenset[int]:
    """The tokens that stand for pictures in a prompt; none where the checkpoint does not say."""
    for config in (checkpoint.model.config, getattr(checkpoint.model.config, "vision_config", None)):
        found = (getattr(config, name, None) for name in ("image_token_id", "image_token_index"))
        if tokens := frozenset(token for token in found if token is not None):
            return tokens
    return frozenset()


def _unaskable(why: str) -> Unaskable:
    return Unaskable(
        "the question's text holds one of the tokenizer's control tokens, and this checkpoint's processor cannot keep "
        f"it as text ({why})"
    )


def _control_tokens(checkpoint: Checkpoint) -> tuple[str, ...]:
    """What the tokenizer reads as one token of its own, and the chat template or the processor as a command: special
    tokens, and added ones that the template writes. Not so the ordinary words among them (Gemma's "\\n\\n", "<b>")."""
    tokenizer = checkpoint.tokenizer
    template = str(checkpoint.processor.chat_template or tokenizer.chat_template)
    added = tokenizer.added_tokens_decoder.values()
    found = [str(token) for token in added if token.special or (str(token).strip() and str(token) in template)]
    return tuple(dict.fromkeys([*tokenizer.all_special_tokens, *found]))


def ahead(make: Callable[[Work], Made], work: Iterable[Work], *, spare: bool) -> Iterator[tuple[Work, Made]]:
    """Each piece of work with what ``make`` gives for it, made in another thread while the caller is at the last.

    Without a ``spare`` core it is made when it is asked for: a thread beside a model that computes on all of a
    machine's cores holds up each of its operations (on two cores, a sixth of the whole time was lost).
    """
    if not spare:
        yield from ((piece, make(piece)) for piece in work)
        return
    waiting: deque[tuple[Work, Future[Made]]] = deque()
    maker = ThreadPoolExecutor(1, thread_name_prefix="prompts")
    try:
        for piece in work:
            waiting.append((piece, maker.submit(make, piece)))
            if len(waiting) > _AHEAD:
                piece, made = waiting.popleft()
                yield piece, made.result()
        while waiting:
            piece, made = waiting.popleft()
            yield piece, made.result()
    finally:
        maker.shutdown(wait=True, cancel_futures=True)


class _Once:
    """Stands in for a processor's image processor: pictures that come again, one call later, are not done again."""

    def __init__(self, image_processor: Any) -> None:
        self.__dict__.update(_real=image_processor, _asked=None, _pictures=(), _made=None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_real"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            self.__dict__[name] = value
        else:
            setattr(self._real, name, value)

    def __call__(self, images: Any, *args: Any, **kwargs: Any) -> Any:
        pictures = tuple(_flat(images))
        asked = tuple(map(id, pictures)), _shape(images), repr(args), repr(sorted(kwargs.items(), key=str))
        if asked != self._asked:
            made = self._real(images, *args, **kwargs)
            # The pictures are kept, so that another one cannot come to live at the same address.
            self._asked, self._pictures, self._made = asked, pictures, made
        again = copy.copy(self._made)
        again.data = dict(self._made.data)  # processors take entries out
        return again


def _flat(images: Any) -> Iterator[Any]:
    if isinstance(images, (list, tuple)):
        for image in images:
            yield from _flat(image)
    else:
        yield images


def _shape(images: Any) -> Any:
    return tuple(map(_shape, images)) if isinstance(images, (list, tuple)) else None
