"""The prefixes of prompts, cached within a limit of bytes."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any

import torch

from prefix_sharing.prefix import BoundedCache, Prefix
from prefix_sharing.prefix_plans import CONTINUED, FEATURES, PrefixPlans
from prefix_sharing.prompts import Prompt


class PrefixCache:
    """Computes and caches prefixes.

    Parameters
    ----------
    plans : PrefixPlans
        How they are computed.
    limit : int
        Bytes for cached prefixes.
    prefixes_per_pass : int
        Prefixes computed in one pass. With 1, a prefix has the same bits whether it was cached or not, and whatever is
        computed next to it.

    Attributes
    ----------
    computed : int
        Prefixes that were not cached.
    tokens, reused_tokens : int
        Their tokens that were computed, and that were taken from cached or common beginnings.
    """

    def __init__(self, plans: PrefixPlans, *, limit: int, prefixes_per_pass: int) -> None:
        self._plans = plans
        self.prefixes_per_pass = prefixes_per_pass
        self.computed = self.tokens = self.reused_tokens = 0
        self._kept = BoundedCache(limit)
        self._heads: dict[Hashable, Hashable] = {}
        self._keys: dict[Hashable, Hashable] = {}
        self._last: dict[Hashable, Prefix] = {}

    def keep_only(self, heads: Collection[Hashable], images: Collection[str]) -> None:
        """Drop the prefixes that no coming prompt begins with. The features of ``images`` are kept before others."""
        beginnings = {head[:end] for head in heads if isinstance(head, tuple) for end in range(len(head) + 1)}
        self._heads = {key: head for key, head in self._heads.items() if head in beginnings}
        self._kept.keep_only(self._heads.keys())
        self._keys = {head: key for head, key in self._keys.items() if key in self._heads}
        self._last = {head: prefix for head, prefix in self._last.items() if head in heads}
        if self._plans.encoder is not None:
            self._plans.encoder.need(images)

    def summary(self) -> dict[str, Any]:
        """Return what is recorded: how prefixes are computed, why not otherwise, and what was computed and reused."""
        encoder = self._plans.encoder
        return {
            "computed": self.computed,
            "tokens": {"computed": self.tokens, "reused": self.reused_tokens},
            "images": None if encoder is None else {"computed": encoder.computed, "reused": encoder.reused},
            "ways": list(self._plans.ways),
            "not_used": list(self._plans.disabled),
        }

    def clear(self) -> None:
        self._kept.clear()
        self._heads, self._keys, self._last = {}, {}, {}
        if self._plans.encoder is not None:
            self._plans.encoder.clear()

    @torch.inference_mode()
    def get(self, prompts: Sequence[Prompt]) -> list[Prefix]:
        """Return the prefixes of some prompts with different heads. Compute those that are not cached."""
        found = {prompt.head: self._cached(prompt.head) for prompt in prompts}
        missing = [prompt for prompt in prompts if found[prompt.head] is None]
        self.computed += len(missing)
        if with_images := [prompt for prompt in missing if prompt.images]:
            self._plans.check(with_images)
            compute = self._continued if CONTINUED in self._plans.ways else self._in_one_pass
            found |= compute(with_images)
        found |= self._in_one_pass([prompt for prompt in missing if not prompt.images])
        self._last = {head: prefix for head, prefix in found.items() if prefix is not None}
        return [self._last[prompt.head] for prompt in prompts]

    def _cached(self, head: Hashable) -> Prefix | None:
        return self._last.get(head) or self._kept.get(self._keys.get(head, head))

    def _keep(self, key: Hashable, prefix: Prefix, head: Hashable) -> None:
        if self._kept.put(key, prefix, prefix.bytes):
            self._heads[key] = head

    def _continued(self, prompts: Sequence[Prompt]) -> dict[Hashable, Prefix]:
        chains = self._plans.chains(prompts)
        cached = {piece.key: self._kept.get(piece.key) for chain in chains for piece in chain}
        made = self._plans.compute_chains(chains, cached.get)
        for key, (piece, prefix) in made.items():
            self._keep(key, prefix, piece.head)
        computed = sum(len(piece.tokens) for piece, _ in made.values())
        self.tokens += computed
        self.reused_tokens += sum(prompt.prefix_length for prompt in prompts) - computed
        found: dict[Hashable, Prefix] = {}
        for prompt, chain in zip(prompts, chains, strict=True):
            key = self._keys[prompt.head] = chain[-1].key
            whole = made[key][1] if key in made else cached[key]
            assert whole is not None, "compute_chains makes what is not cached"
            found[prompt.head] = whole
        return found

    def _in_one_pass(self, prompts: Sequence[Prompt]) -> dict[Hashable, Prefix]:
        features = FEATURES in self._plans.ways and any(prompt.images for prompt in prompts)
        compute = self._plans.from_features if features else self._plans.from_pixels
        found: dict[Hashable, Prefix] = {}
        for start in range(0, len(prompts), self.prefixes_per_pass):
            some = prompts[start : start + self.prefixes_per_pass]
            for prompt, prefix in zip(some, compute(some), strict=True):
                found[prompt.head] = prefix
                self._keep(prompt.head, prefix, prompt.head)
            self.tokens += sum(prompt.prefix_length for prompt in some)
        return found
