"""The likelihood of the options' texts as the reply: `Turn.continuations` as `Reply.continuations`.

A text is written by the model's chat template, as the beginning of the assistant's message, as vLLM does with
``continue_final_message``. Its tokens are those by which the prompt with it differs from the prompt up to it; a space
that the template writes before it belongs to it. Its log-probability is that of the model's logits: the settings of
decoding, such as a temperature or a repetition penalty, do not enter. No end token is scored.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from inspect import signature
from typing import Any

import torch

from known_unknowns.engines._checkpoint import Checkpoint
from known_unknowns.engines._prompts import PromptBuilder
from known_unknowns.engines._reply_builder import DECIMALS, not_finite
from known_unknowns.records import Continuation, Reply, Turn
from prefix_sharing import Prompt, SharedPrefixDecoder
from prefix_sharing.prompts import Tensors, image_token_ids
from prefix_sharing.token_tree import token_logprobs


@dataclass(frozen=True, slots=True)
class _Option:
    """An option's text as a reply.

    Its ``tokens`` take the place of the last ``replaced`` ones of the prompt. The last ``count`` are the text's.
    """

    label: str
    replaced: tuple[int, ...]
    tokens: tuple[int, ...]
    count: int

    def after(self, prompt: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """Return the number of the prompt's tokens that are kept, and the tokens that follow them."""
        end = len(prompt) - len(self.replaced)
        if prompt[end:] == self.replaced:
            return end, self.tokens
        return len(prompt), self.tokens[-self.count :]  # the processor has changed the end of the prompt


class ContinuationScorer:
    """Scores the options' texts with one checkpoint. ``dtype`` is its precision, for errors."""

    def __init__(self, checkpoint: Checkpoint, prompts: PromptBuilder, dtype: str) -> None:
        # Encoding changes a tokenizer's state, and another thread prepares prompts meanwhile.
        self._tokenizer = copy.deepcopy(checkpoint.tokenizer)
        self._prompts = prompts
        self._model, self._dtype = checkpoint.model, dtype
        self._image_tokens = image_token_ids(checkpoint.model)
        self._can_limit = "logits_to_keep" in signature(checkpoint.model.forward).parameters

    def shared(self, decoder: SharedPrefixDecoder, turns: Sequence[Turn], prompts: Sequence[Prompt]) -> list[Reply]:
        """Return the replies to several turns in one forward pass, by shared prefixes."""
        options = [self._options(turn) for turn in turns]
        longer: list[Prompt] = []
        counts: list[int] = []
        for prompt, of_turn in zip(prompts, options, strict=True):
            for option in of_turn:
                end, tokens = option.after(prompt.ids)
                longer.append(replace(prompt, ids=prompt.ids[:end] + tokens))
                counts.append(option.count)
        values = iter(decoder.continuation_logprobs(longer, counts))
        return [
            self._reply(prompt.ids, of_turn, [next(values) for _ in of_turn])
            for prompt, of_turn in zip(prompts, options, strict=True)
        ]

    @torch.inference_mode()
    def plain(self, turn: Turn, inputs: Any) -> Reply:
        """Return the reply to a turn by a forward pass of the whole prompt for each option.

        ``inputs`` are the processor's tensors (1 row).
        """
        options = self._options(turn)
        ids, tensors = tuple(inputs["input_ids"][0].tolist()), Tensors(inputs)
        values = []
        for option in options:
            end, tokens = option.after(ids)
            prompt = Prompt(ids[:end] + tokens, end, turn.question_id, (), tensors)
            whole = prompt.whole_inputs().to(self._model.device, dtype=self._model.dtype)
            limit = {"logits_to_keep": option.count + 1} if self._can_limit else {}
            logits = self._model(**whole, use_cache=False, **limit).logits[0, -option.count - 1 : -1]
            values.append(token_logprobs(logits, tokens[-option.count :]).sum().item())
        return self._reply(ids, options, values)

    def _options(self, turn: Turn) -> list[_Option]:
        """Return the options' texts as replies to a turn."""
        encode = cache(self._encode)  # the text before the options is the same
        prompt = encode(self._prompts.render(turn))
        return [
            self._option(turn, encode, prompt, label, text)
            for label, text in zip(turn.labels or (), turn.continuations or (), strict=True)
        ]

    def _option(
        self, turn: Turn, encode: Callable[..., tuple[int, ...]], prompt: tuple[int, ...], label: str, text: str
    ) -> _Option:
        rendered = self._prompts.render(turn, reply=text)
        start = rendered.rindex(text.strip())
        before = encode(rendered[:start].rstrip(" "))
        if self._prompts.has_control_token(text):
            # An option is data: an "<image>" or an end token in its text must stay text.
            whole = before + encode(rendered[start:], split_special_tokens=True)
        else:
            whole = encode(rendered)
        count = len(whole) - _number_of_equal(before, whole)
        same = _number_of_equal(prompt, whole[: len(whole) - count])
        return _Option(label, prompt[same:], whole[same:], count)

    def _encode(self, text: str, **settings: Any) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=False, **settings)["input_ids"])

    def _reply(self, prompt: Sequence[int], options: Sequence[_Option], values: Sequence[float]) -> Reply:
        images = sum(token in self._image_tokens for token in prompt) if self._image_tokens else None
        counts: dict[str, Any] = {"input_tokens": len(prompt), "visual_tokens": images}
        if not all(map(math.isfinite, values)):
            return Reply("", finish="error", error=not_finite(self._dtype), **counts)
        found = {
            option.label: Continuation(round(value, DECIMALS), option.count)
            for option, value in zip(options, values, strict=True)
        }
        return Reply("", continuations=found, output_tokens=0, **counts)


def _number_of_equal(tokens: Sequence[int], others: Sequence[int]) -> int:
    """Return the number of tokens with which both begin."""
    pairs = zip(tokens, others, strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(tokens), len(others)))
