"""Turns as the processor's tensors, prepared ahead of the model. Each image is decoded and preprocessed once."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

import torch

from known_unknowns.engines._checkpoint import Checkpoint
from known_unknowns.engines._pixels import CachingImageProcessor
from known_unknowns.engines.reference_prompt import REFERENCE, coarse
from known_unknowns.errors import KnownUnknownsError
from known_unknowns.images import open_image
from known_unknowns.records import Image, Turn
from prefix_sharing.prompts import Prompt, Tensors, find_prefix_length, image_token_ids, special_token_ids

_TYPES = frozenset({"token_type_ids", "mm_token_type_ids"})

_DECODER_THREADS = min(4, os.cpu_count() or 1)
_PREFETCHED = 1
"""Chunks prepared besides the one in preparation and the one in the model. Their images take memory."""

_SWITCH_SECONDS = 1e-4
_MAX_REASON = 300

Item = TypeVar("Item")
Result = TypeVar("Result")


def prompt_head(turn: Turn) -> tuple[Hashable, ...]:
    """Return the part of a turn up to and including its last image; () if it has no image."""
    last = max((place for place, part in enumerate(turn.content) if isinstance(part, Image)), default=-1)
    return tuple(part if isinstance(part, str) else part.sha256 for part in turn.content[: last + 1])


class PromptError(KnownUnknownsError):
    """The checkpoint's processor cannot build a prompt for a turn."""


class UnusableProcessorError(ValueError):
    """The processor makes no prompt of a question and its image that the engine can use."""


class _SharedHead:
    """The common beginning of some prompts: its ``ids``, and the processor's ``tensors`` for one of the prompts."""

    def __init__(self, ids: tuple[int, ...], tensors: Tensors) -> None:
        self.ids, self.tensors = ids, tensors
        self._read: tuple[int, ...] | None = None

    def learn(self, text: tuple[int, ...], cut: int, tail: tuple[int, ...]) -> None:
        """Record the head's tokens before the processor expands the images, from a prompt that the processor built.

        Other prompts may reuse them only if the part after the images is the same before and after the expansion.
        """
        if cut and text[cut:] == tail:
            self._read = text[:cut]

    def tail(self, text: tuple[int, ...], cut: int) -> tuple[int, ...] | None:
        """Return the part after this head of a prompt that begins with it; None if the prompt may begin otherwise."""
        return text[cut:] if cut and text[:cut] == self._read else None


