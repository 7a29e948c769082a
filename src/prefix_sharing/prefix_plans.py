"""How a model's prefixes are computed: in pieces, from image features, or from the pixels; and the check of this."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

import torch

from prefix_sharing import check, pieces, segments
from prefix_sharing.architecture import Architecture
from prefix_sharing.encoder import ImageEncoder, features_of
from prefix_sharing.pieces import Piece
from prefix_sharing.prefix import Prefix, fill_cache, new_cache, select_row, several_rows
from prefix_sharing.prompts import Prompt

CONTINUED, FEATURES = "continued prefixes", "image features"
"""In pieces that continue from one another, from image features; in one pass, from image features."""


class PrefixPlans:
    """The ways of computing prefixes that a model supports, and what their check has found.

    Parameters
    ----------
    model, architecture
        The model.
    feature_bytes : int
        Bytes for cached image features.
    together : bool
        Several prefixes are computed in one pass, padded on the left, as on a GPU.
    image_tokens, closing_tokens : collection of int
        The tokens that represent images; special tokens, which belong to the image before them.

    Attributes
    ----------
    ways : list of str
        `CONTINUED` and `FEATURES`, without those that are not supported. If none is left, prefixes are computed from
        the pixels.
    disabled : list of dict
        The ways that are not supported, and why.
    """

    def __init__(
        self,
        model: Any,
        architecture: Architecture,
        *,
        feature_bytes: int,
        together: bool,
        image_tokens: Collection[int],
        closing_tokens: Collection[int],
    ) -> None:
        self._model, self._architecture = model, architecture
        self._tokens = {"image_tokens": frozenset(image_tokens), "closing_tokens": frozenset(closing_tokens)}
        self._checked: set[bool] = set()
        self.ways: list[str] = []
        self.disabled: list[dict[str, str]] = []
        self.encoder: ImageEncoder | None = None
        self._independent = False
        if not architecture.takes_features or features_of(model) is None:
            self.disabled.append({"plan": FEATURES, "why": "its forward pass takes no image features"})
            return
        self.encoder = ImageEncoder(model, limit=feature_bytes, together=together)
        self.ways = [FEATURES]
        if architecture.can_continue and not together:
            self.ways = [CONTINUED, FEATURES]
            self._independent = segments.rows_are_independent(architecture.language)
        elif not together:
            why = "it has recurrent layers, cross-attention, or attention that takes no mask of one's own"
            self.disabled.append({"plan": CONTINUED, "why": why})

    def disable(self, way: str, why: str) -> None:
        self.ways.remove(way)
        self.disabled.append({"plan": way, "why": why})

    @torch.inference_mode()
    def check(self, prompts: Sequence[Prompt]) -> None:
        """Compare the prefixes of the first prompts with one image, and with several, with those from the pixels.

        The comparison is in float32. A way that differs or fails is disabled.
        """
        for several in {len(prompt.images) > 1 for prompt in prompts} - self._checked:
            self._checked.add(several)
            prompt = next(prompt for prompt in prompts if (len(prompt.images) > 1) == several)
            if self.encoder is None or not self.ways:
                return
            if self._model.dtype != torch.float32:
                self.encoder.clear()
            try:
                with check.in_float32(self._model):
                    self._compare(prompt)
            except (torch.OutOfMemoryError, MemoryError):
                for way in list(self.ways):
                    self.disable(way, "there is not enough memory to check it in float32")
            if self._model.dtype != torch.float32:
                self.encoder.clear()

    def _compare(self, prompt: Prompt) -> None:
        expected = self.from_pixels([prompt])[0].cache
        for way in list(self.ways):
            try:
                found = self._computed(way, prompt).cache
                difference = max(map(_difference, found.layers, expected.layers))
            except (torch.OutOfMemoryError, MemoryError):
                raise
            except Exception as error:  # any error of a model that does not support it
                self.disable(way, check.failure(error))
                continue
            if not difference <= check.TOLERANCE:
                text = f"keys and values differ from those computed from the pixels by {difference:.2g} of their"
                self.disable(way, f"{text} standard deviation")

    def _computed(self, way: str, prompt: Prompt) -> Prefix:
        if way == FEATURES:
            return self.from_features([prompt])[0]
        (chain,) = self.chains([prompt])
        return self.compute_chains([chain], {}.get)[chain[-1].key][1]

    def from_pixels(self, prompts: Sequence[Prompt]) -> list[Prefix]:
        """Compute prefixes in one pass, padded on the left if they are several, from the processor's tensors."""
        parts = [prompt.prefix_inputs() for prompt in prompts]
        return self._in_one_pass(prompts, parts[0] if len(parts) == 1 else several_rows(parts), {})

    def from_features(self, prompts: Sequence[Prompt]) -> list[Prefix]:
        """Compute prefixes in one pass, padded on the left if they are several, from the features of their images."""
        encoder = self._encoder()
        features = [features for encoded in encoder.encode(prompts) for features in encoded.features]
        parts = [encoder.remaining_inputs(prompt.prefix_inputs()) for prompt in prompts]
        inputs = parts[0] if len(parts) == 1 else several_rows(parts)
        return self._in_one_pass(prompts, inputs, {"mm_encoder_outputs": encoder.output(features)})

    def chains(self, prompts: Sequence[Prompt]) -> list[list[Piece]]:
        """Return the pieces of each prompt's prefix."""
        return [
            pieces.pieces_of(self._architecture, prompt, encoded, **self._tokens)
            for prompt, encoded in zip(prompts, self._encoder().encode(prompts), strict=True)
        ]

    def compute_chains(self, chains: Sequence[Sequence[Piece]], cached: Any) -> dict[Hashable, tuple[Piece, Prefix]]:
        """Compute what is not cached of some prefixes in pieces (see `pieces.compute`)."""
        return pieces.compute(
            self._model, self._architecture, self._encoder(), chains, cached, together=self._independent
        )

    def _encoder(self) -> ImageEncoder:
        if self.encoder is None:
            raise ValueError("the model's forward pass takes no image features")
        return self.encoder

    def _in_one_pass(
        self, prompts: Sequence[Prompt], inputs: Mapping[str, Any], features: Mapping[str, Any]
    ) -> list[Prefix]:
        cache = new_cache(self._model, self._architecture)
        deltas = fill_cache(self._model, self._architecture, {**inputs, **features}, cache)
        cross_masks = inputs.get("cross_attention_mask")
        return [
            select_row(self._architecture, cache, row, prompt.prefix_length, int(deltas[row]), cross_masks)
            for row, prompt in enumerate(prompts)
        ]


def _difference(found: Any, expected: Any) -> float:
    """Return the largest difference of two layers' tensors, in standard deviations of the expected ones."""
    pairs = [(getattr(found, name), value) for name, value in vars(expected).items() if isinstance(value, torch.Tensor)]
    return max((check.difference(one.float(), other.float()) for one, other in pairs if other.numel()), default=0.0)
