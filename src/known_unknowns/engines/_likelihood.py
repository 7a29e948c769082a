"""The likelihood of the options' texts as the reply: `Turn.continuations` as `Reply.continuations`.

A text is tokenised by itself, as the beginning of the reply, with and without a space before it; the likelier form
counts, as for labels. Its log-probability is that of the model's logits: the settings of decoding, such as a
temperature or a repetition penalty, do not enter. No end token is scored.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

import torch

from known_unknowns.engines._checkpoint import Checkpoint
from known_unknowns.engines._reply_builder import DECIMALS, not_finite
from known_unknowns.records import Continuation, Reply, Turn
from prefix_sharing import Prompt, SharedPrefixDecoder, make_prompts
from prefix_sharing.prompts import image_token_ids
from prefix_sharing.token_tree import token_logprobs

_STARTS = ("", " ")
_Form = tuple[str, tuple[int, ...]]
"""A label, and the tokens of a form of its option's text."""


class ContinuationScorer:
    """Scores the options' texts with one checkpoint. ``dtype`` is its precision, for errors."""

    def __init__(self, checkpoint: Checkpoint, dtype: str) -> None:
        # Encoding changes a tokenizer's state, and another thread prepares prompts meanwhile.
        self._tokenizer = copy.deepcopy(checkpoint.tokenizer)
        self._model, self._dtype = checkpoint.model, dtype
        self._image_tokens = image_token_ids(checkpoint.model)
        self._can_limit = "logits_to_keep" in signature(checkpoint.model.forward).parameters

    def shared(self, decoder: SharedPrefixDecoder, turns: Sequence[Turn], prompts: Sequence[Prompt]) -> list[Reply]:
        """Return the replies to several turns in one forward pass, by shared prefixes."""
        forms = [self._forms(turn) for turn in turns]
        longer = [
            replace(prompt, ids=prompt.ids + tokens)
            for prompt, of_turn in zip(prompts, forms, strict=True)
            for _, tokens in of_turn
        ]
        values = iter(decoder.continuation_logprobs(longer, [len(tokens) for each in forms for _, tokens in each]))
        return [
            self._reply(prompt.ids, of_turn, [next(values) for _ in of_turn])
            for prompt, of_turn in zip(prompts, forms, strict=True)
        ]

    @torch.inference_mode()
    def plain(self, turn: Turn, inputs: Any) -> Reply:
        """Return the reply to a turn by a forward pass of the whole prompt for each option.

        ``inputs`` are the processor's tensors (1 row).
        """
        forms = self._forms(turn)
        values = []
        for prompt in make_prompts(inputs, [tokens for _, tokens in forms], images=len(turn.images)):
            count = len(prompt.suffix)
            whole = prompt.whole_inputs().to(self._model.device, dtype=self._model.dtype)
            limit = {"logits_to_keep": count + 1} if self._can_limit else {}
            logits = self._model(**whole, use_cache=False, **limit).logits[0, -count - 1 : -1]
            values.append(token_logprobs(logits, prompt.suffix).sum().item())
        return self._reply(inputs["input_ids"][0].tolist(), forms, values)

    def _forms(self, turn: Turn) -> list[_Form]:
        """Return the forms of the options' texts. A control token in a text stays text."""
        labels = [label for label in turn.labels or () for _ in _STARTS]
        texts = [start + text for text in turn.continuations or () for start in _STARTS]
        encoded = self._tokenizer(texts, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return list(dict.fromkeys(zip(labels, map(tuple, encoded), strict=True)))

    def _reply(self, prompt: Sequence[int], forms: Sequence[_Form], values: Sequence[float]) -> Reply:
        images = sum(token in self._image_tokens for token in prompt) if self._image_tokens else None
        counts: dict[str, Any] = {"input_tokens": len(prompt), "visual_tokens": images}
        if not all(map(math.isfinite, values)):
            return Reply("", finish="error", error=not_finite(self._dtype), **counts)
        found: dict[str, Continuation] = {}
        for (label, tokens), value in zip(forms, values, strict=True):
            if label not in found or value > found[label].logprob:
                found[label] = Continuation(round(value, DECIMALS), len(tokens))
        return Reply("", continuations=found, output_tokens=0, **counts)