class PromptBuilder:
    """Builds prompts with a checkpoint's processor. Not thread-safe."""

    def __init__(self, checkpoint: Checkpoint, system: str | None, template: Mapping[str, Any] | None = None) -> None:
        self._system = system
        self._template = dict(template or {})
        self._processor = checkpoint.processor
        self._tokenizer = checkpoint.tokenizer
        images, special = image_token_ids(checkpoint.model), special_token_ids(checkpoint.tokenizer)
        self._prefix_length = partial(find_prefix_length, image_tokens=images, special_tokens=special)
        self._image_tokens = images
        self._controls = _control_tokens(checkpoint)
        self.pool = ThreadPoolExecutor(_DECODER_THREADS, thread_name_prefix="images")
        self._opened: dict[Image, Any] = {}
        self._names: frozenset[str] | None = None
        # Some models take this tensor, and their processors name it but do not return it by default (Cosmos 3 Edge).
        types, named = "mm_token_type_ids", getattr(self._processor, "model_input_names", None) or ()
        taken = types in named and types in signature(checkpoint.model.forward).parameters
        self._types = {f"return_{types}": True} if taken else {}
        if not isinstance(self._processor.image_processor, CachingImageProcessor):
            self._processor.image_processor = CachingImageProcessor(self._processor.image_processor)

    def drops_system(self) -> bool:
        """Return whether the chat template writes the same prompt with and without the system text."""
        user = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "?"}]}]
        system = [{"role": "system", "content": [{"type": "text", "text": self._system}]}]
        try:
            texts = [self._render(conversation) for conversation in (user, [*system, *user])]
        except Exception:  # the first question explains why it cannot be asked
            return False
        return texts[0] == texts[1]

    def render(self, turn: Turn, *, reply: str | None = None) -> str:
        """Return a turn's prompt as text, or the prompt with the beginning of a ``reply``, as the template writes it.

        A template that writes no replies is followed by a space and the text.
        """
        conversation = self._conversation(turn, dict.fromkeys(turn.images))
        if reply is None:
            return self._render(conversation)
        assistant = {"role": "assistant", "content": [{"type": "text", "text": reply}]}
        try:
            return self._render([*conversation, assistant], add_generation_prompt=False, continue_final_message=True)
        except Exception:  # templates raise errors of many types, and some leave out the reply
            prompt = self._render(conversation)
            return prompt + reply if prompt[-1:].isspace() else f"{prompt} {reply}"

    def _render(self, conversation: Any, **settings: Any) -> str:
        settings = {"add_generation_prompt": True} | settings
        rendered = self._processor.apply_chat_template(conversation, tokenize=False, **settings, **self._template)
        return str(rendered)

    def reference(self) -> dict[str, Any]:
        """Render a fixed question about a fixed image as a model is asked it (see `RendersReference`)."""
        turn = REFERENCE
        images = self._open_images([turn], Path())
        encoded = self._encode([turn], images)
        ids = encoded["input_ids"][0].tolist()
        shown = sum(token in self._image_tokens for token in ids)
        return {
            "text": self._render(self._conversation(turn, images)),
            "tokens": len(ids) - shown,
            "image_tokens": shown if self._image_tokens else None,
            "pixels": {name: coarse(value.double().numpy()) for name, value in encoded.items() if _is_pixels(value)},
        }

    def has_control_token(self, text: str) -> bool:
        """Return whether a text contains a token that the tokenizer or the processor interprets as a command."""
        return any(token in text for token in self._controls)

    def rejection_reason(self, turn: Turn, folder: Path) -> str | None:
        """Return why a turn with a control token in its text cannot be asked; None if the token can be kept as text."""
        try:
            self._encode([turn], self._open_images([turn], folder))
        except PromptError as error:
            return str(error)
        return None

    def failure(self, turn: Turn, folder: Path) -> str | None:
        """Return why the processor cannot prepare a turn; None if it can."""
        try:
            self.build_batch([turn], folder)
        except (KnownUnknownsError, OSError, MemoryError):
            raise
        except Exception as error:  # processors raise errors of many types
            return f"{type(error).__name__}: {' '.join(str(error).split())[:_MAX_REASON]}"
        return None

    def build_batch(self, turns: Sequence[Turn], folder: Path) -> Any:
        """Return the processor's tensors for several turns, padded on the left."""
        return self._encode(turns, self._open_images(turns, folder))

    def build_batch_or_each(self, turns: Sequence[Turn], folder: Path) -> Any:
        """Return the tensors of a batch, or a list of those of each turn if the processor cannot make a batch."""
        try:
            return self.build_batch(turns, folder)
        except (ValueError, TypeError):  # some cannot stack images with unequal numbers of tiles
            if len(turns) == 1:
                raise
            return [self.build_batch([turn], folder) for turn in turns]

    def build(self, turns: Sequence[Turn], folder: Path) -> list[Prompt]:
        """Build a prompt for each turn.

        The processor builds the first prompt of each head. The others consist of that head and their own tokens.
        """
        images = self._open_images(turns, folder)
        shared: dict[Hashable, _SharedHead] = {}
        self._processor.image_processor.start(images.values(), self.pool)
        prompts = []
        for turn, text in zip(turns, self._tokenize(turns, images), strict=True):
            key: Hashable = prompt_head(turn)
            begun = shared.get(key)
            if begun is None or (tail := begun.tail(text, self._prefix_length(text))) is None:
                encoded = self._encode([turn], images)
                ids = tuple(encoded["input_ids"][0].tolist())
                cut = self._prefix_length(ids)
                if begun is not None and begun.ids != ids[:cut]:
                    key = key, ids[:cut]  # the tokenizer produced another prefix: share it with no other prompt
                begun = shared.setdefault(key, _SharedHead(ids[:cut], Tensors(encoded)))
                begun.learn(text, self._prefix_length(text), ids[cut:])
            else:
                ids = begun.ids + tail
            prompts.append(
                Prompt(ids, len(begun.ids), key, tuple(image.sha256 for image in turn.images), begun.tensors)
            )
        return prompts

    def _tokenize(self, turns: Sequence[Turn], images: Mapping[Image, Any]) -> list[tuple[int, ...]]:
        """Return each prompt's tokens before the processor expands the images.

        The result is () for turns whose text only the processor can keep as text.
        """
        plain = [index for index, turn in enumerate(turns) if not self.has_control_token(turn.text)]
        found: list[tuple[int, ...]] = [()] * len(turns)
        if len(plain) > 1:
            conversations = [self._conversation(turns[index], images) for index in plain]
            texts = self._processor.apply_chat_template(
                conversations, add_generation_prompt=True, tokenize=False, **self._template
            )
            for index, ids in zip(plain, self._tokenizer(texts, add_special_tokens=False)["input_ids"], strict=True):
                found[index] = tuple(ids)
        return found

    def _open_images(self, turns: Iterable[Turn], folder: Path) -> dict[Image, Any]:
        images = list(dict.fromkeys(image for turn in turns for image in turn.images))
        new = [image for image in images if image not in self._opened]
        opened = self.pool.map(lambda image: open_image(image, folder), new)
        found = self._opened | dict(zip(new, opened, strict=True))
        # One call's images are kept for the next, because consecutive chunks often share an image.
        self._opened = opened_now = {image: found[image] for image in images}
        self._processor.image_processor.name({image.sha256: opened for image, opened in opened_now.items()})
        return opened_now

    def _encode(self, turns: Sequence[Turn], images: Mapping[Image, Any]) -> Any:
        # A question is data: an "<image>" or an end token in its text must stay text.
        sanitize = any(self.has_control_token(turn.text) for turn in turns)
        if sanitize and self._names is None:
            self._encode([replace(turns[0], content=(*turns[0].images, "?"))], images)
        conversations = [self._conversation(turn, images) for turn in turns]
        if getattr(self._processor, "multi_page", None) is False:
            return self._encode_flat(turns, conversations, images, sanitize=sanitize)
        try:
            encoded = self._processor.apply_chat_template(
                conversations,
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
                sanitize_control_tokens=sanitize,
                processor_kwargs={"padding": True, "padding_side": "left", **self._types},
                **self._template,
            )
        except (NotImplementedError, ValueError) as error:
            if not sanitize:
                raise
            raise _prompt_error(str(error)) from error
        if (made := _number_of_prompts(encoded)) != len(turns):  # ShieldGemma 2's makes one for each of its policies
            raise UnusableProcessorError(f"its processor made {made} prompts of {len(turns)}")
        encoded.pop("labels", None)  # training targets of PaliGemma's processor
        _pad_qformer_right(encoded)
        if not sanitize:
            self._names = _TYPES & encoded.keys()
        elif lost := self._names - encoded.keys():
            raise _prompt_error(f"{', '.join(sorted(lost))} would be lost")
        return encoded

    def _encode_flat(
        self, turns: Sequence[Turn], conversations: Any, images: Mapping[Image, Any], *, sanitize: bool
    ) -> Any:
        """Encode turns with a processor that takes one image for each prompt, not a list of them (GOT-OCR2's)."""
        if sanitize:
            raise _prompt_error("it takes plain text only")
        if any(len(turn.images) != 1 for turn in turns):
            raise PromptError("this checkpoint's processor takes exactly one image in each turn")
        texts = self._processor.apply_chat_template(
            conversations, add_generation_prompt=True, tokenize=False, **self._template
        )
        bos = self._tokenizer.bos_token
        return self._processor(
            images=[images[turn.images[0]] for turn in turns],
            text=texts,
            add_special_tokens=not (bos and texts[0].startswith(bos)),
            padding=True,
            padding_side="left",
            return_tensors="pt",
        )

    def _conversation(self, turn: Turn, images: Mapping[Image, Any]) -> list[dict[str, Any]]:
        content = [
            {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "image": images[part]}
            for part in turn.content
        ]
        system = [{"role": "system", "content": [{"type": "text", "text": self._system}]}] if self._system else []
        return [*system, {"role": "user", "content": content}]


