"""Choice of the plan for prefix sharing: the cheapest of those that agree with ``generate``."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import torch

from prefix_sharing import check
from prefix_sharing.architecture import Architecture
from prefix_sharing.decoding import Continuation, DecodingRules, Recorder, decode
from prefix_sharing.prefix import Prefix
from prefix_sharing.prefix_cache import PrefixCache
from prefix_sharing.prefix_plans import PrefixPlans
from prefix_sharing.prompts import Prompt, image_token_ids
from prefix_sharing.rows import PromptState, RowContinuation
from prefix_sharing.segments import Segment, forward_segments
from prefix_sharing.state_copies import StateCopies
from prefix_sharing.token_tree import (
    MAX_PACKED_TOKENS,
    PACKED,
    ROWS,
    TokenTree,
    TreePass,
    build_trees,
    continuation_logprobs,
    estimate_cost,
    estimate_segments_cost,
    forward_trees,
)

COPIES, SEPARATE = "copies", "separate"
CHECKED_PREFIXES = 2
"""Number of prefixes on whose prompts a plan is checked."""

Started = tuple[torch.Tensor, Callable[[Sequence[int]], Continuation]]
"""The logits of the first tokens, and the function that continues from there (see `decoding.decode`)."""


class SharedPrefixDecoder:
    """Continues prompts greedily, and computes a prefix that several of them share once.

    Parameters
    ----------
    model : PreTrainedModel
        A language model, or a model for images and text, with SDPA or eager attention, in evaluation mode.
    closing_tokens : collection of int
        The tokenizer's special tokens (`prompts.special_token_ids`), which belong to the image before them.
    cache_bytes : int
        Bytes for cached prefixes and image features.
    prefixes_per_pass : int
        Prefixes computed in one pass. With 1 their bits do not depend on each other.
    tokens_per_pass : int
        Tokens after the prefixes in one pass.

    Raises
    ------
    ValueError
        The model's attention takes no mask, its positions depend on the prompt's length, or a generation setting is
        not supported.

    Attributes
    ----------
    plans : list of str
        The plans that may be used. A plan that fails or differs from ``generate`` is removed.
    disabled_plans : list of dict
        The removed plans, and why.
    differences : dict
        The largest difference of each plan's logits from those of ``generate``, in standard deviations.
    prefixes_checked : int
        Number of prefixes on whose prompts the plans were compared with ``generate``.
    """

    def __init__(
        self,
        model: Any,
        *,
        closing_tokens: Collection[int] = (),
        cache_bytes: int = 2**30,
        prefixes_per_pass: int = 1,
        tokens_per_pass: int = 4096,
    ) -> None:
        self._model = model
        self._rules = DecodingRules.from_config(model.generation_config, str(model.device))
        self._architecture = Architecture.from_model(self._model)
        self.plans = [COPIES] if self._architecture.recurrent else [PACKED, ROWS]
        if self._architecture.can_continue:
            self.plans.append(SEPARATE)
        self.disabled_plans: list[dict[str, str]] = []
        self.differences: dict[str, float] = {}
        self.used: Counter[str] = Counter()
        self.prefixes_checked = 0
        self._limit = cache_bytes
        self._at_once = prefixes_per_pass
        self._tokens = tokens_per_pass
        self.prefix_plans = PrefixPlans(
            self._model,
            self._architecture,
            feature_bytes=cache_bytes // 4,
            together=prefixes_per_pass > 1,
            image_tokens=image_token_ids(model),
            closing_tokens=closing_tokens,
        )
        self.prefixes = self._new_prefixes()

    @property
    def weights(self) -> int:
        """Number of weights that a text token passes through."""
        return self._architecture.weights

    def summary(self) -> dict[str, Any]:
        """Return what is recorded: prompts per plan, differences from ``generate``, and the disabled plans."""
        return {
            "prompts": dict(self.used),
            "checked_on_pictures": self.prefixes_checked,
            "differences": {plan: float(f"{worst:.2g}") for plan, worst in self.differences.items()},
            "fell_back": list(self.disabled_plans),
            "prefixes": self.prefixes.summary(),
        }

    def _new_prefixes(self) -> PrefixCache:
        if self.prefix_plans.encoder is not None:
            self.prefix_plans.encoder.forget()
        return PrefixCache(self.prefix_plans, limit=self._limit, prefixes_per_pass=self._at_once)

    def prepare(self, prompts: Sequence[Prompt], pool: Executor) -> None:
        """Do in other threads what `decode` needs and the model need not wait for."""
        if self.prefix_plans.encoder is not None:
            self.prefix_plans.encoder.prepare(prompts, pool)

    def generate(self, prompts: Sequence[Prompt], max_new_tokens: int) -> list[list[int]]:
        """Return each prompt's greedy continuation, with the end token if it came.

        The first call compares the plans with ``generate`` (see `verify`). If none is left, ``generate`` is used.
        """
        self._check_once(prompts)
        replies: dict[int, list[int]] = {}
        for some in self.split(prompts):
            members = [prompts[index] for index in some]
            if self.plans:
                tokens = self.decode(members, [max_new_tokens] * len(some))
            else:
                tokens = [check.reference(self._model, each.whole_inputs(), max_new_tokens)[1] for each in members]
            replies |= zip(some, tokens, strict=True)
        return [replies[index] for index in range(len(prompts))]

    def logits(self, prompts: Sequence[Prompt]) -> torch.Tensor:
        """Return the logits (prompts, vocabulary) of the token after each prompt.

        The first call compares the plans with ``generate`` (see `verify`). If none is left, ``generate`` is used.
        """
        self._check_once(prompts)
        rows: dict[int, torch.Tensor] = {}
        for some in self.split(prompts):
            members = [prompts[index] for index in some]
            if self.plans:
                found = self._start(members)[0]
            else:
                found = torch.cat([check.reference(self._model, each.whole_inputs(), 1)[0] for each in members])
            rows |= zip(some, found, strict=True)
        return torch.stack([rows[index] for index in range(len(prompts))])

    def _check_once(self, prompts: Sequence[Prompt]) -> None:
        if self.prefixes_checked:
            return
        members: dict[Hashable, list[Prompt]] = {}
        for prompt in prompts:
            members.setdefault(prompt.head, []).append(prompt)
        # The prefixes with the most prompts, to check that prompts do not attend to each other.
        largest = sorted(members.values(), key=len, reverse=True)[:CHECKED_PREFIXES]
        self.verify([some[index] for some in largest for index in check.sample(some)])

    def decode(
        self, prompts: Sequence[Prompt], limits: Sequence[int], record: Recorder | None = None
    ) -> list[list[int]]:
        """Return the tokens of the replies, without a check. `split` returns which prompts may share a call.

        ``limits`` are the numbers of new tokens; ``record`` receives the scores of each step.
        """
        first, continue_from = self._start(prompts)
        ids = [prompt.ids for prompt in prompts]
        return decode(first, continue_from, prompts=ids, limits=limits, rules=self._rules, record=record)

    @property
    def scores_continuations(self) -> bool:
        """Whether `continuation_logprobs` works: a plan that packs prompts, or gives them rows, may be used."""
        return PACKED in self.plans or ROWS in self.plans

    @torch.inference_mode()
    def continuation_logprobs(
        self, prompts: Sequence[Prompt], counts: Sequence[int], plan: str | None = None
    ) -> list[float]:
        """Return the log-probability of each prompt's last tokens, without a check.

        ``counts`` are their numbers. They belong to the suffix, and are not all of it. Prompts that begin alike, such
        as the options of one question, are best placed one after another. ``plan`` is `PACKED` or `ROWS`; by default
        the first that may be used.
        """
        one_each = list({prompt.head: prompt for prompt in prompts}.values())
        if plan is None:
            plan = PACKED if PACKED in self.plans else ROWS
            self.used[plan] += len(prompts)
        prefixes, trees = self.prefixes.get(one_each), _trees(prompts, MAX_PACKED_TOKENS if plan == PACKED else 0)
        return continuation_logprobs(self._model, self._architecture, prefixes, trees, counts)

    def split(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """Return which prompts share one call of `decode`: all of them, except for recurrent models."""
        if not self._architecture.recurrent:
            return [list(range(len(prompts)))]
        alike: dict[Any, list[int]] = {}
        for index, prompt in enumerate(prompts):
            alike.setdefault((prompt.head, len(prompt.ids)), []).append(index)
        return list(alike.values())

    def disable(self, plan: str, why: str) -> None:
        """Disable a plan."""
        self.plans.remove(plan)
        self.disabled_plans.append({"plan": plan, "why": why})

    def disable_all(self, why: str) -> None:
        """Disable all plans."""
        for plan in list(self.plans):
            self.disable(plan, why)

    def verify(self, prompts: Sequence[Prompt], inputs: Sequence[Any] | None = None) -> dict[str, float]:
        """Compare each plan with ``generate`` in float32 (see `check`), and disable those that differ.

        Parameters
        ----------
        prompts : sequence of Prompt
            Some prompts, several of them with the same prefix.
        inputs : sequence of BatchFeature, optional
            For each of them, the tensors that ``generate`` takes; by default `Prompt.whole_inputs`.

        Returns
        -------
        dict
            `differences`. Plans that exceed `check.TOLERANCE` or fail are removed from `plans`.
        """
        self.prefixes_checked += len({prompt.head for prompt in prompts})
        inputs = [prompt.whole_inputs() for prompt in prompts] if inputs is None else inputs
        try:
            with check.in_float32(self._model):
                expected = [check.reference(self._model, each) for each in inputs]
                for plan in list(self.plans):
                    self._verify_plan(plan, prompts, expected)
        except (torch.OutOfMemoryError, MemoryError):
            self.disable_all("there is not enough memory to check it against generate in float32")
        finally:
            self.prefixes = self._new_prefixes()
        return self.differences

    def seconds(self, prompts: Sequence[Prompt]) -> float:
        """Return the time to the first `check.STEPS` tokens after the prompts, their prefixes included.

        Nothing is counted, and no prefix is kept.
        """
        used = Counter(self.used)
        self.prefixes = self._new_prefixes()
        started = time.perf_counter()
        try:
            for some in self.split(prompts):
                self.decode([prompts[index] for index in some], [check.STEPS] * len(some))
            return time.perf_counter() - started
        finally:
            self.used = used
            self.prefixes = self._new_prefixes()

    def _verify_plan(self, plan: str, prompts: Sequence[Prompt], expected: Sequence[check.Reference]) -> None:
        try:
            self.prefixes = self._new_prefixes()
            worst = max(
                self._difference(plan, [prompts[index] for index in some], [expected[index] for index in some])
                for some in self.split(prompts)
            )
            apart = self._likelihood_difference(plan, prompts, expected)
        except (torch.OutOfMemoryError, MemoryError):
            raise
        except Exception as error:  # any error of a model that does not support it
            self.disable(plan, check.failure(error))
            return
        self.differences[plan] = max(worst, apart, self.differences.get(plan, 0.0))
        if not worst <= check.TOLERANCE:
            self.disable(plan, f"its logits differ from generate's by {worst:.2g} of their standard deviation")
        elif not apart <= check.TOLERANCE:
            what = "the likelihoods of continuations differ from generate's"
            self.disable(plan, f"{what} by {apart:.2g} of the logits' standard deviation")

    @torch.inference_mode()
    def _difference(self, plan: str, prompts: Sequence[Prompt], expected: Sequence[check.Reference]) -> float:
        """Return the largest difference along the tokens of the replies."""
        logits, continue_from = self._start(prompts, plan)
        worst = max(check.difference(row.float(), steps[0]) for row, (steps, _) in zip(logits, expected, strict=True))
        alive = [index for index, (steps, _) in enumerate(expected) if len(steps) > 1]
        continuation = continue_from(alive) if alive else None
        for step in range(1, check.STEPS):
            still = [row for row, index in enumerate(alive) if len(expected[index][1]) > step]
            if continuation is None or not still:
                break
            if len(still) < len(alive):
                continuation.select(still)
                alive = [alive[row] for row in still]
            logits = continuation.step([expected[index][1][step - 1] for index in alive])
            for row, index in zip(logits, alive, strict=True):
                worst = max(worst, check.difference(row.float(), expected[index][0][step]))
        return worst

    def _likelihood_difference(
        self, plan: str, prompts: Sequence[Prompt], expected: Sequence[check.Reference]
    ) -> float:
        """Return the largest difference of a continuation's likelihood, in standard deviations of the logits."""
        if plan not in (PACKED, ROWS):
            return 0.0
        longer: list[Prompt] = []
        counts: list[int] = []
        values: list[tuple[float, float]] = []
        for prompt, of_prompt in zip(prompts, expected, strict=True):
            first = of_prompt[0][0]
            deviation = first[first.isfinite()].std().item() or 1.0
            for tokens, logprob in check.likelihoods(of_prompt):
                longer.append(replace(prompt, ids=prompt.ids + tokens))
                counts.append(len(tokens))
                values.append((logprob, deviation))
        found = self.continuation_logprobs(longer, counts, plan)
        return max(abs(value - logprob) / deviation for value, (logprob, deviation) in zip(found, values, strict=True))

    @torch.inference_mode()
    def _start(self, prompts: Sequence[Prompt], plan: str | None = None) -> Started:
        """Compute the first tokens' logits, by the given plan or by the cheapest."""
        one_each = list({prompt.head: prompt for prompt in prompts}.values())
        prefixes = dict(zip((prompt.head for prompt in one_each), self.prefixes.get(one_each), strict=True))
        if self._architecture.recurrent:
            self.used[COPIES] += len(prompts) if plan is None else 0
            return self._forward_copies(prefixes[prompts[0].head], [prompt.suffix for prompt in prompts])
        left: dict[int, PromptState] = {}
        for some in split_into_passes([prompt.head for prompt in prompts], list(map(_length, prompts)), self._tokens):
            states = self._pass([prompts[index] for index in some], prefixes, plan)
            left |= zip(some, states, strict=True)
        first = torch.stack([left[index].tree_pass.logits[left[index].prompt] for index in range(len(prompts))])

        def continue_from(indices: Sequence[int]) -> Continuation:
            return RowContinuation(self._model, self._architecture, [left[index] for index in indices])

        return first, continue_from

    def _pass(self, prompts: Sequence[Prompt], prefixes: Mapping[Any, Prefix], plan: str | None) -> list[PromptState]:
        """Compute some prompts in one pass, by the given plan or by the cheapest."""
        ways: dict[str, list[TokenTree]] = {
            name: _trees(prompts, limit)
            for name, limit in ((PACKED, MAX_PACKED_TOKENS), (ROWS, 0))
            if name in self.plans
        }
        distinct = [prefixes[head] for head in dict.fromkeys(prompt.head for prompt in prompts)]
        if plan is None:
            costs = {name: estimate_cost(self._architecture, distinct, trees) for name, trees in ways.items()}
            if SEPARATE in self.plans:
                lengths = [(_length(prompt), prefixes[prompt.head].length) for prompt in prompts]
                costs[SEPARATE] = estimate_segments_cost(self._architecture, lengths)
            plan = min(costs, key=costs.__getitem__)
            self.used[plan] += len(prompts)
        if plan == SEPARATE:
            return self._separate(prompts, [prefixes[prompt.head] for prompt in prompts])
        tree_pass = forward_trees(self._model, self._architecture, distinct, ways[plan])
        return [PromptState(tree_pass, index, prefixes[prompt.head]) for index, prompt in enumerate(prompts)]

    def _separate(self, prompts: Sequence[Prompt], prefixes: Sequence[Prefix]) -> list[PromptState]:
        segments = []
        for prompt, prefix in zip(prompts, prefixes, strict=True):
            positions = prefix.length + prefix.delta + torch.arange(len(prompt.suffix))
            segments.append(Segment(prompt.suffix, positions[None], prefix.cache))
        caches, logits = forward_segments(self._model, self._architecture, segments, None)
        states = []
        for row, (segment, cache, prefix) in enumerate(zip(segments, caches, prefixes, strict=True)):
            count = len(segment.tokens)
            places = torch.arange(prefix.length + count)
            alone = TreePass(logits[row : row + 1], cache, [0], [places], count, count)
            states.append(PromptState(alone, 0, prefix))
        return states

    def _forward_copies(self, prefix: Prefix, suffixes: Sequence[Sequence[int]]) -> Started:
        copies = StateCopies(self._model, prefix, suffixes)

        def continue_from(indices: Sequence[int]) -> Continuation:
            if len(indices) < len(suffixes):
                copies.select(indices)
            return copies

        return copies.logits, continue_from


def split_into_passes(heads: Sequence[Hashable], lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Return which prompts share a pass, given their heads and the lengths of their suffixes.

    Prompts of one head stay together, sorted by length to reduce padding. Heads with few prompts share a pass of
    about ``tokens`` tokens, heads with many are split.
    """
    members: dict[Hashable, list[int]] = {}
    for index, head in enumerate(heads):
        members.setdefault(head, []).append(index)
    found: list[list[int]] = [[]]
    room = tokens
    for indices in members.values():
        if found[-1] and sum(lengths[index] for index in indices) > room:
            found.append([])
            room = tokens
        for index in sorted(indices, key=lambda index: lengths[index]):
            if found[-1] and lengths[index] > room:
                found.append([])
                room = tokens
            found[-1].append(index)
            room -= lengths[index]
    return found


def _length(prompt: Prompt) -> int:
    return len(prompt.suffix)


def _trees(prompts: Sequence[Prompt], limit: int) -> list[TokenTree]:
    """Return the trees of prompts. Heads are numbered in the order of their first prompt."""
    members: dict[Hashable, list[int]] = {}
    for index, prompt in enumerate(prompts):
        members.setdefault(prompt.head, []).append(index)
    return [
        tree
        for place, indices in enumerate(members.values())
        for tree in build_trees(
            place,
            indices,
            [prompts[index].suffix for index in indices],
            limit=limit,
        )
    ]