def _is_pixels(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > 0


def _number_of_prompts(encoded: Any) -> int:
    """Return the number of prompts that a processor made."""
    if "input_ids" in encoded:
        return len(encoded["input_ids"])
    made = ", ".join(sorted(encoded.keys()))
    # Pix2Struct's makes decoder_input_ids, PP-FormulaNet's only pixel_values.
    why = "the question would begin the reply" if "decoder_input_ids" in encoded else "it takes no question as text"
    raise UnusableProcessorError(
        f"its processor makes no prompt (input_ids), but {made}: {why}. No setting of the entry changes that"
    )


def _pad_qformer_right(encoded: Any) -> None:
    """Move the padding of InstructBLIP's Q-Former tokens to the right, where it leaves their positions unchanged."""
    mask = encoded.get("qformer_attention_mask")
    if mask is not None:
        order = mask.argsort(dim=1, descending=True, stable=True)
        for name in ("qformer_input_ids", "qformer_attention_mask"):
            encoded[name] = encoded[name].gather(1, order)


def _prompt_error(why: str) -> PromptError:
    return PromptError(
        "the question's text holds one of the tokenizer's control tokens, and this checkpoint's processor cannot keep "
        f"it as text ({why})"
    )


def _control_tokens(checkpoint: Checkpoint) -> tuple[str, ...]:
    r"""Return the control tokens: all special tokens, and the added tokens that the chat template writes.

    Ordinary words among the added tokens (Gemma's "\n\n", "<b>") are not control tokens.
    """
    tokenizer = checkpoint.tokenizer
    template = str(checkpoint.processor.chat_template or tokenizer.chat_template)
    added = tokenizer.added_tokens_decoder.values()
    found = [str(token) for token in added if token.special or (str(token).strip() and str(token) in template)]
    return tuple(dict.fromkeys([*tokenizer.all_special_tokens, *found]))


def prefetch(make: Callable[[Item], Result], work: Iterable[Item], *, spare: bool) -> Iterator[tuple[Item, Result]]:
    """Yield each item with the result of ``make`` for it, computed in another thread while the caller works.

    Without a ``spare`` core the result is computed on request. A thread beside a model that computes on all of a
    machine's cores delays each of its operations: on two cores, a sixth of the whole time was lost.
    """
    if not spare:
        yield from ((piece, make(piece)) for piece in work)
        return
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    maker = ThreadPoolExecutor(1, thread_name_prefix="prompts")
    before = sys.getswitchinterval()
    # The caller's thread waits for its turn after each operation that it gives to a GPU; 5 ms by default.
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        for piece in work:
            waiting.append((piece, maker.submit(make, piece)))
            if len(waiting) > _PREFETCHED:
                piece, made = waiting.popleft()
                yield piece, made.result()
        while waiting:
            piece, made = waiting.popleft()
            yield piece, made.result()
    finally:
        sys.setswitchinterval(before)
        maker.shutdown(wait=True, cancel_futures=True)
